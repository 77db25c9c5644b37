"""A git history without what is to be gone from it: another repository, made beside the old one and put in its place.

`git fast-export` tells the old history, rules say what becomes of each file and message (`git_stream`), and
`git fast-import` makes the new one. Every commit stays, with its parents, its times and its place in the order, and
for each of them new tree = rules(old tree). What the rules touch is looked at; everything else is only named, and its
bytes are taken over in one go by a repack. The old repository answers until the new one has been proven whole; then
it is deleted, and no object of it is left on the disk.

    .git                the repository that counts
    .git-rewriting      the new one while it is made; then, for an instant, the old one while it is deleted
    …/rewritten         in a finished one: the token of what it was made for

Branches, tags, stashes, a merge that was begun and what is staged are rewritten, too. Reflogs go. Notes, copies of what
a remote has and other work that was begun (a rebase, a bisection) are left out, and named: they lead to old commits.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.storage.files import read_regular, write_atomic
from qingtuan.storage.git_command import environment_of
from qingtuan.storage.git_stream import CONTENTS, Contents, Learned, Rules, Stream

BESIDE = ".git-rewriting"
MARK = "rewritten"

_OWN = "refs/qingtuan/rewriting/"
"""Names that stand for commits that no branch and no tag leads to, while the work lasts."""
_TAKEN_OVER = ("config", "description", "hooks", "info")
"""What else of a git folder the owner may have made."""
_BEGUN = ("rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")
_LARGEST = 1 << 20
"""Bytes of the small files of a git folder: the list of stashes, the heads of a merge."""
_STASH = re.compile(rb"[0-9a-f]+ ([0-9a-f]+) (.*>)( [^\t]*)\t(.*)")
_EXPORT = (
    "fast-export",
    "--no-data",
    "--show-original-ids",
    "--use-done-feature",
    "--reencode=yes",
    "--mark-tags",
    "--signed-tags=strip",
    "--tag-of-filtered-object=drop",
)
_IMPORT = ("fast-import", "--quiet", "--date-format=raw-permissive")
_READ = ("cat-file", "--batch")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a rewriting made."""

    commits: Mapping[str, str]
    """Of the commits that became others, the new ids by the old ones."""
    files: Mapping[str, Mapping[str, str]]
    """By path, the SHA-256 of contents that became others, new by old."""
    left_out: tuple[str, ...]
    """What of the owner's own git work was not taken over: names of refs and of what was begun."""


@dataclass(frozen=True, slots=True)
class _Stash:
    """A line of the list of stashes."""

    commit: str
    who: bytes
    when: bytes
    words: bytes


@dataclass(frozen=True, slots=True)
class _Refs:
    """Where the old repository's names lead."""

    head: str
    """As the file says it: `ref: …`, or an id."""
    stashes: tuple[_Stash, ...]
    """The oldest first."""
    merging: tuple[str, ...]
    """Commits that a merge under way brings in."""
    odd: tuple[str, ...]
    """Tags that lead to no commit."""
    names: Mapping[str, str]
    """Every name with what it led to."""


