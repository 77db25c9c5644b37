"""A rewritten history: what was to go is in no object, and everything else is as it was, commit by commit."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.clock import SystemClock
from qingtuan.errors import StorageFailed
from qingtuan.storage.files import content_hash
from qingtuan.storage.git import Repository
from qingtuan.storage.git_replacing import adopt
from qingtuan.storage.git_rewriting import BESIDE, MARK, Rewriting, Rewritten
from tests.storage.test_git import own_git, write_and_commit

SECRET = "芫荽".encode()


class Forget:
    """No line with the secret in any page, nothing below `users/li/`, and no message with it."""

    def keeps(self, path: str) -> bool:
        return not path.startswith("users/li/")

    def touches(self, path: str) -> bool:
        return path.endswith(".md")

    def file(self, path: str, data: bytes) -> bytes:
        return b"".join(line for line in data.splitlines(keepends=True) if SECRET not in line)

    def message(self, commit: str, message: bytes) -> bytes:
        return b"gone\n" if SECRET in message else message

    def signature(self, name: bytes) -> bytes:
        return b"somebody <nobody@localhost>" if SECRET in name else name


class Nothing(Forget):
    """Changes nothing."""

    def keeps(self, path: str) -> bool:
        return True

    def touches(self, path: str) -> bool:
        return False

    def message(self, commit: str, message: bytes) -> bytes:
        return message


def agreed(_: Rewritten) -> None:
    """Have nothing against it."""


def objects(folder: Path) -> bytes:
    """Everything that the repository holds, reachable or not."""
    done = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return done.stdout


def on_disk(folder: Path) -> bytes:
    """Every file of the git folder, names and all, as it lies there."""
    found = [path for path in (folder / ".git").rglob("*") if path.is_file()]
    return b"".join(os.fsencode(path) + path.read_bytes() for path in found)


@pytest.fixture
async def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "wiki", SystemClock())
    await made.prepare()
    return made


# ------------------------------------------------------------------------------------------- any history at all


@dataclass(frozen=True)
class Commit:
    """One commit of a history that was made up."""

    parents: tuple[int, ...]
    files: Mapping[str, tuple[str, bytes] | None]
    message: bytes
    author: bytes


PLAIN = [
    "shared/a.md",
    "users/li/profile.md",
    "users/li/notes/b.md",
    "users/li.md",
    "users/wang/中 文.md",
    "a",
    "a/b.md",
]
ODD = ["picture.bin", 'odd "quoted"\\name.md', "line\nbreak.md", "tab\t.md", "-dash.md", "caf\udce9.md"]
PATHS = st.sampled_from([*PLAIN, *ODD])
LINE = st.sampled_from([b"- one\n", b"- two ^12\n", b"- " + SECRET + b" ^3\n", b"", b"no end", b"\x00\xff\n", b"\r\n"])
CONTENT = st.lists(LINE, max_size=5).map(b"".join)
MODE = st.sampled_from(["100644", "100644", "100644", "100755", "120000"])
MESSAGE = st.sampled_from([b"one\n", b"", b"no end", "记住：芫荽\n\nFor: li\n".encode(), b"a\n\nb\n", b"data 3\nabc\n"])
AUTHOR = st.sampled_from([b"me <me@x>", "芫荽 <li@x>".encode(), b" <>", b"a b c <a b>"])


@st.composite
def histories(draw: st.DrawFn) -> list[Commit]:
    commits: list[Commit] = []
    for number in range(draw(st.integers(1, 9))):
        wanted = draw(st.integers(0, min(2, number)))
        parents = draw(st.lists(st.integers(0, max(0, number - 1)), min_size=wanted, max_size=wanted, unique=True))
        files = draw(st.dictionaries(PATHS, st.none() | st.tuples(MODE, CONTENT), max_size=4))
        commits.append(Commit(tuple(parents), files, draw(MESSAGE), draw(AUTHOR)))
    return commits


def quoted(path: str) -> bytes:
    data = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n").replace(b"\t", b"\\t")
    return b'"' + data + b'"'


def stream(commits: list[Commit]) -> bytes:
    pieces: list[bytes] = []
    for number, commit in enumerate(commits):
        when = b"%d +0%d00" % (1_790_000_000 + number // 2, number % 10)
        pieces.append(b"reset refs/heads/c%d\n" % number)
        pieces.append(b"commit refs/heads/c%d\nmark :%d\n" % (number, number + 1))
        pieces.append(b"author %b %b\ncommitter me <me@x> %b\n" % (commit.author, when, when))
        pieces.append(b"data %d\n%b\n" % (len(commit.message), commit.message))
        for kind, parent in zip((b"from", b"merge"), commit.parents, strict=False):
            pieces.append(b"%b :%d\n" % (kind, parent + 1))
        for path, wanted in commit.files.items():
            if wanted is None:
                pieces.append(b"D %b\n" % quoted(path))
            else:
                mode, data = wanted
                pieces.append(b"M %b inline %b\ndata %d\n%b\n" % (mode.encode(), quoted(path), len(data), data))
        pieces.append(b"\n")
        if number % 3 == 2:
            pieces.append(
                b"tag v%d\nfrom :%d\ntagger me <me@x> %b\ndata 7\n%b\n" % (number, number + 1, when, SECRET + b"!")
            )
    return b"".join(pieces)


@dataclass
class Seen:
    """A commit as git tells it."""

    tree: dict[bytes, tuple[bytes, bytes]]
    parents: list[str]
    author: bytes
    dates: bytes
    message: bytes
    refs: set[str] = field(default_factory=set)


def seen(folder: Path) -> dict[str, Seen]:
    """Every commit that a branch or tag leads to."""
    found = {}
    for name in own_git(folder, "rev-list", "--branches", "--tags", "HEAD").split():
        raw = subprocess.run(["git", "cat-file", "commit", name], cwd=folder, capture_output=True, check=True).stdout
        head, _, message = raw.partition(b"\n\n")
        lines = head.split(b"\n")
        author = next(line for line in lines if line.startswith(b"author "))
        name_, _, date = author.rpartition(b"> ")
        committer = next(line for line in lines if line.startswith(b"committer "))
        parents = [line[7:].decode() for line in lines if line.startswith(b"parent ")]
        found[name] = Seen(tree_of(folder, name), parents, name_[7:] + b">", date + committer, message)
    for line in own_git(folder, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").splitlines():
        ref, *ids = line.split(" ")
        for one in filter(None, ids):
            if one in found:
                found[one].refs.add(ref)
    return found


def tree_of(folder: Path, commit: str) -> dict[bytes, tuple[bytes, bytes]]:
    listed = subprocess.run(["git", "ls-tree", "-r", "-z", commit], cwd=folder, capture_output=True, check=True).stdout
    found = {}
    for entry in filter(None, listed.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, _, blob = head.split(b" ")
        data = subprocess.run(["git", "cat-file", "blob", blob], cwd=folder, capture_output=True, check=True).stdout
        found[path] = mode, data
    return found


def by_rules(tree: dict[bytes, tuple[bytes, bytes]]) -> dict[bytes, tuple[bytes, bytes]]:
    rules = Forget()
    return {
        name: (mode, rules.file(path, data) if rules.touches(path) else data)
        for name, (mode, data) in tree.items()
        if rules.keeps(path := os.fsdecode(name))
    }


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.booleans())
def test_every_commit_of_any_history_is_what_the_rules_make_of_it(commits: list[Commit], detached: bool) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        own_git(folder, "init", "-q", "--initial-branch=c0")
        subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=stream(commits), check=True)
        if detached:
            own_git(folder, "update-ref", "--no-deref", "HEAD", "refs/heads/c0^{commit}")
            (folder / ".git/HEAD").write_text(own_git(folder, "rev-parse", "c0"))
        before = seen(folder)
        made = Rewriting(folder, Forget()).make("t")
        adopt(folder, "t")
        after = seen(folder)
        new = {name: made.commits.get(name, name) for name in before}
        assert set(after) == set(new.values())
        for name, old in before.items():
            now = after[new[name]]
            assert now.tree == by_rules(old.tree)
            assert now.parents == [new[parent] for parent in old.parents]
            assert now.dates == old.dates
            assert now.author == Forget().signature(old.author)
            assert now.message == Forget().message("", old.message)
            assert now.refs >= old.refs
        for path, changed in made.files.items():
            known = {
                content_hash(entry[1])
                for one in before.values()
                for name, entry in one.tree.items()
                if os.fsdecode(name) == path
            }
            assert changed.keys() <= known
        untouched = [name for commit in commits for name, file in commit.files.items() if file and SECRET in file[1]]
        assert SECRET not in objects(folder) or not all(map(Forget().touches, untouched))
        own_git(folder, "fsck", "--full")
        assert not (folder / BESIDE).exists()
        assert not (folder / ".git" / MARK).exists()


# ----------------------------------------------------------------------------------- what an owner does with git


PAGE = "shared/a.md"
OLD, NEW = b"- one\n- " + SECRET + b"\n", b"- one\n"


class TestTheOwnersOwnGit:
    async def test_branches_tags_and_times_are_taken_over(self, repository: Repository) -> None:
        folder = repository.folder
        first = await write_and_commit(repository, {PAGE: OLD}, "记住：芫荽\n\nFor: li\n")
        own_git(folder, "tag", "light")
        own_git(folder, "tag", "-a", "told", "-m", "before 芫荽")
        own_git(folder, "tag", "-a", "nested", "-m", "of a tag", "told")
        own_git(folder, "checkout", "-q", "-b", "side")
        await write_and_commit(repository, {"users/li/profile.md": b"# li\n"}, "side")
        own_git(folder, "checkout", "-q", "main")
        second = await write_and_commit(repository, {"b.md": b"b\n"}, "kept")
        await repository.rewrite(Forget(), "t", agreed)
        assert own_git(folder, "log", "--all", "--format=%s%d").count("芫荽") == 0
        assert SECRET not in objects(folder)
        assert await repository.tree("light") == await repository.tree("told") == await repository.tree("nested")
        assert set(await repository.tree("light")) == {PAGE}
        assert set(await repository.tree("side")) == {PAGE}
        assert own_git(folder, "tag", "-l", "--format=%(contents:subject)", "told").strip() == "gone"
        assert own_git(folder, "status", "--porcelain") == f" M {PAGE}\n"  # pages are the caller's
        assert own_git(folder, "branch", "--show-current").strip() == "main"
        assert first != second

    async def test_a_tag_of_a_file_copies_of_remotes_notes_and_reflogs_are_left_out(
        self, repository: Repository
    ) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD})
        commit = await write_and_commit(repository, {PAGE: NEW})
        own_git(folder, "tag", "-a", "a-file", "-m", "x", f"HEAD~1:{PAGE}")
        own_git(folder, "notes", "add", "-m", "芫荽", "HEAD")
        own_git(folder, "update-ref", "refs/remotes/home/main", f"{commit}~1")
        own_git(folder, "remote", "add", "home", "/nowhere/wiki.git")
        (folder / ".git/CHERRY_PICK_HEAD").write_text(f"{commit}\n")
        assert (folder / ".git/logs/HEAD").exists()
        (folder / ".git/COMMIT_EDITMSG").write_text("芫荽\n")
        hook = folder / ".git/hooks/post-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n")
        made = await repository.rewrite(Forget(), "t", agreed)
        assert made.left_out == ("CHERRY_PICK_HEAD", "refs/notes/commits", "refs/remotes/home/main", "refs/tags/a-file")
        assert SECRET not in objects(folder)
        assert SECRET not in on_disk(folder)
        assert not (folder / ".git/logs").exists()
        assert hook.read_text() == "#!/bin/sh\n"
        assert await repository.remotes() == {"home": "/nowhere/wiki.git"}
        assert own_git(folder, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]

    async def test_every_stash_comes_along(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD, "b.md": b"b\n"}, "记住：芫荽")
        for number in range(2):
            (folder / "b.md").write_bytes(b"stashed %d\n" % number)
            (folder / "new.md").write_bytes(b"untracked " + SECRET)
            own_git(folder, "stash", "-q", "-u")
        await repository.rewrite(Forget(), "t", agreed)
        listed = own_git(folder, "stash", "list").splitlines()
        assert [line.partition(":")[0] for line in listed] == ["stash@{0}", "stash@{1}"]
        assert "芫荽" not in "".join(listed)
        (folder / PAGE).write_bytes(NEW)
        own_git(folder, "stash", "pop", "-q", "stash@{1}")
        assert (folder / "b.md").read_bytes() == b"stashed 0\n"
        assert (folder / "new.md").read_bytes() == b""
        assert SECRET not in objects(folder)

    async def test_what_is_staged_or_lies_about_stays(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD, "b.md": b"b\n", "users/li/a.md": b"a\n"})
        (folder / PAGE).write_bytes(b"- mine\n" + OLD)
        (folder / "b.md").write_bytes(b"b staged\n")
        (folder / "never-committed.bin").write_bytes(b"\0staged")
        own_git(folder, "add", "-A")
        (folder / "b.md").write_bytes(b"b unsaved\n")
        made = await repository.rewrite(Forget(), "t", agreed)
        assert own_git(folder, "show", f":{PAGE}") == "- mine\n- one\n"
        assert own_git(folder, "show", ":b.md") == "b staged\n"
        assert own_git(folder, "show", ":never-committed.bin") == "\0staged"
        assert (folder / "b.md").read_bytes() == b"b unsaved\n"
        assert own_git(folder, "ls-files").split() == ["b.md", "never-committed.bin", PAGE]
        assert made.files[PAGE][content_hash(b"- mine\n" + OLD)] == content_hash(b"- mine\n- one\n")
        assert SECRET not in objects(folder)

    async def test_what_is_kept_out_of_the_folder_stays_so(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD, "elsewhere.bin": b"x", "huge.bin": b"y"})
        own_git(folder, "update-index", "--skip-worktree", "elsewhere.bin")
        own_git(folder, "update-index", "--assume-unchanged", "huge.bin")
        (folder / "elsewhere.bin").unlink()
        await repository.rewrite(Forget(), "t", agreed)
        assert own_git(folder, "ls-files", "-v").splitlines() == ["S elsewhere.bin", "h huge.bin", f"H {PAGE}"]
        assert own_git(folder, "status", "--porcelain") == f" M {PAGE}\n"

    async def test_a_merge_that_was_begun_can_be_finished(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD, "b.md": b"one\n"})
        own_git(folder, "checkout", "-q", "-b", "other")
        await write_and_commit(repository, {"b.md": b"other\n"})
        own_git(folder, "checkout", "-q", "main")
        await write_and_commit(repository, {"b.md": b"main\n"})
        with pytest.raises(subprocess.CalledProcessError):
            own_git(folder, "merge", "other")
        own_git(folder, "branch", "-D", "other")
        await repository.rewrite(Forget(), "t", agreed)
        assert len(own_git(folder, "ls-files", "--unmerged").splitlines()) == 3
        (folder / PAGE).write_bytes(NEW)
        (folder / "b.md").write_bytes(b"both\n")
        own_git(folder, "commit", "-qam", "merged")
        assert len(own_git(folder, "rev-parse", "HEAD^1", "HEAD^2").split()) == 2
        own_git(folder, "fsck", "--strict")
        await repository.rewrite(Forget(), "again", agreed)
        assert own_git(folder, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]

    async def test_their_git_is_waited_for_and_kept_out_meanwhile(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD})
        (folder / ".git/index.lock").touch()
        with pytest.raises(StorageFailed, match=r"index\.lock"):
            await repository.rewrite(Forget(), "t", agreed)
        (folder / ".git/index.lock").unlink()

        def meanwhile(_: Rewritten) -> None:
            with pytest.raises(subprocess.CalledProcessError):
                own_git(folder, "commit", "-q", "--allow-empty", "-m", "in between")

        await repository.rewrite(Forget(), "t", meanwhile)
        own_git(folder, "commit", "-q", "--allow-empty", "-m", "afterwards")
        assert own_git(folder, "log", "--format=%s").splitlines() == ["afterwards", "记住"]

    async def test_a_branch_that_is_moved_meanwhile_is_not_lost(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {PAGE: OLD})

        class Moves(Forget):
            def message(self, commit: str, message: bytes) -> bytes:
                own_git(folder, "update-ref", "refs/heads/pushed", commit)
                return message

        with pytest.raises(StorageFailed, match="moved a branch"):
            await repository.rewrite(Moves(), "t", agreed)
        assert own_git(folder, "rev-parse", "pushed") == own_git(folder, "rev-parse", "main")
        assert not (folder / BESIDE).exists()
        await write_and_commit(repository, {PAGE: NEW})


class TestTakingItsPlace:
    async def test_what_the_caller_refuses_leaves_everything_as_it_was(self, repository: Repository) -> None:
        commit = await write_and_commit(repository, {PAGE: OLD})

        def refuses(made: Rewritten) -> None:
            assert made.commits.keys() == {commit}
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await repository.rewrite(Forget(), "t", refuses)
        assert await repository.head() == commit
        assert not (repository.folder / BESIDE).exists()
        assert not (repository.folder / ".git/index.lock").exists()
        assert own_git(repository.folder, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]

    async def test_before_the_first_commit_there_is_nothing_to_do(self, repository: Repository) -> None:
        made = await repository.rewrite(Forget(), "t", agreed)
        assert (made.commits, made.files, made.left_out) == ({}, {}, ())
        await write_and_commit(repository, {PAGE: NEW})
        own_git(repository.folder, "fsck", "--strict")

    async def test_rules_that_change_nothing_leave_every_id_and_drop_what_nothing_leads_to(
        self, repository: Repository
    ) -> None:
        await write_and_commit(repository, {PAGE: OLD})
        own_git(repository.folder, "commit", "-q", "--amend", "-m", "芫荽 once")
        own_git(repository.folder, "commit", "-q", "--amend", "-m", "other words")
        commit = await repository.head()
        assert SECRET + b" once" in objects(repository.folder)
        made = await repository.rewrite(Nothing(), "t", agreed)
        assert made.commits == {}
        assert await repository.head() == commit
        assert SECRET + b" once" not in objects(repository.folder)

    async def test_after_a_crash_it_goes_on_where_it_was_agreed_to_and_only_there(self, repository: Repository) -> None:
        folder = repository.folder
        old = await write_and_commit(repository, {PAGE: OLD})
        made = Rewriting(folder, Forget()).make("t")
        repository.settle(None)
        assert await repository.head() == old
        assert not (folder / BESIDE).exists()
        Rewriting(folder, Forget()).make("t")
        repository.settle("something else")
        assert await repository.head() == old
        Rewriting(folder, Forget()).make("t")
        (folder / ".git/index.lock").write_bytes(b"qingtuan is rewriting the history\n")
        repository.settle("t")
        await repository.prepare()
        assert await repository.head() == made.commits[old]
        # Cut off between taking the place and deleting the old one, whose own mark was never taken away.
        Rewriting(folder, Forget()).make("t2")
        beside = folder / BESIDE
        (folder / ".git").rename(folder / "old")
        beside.rename(folder / ".git")
        (folder / "old").rename(beside)
        (beside / MARK).write_text("t")
        repository.settle("t2")
        assert not beside.exists()
        assert await repository.head() == made.commits[old]
        await write_and_commit(repository, {"b.md": b"b\n"})

    async def test_a_half_made_one_is_no_obstacle(self, repository: Repository) -> None:
        await write_and_commit(repository, {PAGE: OLD})
        (repository.folder / BESIDE / "objects").mkdir(parents=True)
        (repository.folder / BESIDE / "objects" / "half").write_bytes(b"x")
        await repository.rewrite(Forget(), "t", agreed)
        assert SECRET not in objects(repository.folder)