class Rewriting:
    """One rewriting of the repository in `folder`. All of it blocks: to be run in a thread."""

    def __init__(self, folder: Path, rules: Rules, *, executable: str = "git") -> None:
        self.folder = folder
        self._folder = folder
        self._old = folder / ".git"
        self._new = folder / BESIDE
        self._rules = rules
        self._git = executable
        self._learned = Learned()

    # ------------------------------------------------------------------------------------------- making

    def make(self, token: str, tell: Callable[[int], None] = lambda _: None) -> Rewritten:
        """Make the new repository beside the old one and prove it. `tell` hears how many commits are done.

        Raises:
            StorageFailed: git refuses, or what it made is not what it should be. The old repository is as it was.
        """
        clear(self._new)
        (self._old / MARK).unlink(missing_ok=True)
        refs = self._named_commits()
        try:
            self._prepare(refs)
            commits = self._rewrite(refs, tell)
            self._finish_refs(refs, commits)
            self._finish_index()
            self._own_objects()
            self._prove(set(commits.values()))
            if self._names(self._old) != refs.names:
                raise refused("somebody else moved a branch")
        except OSError as error:
            raise refused(str(error)) from error
        finally:
            self._forget_names(self._old)
        write_atomic(self._new / MARK, token.encode())
        changed = {old: new for old, new in commits.items() if old != new}
        return Rewritten(changed, self._learned.files, self._left_out(refs))

    def _named_commits(self) -> _Refs:
        """The old names, after giving one to every commit that is needed and that no branch and no tag leads to."""
        head = (read_regular(self._old / "HEAD", limit=_LARGEST) or b"").decode("utf-8", "replace").strip()
        lines = (read_regular(self._old / "MERGE_HEAD", limit=_LARGEST) or b"").decode("ascii", "replace").split()
        merging = tuple(line for line in lines if re.fullmatch("[0-9a-f]{40,64}", line))
        stashes = self._stashes()
        named = {f"stash/{number}": stash.commit for number, stash in enumerate(stashes)}
        named |= {f"merge/{number}": commit for number, commit in enumerate(merging)}
        named |= {} if head.startswith("ref: ") else {"head": head}
        self._forget_names(self._old)
        self._update_refs(self._old, [f"create {_OWN}{name} {commit}" for name, commit in named.items()])
        return _Refs(head, stashes, merging, self._odd_tags(), self._names(self._old))

    def _stashes(self) -> tuple[_Stash, ...]:
        lines = (read_regular(self._old / "logs" / "refs" / "stash", limit=_LARGEST) or b"").splitlines()
        found = filter(None, map(_STASH.fullmatch, lines))
        return tuple(_Stash(line[1].decode(), line[2], line[3], line[4]) for line in found)

    def _names(self, repository: Path) -> dict[str, str]:
        found = os.fsdecode(self._run(repository, "for-each-ref", "--format=%(objectname) %(refname)")).splitlines()
        names = {name: target for target, _, name in (line.partition(" ") for line in found)}
        return {name: target for name, target in names.items() if not name.startswith(_OWN)}

    def _odd_tags(self) -> tuple[str, ...]:
        form = "--format=%(objecttype) %(*objecttype) %(refname)"
        tags = (
            line.split(" ")
            for line in os.fsdecode(self._run(self._old, "for-each-ref", form, "refs/tags")).splitlines()
        )
        return tuple(
            name for kind, peeled, name in tags if "commit" not in (kind, peeled) and not self._is_commit(name)
        )

    def _is_commit(self, name: str) -> bool:
        return not self._call(self._old, ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).returncode

    def _left_out(self, refs: _Refs) -> tuple[str, ...]:
        begun = [name for name in _BEGUN if (self._old / name).exists()]
        return tuple(sorted([*begun, *(refs.names.keys() - self._names(self._new).keys())]))

    def _forget_names(self, repository: Path, below: str = "") -> None:
        found = self._run(repository, "for-each-ref", "--format=%(refname)", f"{_OWN}{below}").decode().split()
        self._update_refs(repository, [f"delete {name}" for name in found])

    def _prepare(self, refs: _Refs) -> None:
        """An empty repository with the owner's configuration, which finds the old one's objects for now."""
        self._new.mkdir(mode=0o700)
        self._run(self._new, "init", "--quiet", "--template=", "--initial-branch=main")
        for name in _TAKEN_OVER:
            source, target = self._old / name, self._new / name
            if source.is_dir() and not source.is_symlink():
                shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("grafts"))
            elif source.is_file() and not source.is_symlink():
                shutil.copy2(source, target)
        write_atomic(self._new / "objects" / "info" / "alternates", os.fsencode(self._old / "objects") + b"\n")
        if refs.head.startswith("ref: "):
            write_atomic(self._new / "HEAD", f"{refs.head}\n".encode())

    # -------------------------------------------------------------------------------------- the history

    def _rewrite(self, refs: _Refs, tell: Callable[[int], None]) -> dict[str, str]:
        """Let every commit pass, in order. Their new ids by the old ones."""
        marks = self._new / "marks"
        odd = (f"--exclude={name.removeprefix('refs/tags/')}" for name in refs.odd)
        chosen = ("--branches", *odd, "--tags", f"--glob={_OWN}*")
        with ExitStack() as stack:
            said = stack.enter_context(tempfile.TemporaryFile())
            export = stack.enter_context(self._started(self._old, (*_EXPORT, *chosen), said))
            take = stack.enter_context(self._started(self._new, (*_IMPORT, f"--export-marks={marks}"), said))
            contents = stack.enter_context(self._contents())
            assert export.stdout
            assert take.stdin
            try:
                Stream(export.stdout, take.stdin, self._rules, contents, self._learned).run(tell)
                take.stdin.close()
            except BrokenPipeError:
                export.stdout.close()  # it has gone, and says below why
            if take.wait() or export.wait():
                said.seek(0)
                raise refused(said.read().decode("utf-8", "replace"))
        commits = {}
        for line in marks.read_bytes().splitlines():
            mark, _, new = line.partition(b" ")
            if (old := self._learned.marks.get(mark)) is not None:
                commits[old] = new.decode()
        marks.unlink(missing_ok=True)
        return commits

    def _finish_refs(self, refs: _Refs, commits: Mapping[str, str]) -> None:
        """HEAD, the merge that was begun and the stashes: what is no branch and no tag."""
        shutil.rmtree(self._new / "logs", ignore_errors=True)
        if not refs.head.startswith("ref: "):
            write_atomic(self._new / "HEAD", f"{commits[refs.head]}\n".encode())
        if refs.merging:
            write_atomic(self._new / "MERGE_HEAD", "".join(f"{commits[old]}\n" for old in refs.merging).encode())
            for name in ("MERGE_MSG", "MERGE_MODE"):
                if (data := read_regular(self._old / name, limit=_LARGEST)) is not None:
                    write_atomic(self._new / name, self._rules.message("", data))
        if refs.stashes:
            self._update_refs(self._new, [f"update refs/stash {commits[refs.stashes[-1].commit]}"])
            write_atomic(self._new / "logs" / "refs" / "stash", b"".join(self._stash_lines(refs.stashes, commits)))
        # What a merge under way brings in keeps its name: nothing else may lead to it.
        self._forget_names(self._new, "stash")
        self._forget_names(self._new, "head")

    def _stash_lines(self, stashes: Sequence[_Stash], commits: Mapping[str, str]) -> Iterator[bytes]:
        before = "0" * len(stashes[0].commit)
        for stash in stashes:
            now = commits[stash.commit]
            words = self._rules.message(stash.commit, stash.words).replace(b"\n", b" ").strip()
            who = self._rules.signature(stash.who)
            yield b"%b %b %b%b\t%b\n" % (before.encode(), now.encode(), who, stash.when, words)
            before = now

    def _finish_index(self) -> None:
        """The same entries as in the old index, by the rules; those of a conflict, too."""
        if not (self._old / "index").exists():
            return
        lines: list[bytes] = []
        marked: dict[str, list[bytes]] = {"--skip-worktree": [], "--assume-unchanged": []}
        with self._contents() as contents:
            for entry in self._run(self._old, "ls-files", "--stage", "-v", "-z").split(b"\0"):
                head, _, name = entry.partition(b"\t")
                path = os.fsdecode(name)
                if not entry or not self._rules.keeps(path):
                    continue
                tag, mode, blob, stage = head.split(b" ")
                marked["--skip-worktree"] += [name] if tag.upper() == b"S" else []
                marked["--assume-unchanged"] += [name] if tag.islower() else []
                if mode in CONTENTS and self._rules.touches(path):
                    before = contents.of(blob)
                    after = self._rules.file(path, before)
                    if after != before:
                        self._learned.note(path, before, after)
                        blob = self._run(self._new, "hash-object", "-w", "--stdin", stdin=after).strip()
                lines.append(b"%b %b %b\t%b\0" % (mode, blob, stage, name))
        self._run(self._new, "update-index", "-z", "--index-info", stdin=b"".join(lines))
        for mark, names in marked.items():
            if names:
                self._run(self._new, "update-index", mark, "-z", "--stdin", stdin=b"\0".join([*names, b""]))

    # ------------------------------------------------------------------------------------------- proving

    def _own_objects(self) -> None:
        """Take over what is reachable of the old repository's objects, and cut the tie to it."""
        self._run(self._new, "repack", "-a", "-d", "-q")
        self._run(self._new, "prune", "--expire=now")
        (self._new / "objects" / "info" / "alternates").unlink()

    def _prove(self, commits: set[str]) -> None:
        """Raises `StorageFailed` unless the new repository is whole and its newest commit holds what it should."""
        self._run(self._new, "fsck", "--full", "--no-dangling", "--no-progress")
        expected = {path: entry for path, entry in self._tree(self._old).items() if self._rules.keeps(path)}
        now = self._tree(self._new)
        if expected.keys() != now.keys():
            raise refused(f"other files: {sorted(expected.keys() ^ now.keys())[:3]}")
        for path, (mode, blob) in expected.items():
            if now[path] == (mode, blob):
                continue
            before = self._run(self._old, "cat-file", "blob", blob)
            after = self._run(self._new, "cat-file", "blob", now[path][1])
            if not self._rules.touches(path) or self._rules.file(path, before) != after or mode != now[path][0]:
                raise refused(f"another file: {path!r}")
        found = self._run(self._new, "rev-list", "--all", "--reflog", *(["HEAD"] if commits else [])).decode().split()
        if set(found) != commits:
            raise refused(f"{len(found)} commits instead of {len(commits)}")

    def _tree(self, repository: Path) -> dict[str, tuple[str, str]]:
        """Mode and blob of every path of the newest commit; nothing before the first one."""
        if self._call(repository, ("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).returncode:
            return {}
        found = {}
        for entry in filter(None, self._run(repository, "ls-tree", "-r", "-z", "HEAD").split(b"\0")):
            head, _, name = entry.partition(b"\t")
            mode, _, blob = head.decode().split(" ")
            found[os.fsdecode(name)] = mode, blob
        return found

    # ------------------------------------------------------------------------------------------- running

    def _update_refs(self, repository: Path, lines: Sequence[str]) -> None:
        if lines:
            self._run(repository, "update-ref", "--stdin", stdin=os.fsencode("".join(f"{line}\n" for line in lines)))

    def _run(self, repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
        done = self._call(repository, arguments, stdin)
        if done.returncode:
            raise refused(f"{arguments[0]}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout

    def _call(
        self, repository: Path, arguments: Sequence[str], stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self._git, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=self._folder,
            env=environment_of(repository, self._folder),
        )

    def _started(self, repository: Path, arguments: Sequence[str], said: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self._git, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=self._folder,
            env=environment_of(repository, self._folder),
        )

    @contextmanager
    def _contents(self) -> Iterator[Contents]:
        with tempfile.TemporaryFile() as said, self._started(self._old, _READ, said) as process:
            yield Contents(process)


def clear(path: Path) -> None:
    """Take away whatever stands there. Raises `StorageFailed`."""
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise refused(str(error)) from error


def refused(detail: str) -> StorageFailed:
    return StorageFailed(
        Words(
            "wiki 的 git 历史没改成，还是原来那样。请看看磁盘空间，再试一次。",
            "The git history of the wiki could not be rewritten and is as it was. Check free space and try again.",
        ),
        detail=detail.strip(),
    )
