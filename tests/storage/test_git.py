"""Git by its command: commits from bytes, other gits' locks, odd names, and nothing that a repository can slip in."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.clock import ManualClock, SystemClock
from qingtuan.errors import NotThere, SettingsWrong, StorageFailed
from qingtuan.storage.git import Draft, Repository, Signature
from qingtuan.storage.git_objects import EMPTY_TREE, blob_id
from qingtuan.storage.swap import exchange, move_new

NOON = datetime(2026, 6, 23, 12, tzinfo=UTC)
AUTHOR = Signature("小青团", "qingtuan@localhost")


def own_git(folder: Path, *arguments: str) -> str:
    """Git as the owner of the folder would run it."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "me", f"GIT_{role}_EMAIL": "me@localhost"}
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def draft(files: Mapping[str, bytes | None], message: str = "记住：座位", time: datetime = NOON) -> Draft:
    return Draft(files, message, AUTHOR, time)


async def write_and_commit(repository: Repository, files: Mapping[str, bytes | None], message: str = "记住") -> str:
    for path, data in files.items():
        target = repository.folder / path
        if data is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    return await repository.commit(draft(files, message))


@pytest.fixture
async def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "wiki", SystemClock())
    await made.prepare()
    return made


class TestCommitting:
    async def test_the_first_one_and_the_next(self, repository: Repository) -> None:
        assert await repository.head() is None
        assert await repository.log() == []
        first = await write_and_commit(repository, {"a.md": b"one\n", "b.md": b"b\n"})
        second = await write_and_commit(repository, {"a.md": b"two\n", "b.md": None}, "改\n\n- 一\n\nEvent: evt_1\n")
        assert await repository.head() == second
        assert await repository.show(first, "a.md") == b"one\n"
        assert await repository.show(second, "b.md") is None
        assert await repository.tree() == {"a.md": blob_id(b"two\n")}
        assert own_git(repository.folder, "status", "--porcelain") == ""
        assert own_git(repository.folder, "fsck", "--strict") == ""

    async def test_author_time_and_trailers_are_what_was_given(self, repository: Repository) -> None:
        await repository.commit(draft({"a.md": b""}, "记住\n\n- 一\n\nEvent: evt_1\nEvent: evt_2\nFor: owner\n"))
        [revision] = await repository.log()
        assert (revision.author, revision.time, revision.subject) == ("小青团", NOON, "记住")
        assert revision.trailers == {"Event": ("evt_1", "evt_2"), "For": ("owner",)}

    async def test_what_the_owner_has_staged_or_left_lying_is_not_in_it(self, repository: Repository) -> None:
        await write_and_commit(repository, {"a.md": b"one\n"})
        (repository.folder / "staged.md").write_bytes(b"mine")
        own_git(repository.folder, "add", "staged.md")
        (repository.folder / "a.md").write_bytes(b"unsaved thought\n")
        commit = await repository.commit(draft({"c.md": b"c\n"}))
        assert await repository.tree(commit) == {"a.md": blob_id(b"one\n"), "c.md": blob_id(b"c\n")}
        status = own_git(repository.folder, "status", "--porcelain").splitlines()
        assert sorted(status) == [" D c.md", " M a.md", "A  staged.md"]

    async def test_a_merge_that_the_owner_has_begun_is_no_obstacle(self, repository: Repository) -> None:
        folder = repository.folder
        await write_and_commit(repository, {"a.md": b"one\n"})
        own_git(folder, "checkout", "-q", "-b", "other")
        await write_and_commit(repository, {"a.md": b"other\n"})
        own_git(folder, "checkout", "-q", "main")
        await write_and_commit(repository, {"a.md": b"main\n"})
        with pytest.raises(subprocess.CalledProcessError):
            own_git(folder, "merge", "other")
        commit = await repository.commit(draft({"b.md": b"ours\n"}))
        assert await repository.tree(commit) == {"a.md": blob_id(b"main\n"), "b.md": blob_id(b"ours\n")}
        assert b"<<<<<<<" in (folder / "a.md").read_bytes()

    async def test_it_goes_on_top_of_what_the_owner_commits(self, repository: Repository) -> None:
        first = await write_and_commit(repository, {"a.md": b"one\n"})
        (repository.folder / "b.md").write_bytes(b"mine\n")
        own_git(repository.folder, "add", "b.md")
        own_git(repository.folder, "commit", "-qm", "mine")
        await repository.commit(draft({"c.md": b"c\n"}))
        assert [revision.author for revision in await repository.log()] == ["小青团", "me", "小青团"]
        assert set(await repository.tree()) == {"a.md", "b.md", "c.md"}
        own_git(repository.folder, "checkout", "-q", first)
        detached = await repository.commit(draft({"d.md": b"d\n"}))
        assert await repository.head() == detached

    async def test_many_at_once_are_made_one_after_the_other(self, repository: Repository) -> None:
        commits = await asyncio.gather(
            *(repository.commit(draft({f"{number}.md": b"x"}, f"{number}")) for number in range(12))
        )
        assert len(set(commits)) == 12
        assert len(await repository.log()) == 12
        assert len(await repository.tree()) == 12

    async def test_one_that_is_cancelled_is_whole_or_not_there_and_the_next_one_works(
        self, repository: Repository
    ) -> None:
        for delay in (0, 0.002, 0.004, 0.01):
            task = asyncio.create_task(repository.commit(draft({"a.md": str(delay).encode()})))
            await asyncio.sleep(delay)
            task.cancel()
            with suppress(asyncio.CancelledError):  # unless it was done by then
                await task
        await repository.commit(draft({"b.md": b"b"}))
        assert own_git(repository.folder, "fsck", "--strict") == ""
        assert not (repository.folder / ".git" / "index.lock").exists()

    async def test_thousands_of_files_fit_into_one(self, repository: Repository) -> None:
        files: dict[str, bytes | None] = {f"users/owner/notes/{number}.md": b"x" for number in range(3000)}
        await repository.commit(draft(files))
        assert await repository.holds(files)
        assert len(await repository.tree()) == 3000

    async def test_holds_tells_whether_it_was_made(self, repository: Repository) -> None:
        assert not await repository.holds({"a.md": b"one"})
        assert await repository.holds({"a.md": None})
        await repository.commit(draft({"a.md": b"one"}))
        assert await repository.holds({"a.md": b"one", "b.md": None})
        assert not await repository.holds({"a.md": b"two"})
        assert not await repository.holds({"a.md": None})


class TestNames:
    NAMES = (
        "users/owner/notes/图书馆 座位.md",
        'users/owner/notes/"quoted" \\ back.md',
        "users/owner/notes/-n --force.md",
        "users/owner/notes/:(top)glob*[a].md",
        "users/owner/notes/🪑 émoji.md",
        "users/owner/notes/' ; rm -rf $HOME.md",
        'users/owner/notes/".md',
        "users/owner/notes/tab\tand space .md",
    )

    @pytest.mark.parametrize("name", NAMES)
    async def test_any_name_is_only_a_name(self, repository: Repository, name: str) -> None:
        other = "users/owner/notes/other.md"
        first = await write_and_commit(repository, {name: b"one\n", other: b"o\n"})
        second = await write_and_commit(repository, {name: b"two\n"})
        assert await repository.show(first, name) == b"one\n"
        assert [revision.commit for revision in await repository.log(name)] == [second, first]
        assert "+two" in await repository.diff(first, second, name)
        assert [line.commit for line in await repository.blame(name)] == [second]
        assert await repository.tree("HEAD", [name]) == {name: blob_id(b"two\n")}
        assert own_git(repository.folder, "status", "--porcelain") == ""

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(message=st.text(max_size=80), data=st.binary(max_size=60))
    def test_any_message_and_any_bytes_come_back(self, tmp_path: Path, message: str, data: bytes) -> None:
        async def run() -> None:
            repository = Repository(tmp_path / "wiki", SystemClock())
            await repository.prepare()
            commit = await repository.commit(draft({"a.md": data}, message))
            assert await repository.show(commit, "a.md") == data
            [revision] = await repository.log(limit=1)
            assert revision.commit == commit
            kept = message.encode("utf-8", "replace").decode().replace("\0", "?")
            assert revision.message.strip("\n") == kept.strip("\n")

        asyncio.run(run())

    async def test_an_author_cannot_break_the_stream(self, repository: Repository) -> None:
        author = Signature("a <b>\ncommitter evil <e@x> 1 +0000", "x>\ny")
        await repository.commit(Draft({"a.md": b""}, "m", author, NOON))
        [revision] = await repository.log()
        assert revision.author == "a bcommitter evil e@x 1 +0000"


class TestLocks:
    @pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock", "HEAD.lock"])
    async def test_a_lock_held_for_a_moment_is_waited_for(self, repository: Repository, name: str) -> None:
        await repository.commit(draft({"a.md": b"one"}))
        lock = repository.folder / ".git" / name
        lock.touch()

        async def let_go() -> None:
            await asyncio.sleep(0.3)
            lock.unlink()

        commit, _ = await asyncio.gather(repository.commit(draft({"a.md": b"two"})), let_go())
        assert await repository.show(commit, "a.md") == b"two"

    @pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
    async def test_one_that_stays_is_named_with_what_to_do_and_nothing_is_lost(self, tmp_path: Path, name: str) -> None:
        clock = ManualClock(NOON)
        repository = Repository(tmp_path / "wiki", clock)
        await repository.prepare()
        first = await repository.commit(draft({"a.md": b"one"}))
        lock = repository.folder / ".git" / name
        lock.touch()
        with pytest.raises(StorageFailed) as caught:
            await repository.commit(draft({"a.md": b"two"}))
        assert name in caught.value.words.zh
        assert "删掉" in caught.value.words.zh
        assert "delete that file" in caught.value.words.en
        assert await repository.head() == first
        assert lock.exists()
        lock.unlink()
        await repository.commit(draft({"a.md": b"two"}))
        assert own_git(repository.folder, "diff", "--cached", "--stat") == ""


class TestReading:
    async def test_the_newest_not_later_than_a_moment(self, repository: Repository) -> None:
        assert await repository.at(NOON) is None
        commits = [
            await repository.commit(draft({"a.md": str(day).encode()}, time=NOON + timedelta(days=day)))
            for day in range(3)
        ]
        assert await repository.at(NOON - timedelta(seconds=1)) is None
        assert await repository.at(NOON) == commits[0]
        assert await repository.at(NOON + timedelta(days=1, hours=11)) == commits[1]
        assert await repository.at(NOON + timedelta(days=99)) == commits[2]

    async def test_history_follows_a_page_that_moved(self, repository: Repository) -> None:
        body = "".join(f"- 第 {number} 条 ^{number}\n" for number in range(20)).encode()
        await write_and_commit(repository, {"a.md": body})
        await write_and_commit(repository, {"a.md": None, "b.md": body})
        await write_and_commit(repository, {"b.md": body + b"x\n"})
        assert len(await repository.log("b.md")) == 3

    async def test_blame_names_the_commit_of_each_line(self, repository: Repository) -> None:
        first = await repository.commit(draft({"a.md": "一\n二\r\n\t三\n".encode()}))
        second = await repository.commit(draft({"a.md": "一\n新\n二\r\n\t三".encode()}))
        lines = [(line.number, line.text, line.commit) for line in await repository.blame("a.md")]
        assert lines == [(1, "一", first), (2, "新", second), (3, "二", first), (4, "\t三", second)]
        with pytest.raises(NotThere):
            await repository.blame("missing.md")

    async def test_a_diff_against_nothing_is_the_whole_file(self, repository: Repository) -> None:
        commit = await repository.commit(draft({"a.md": "一\n".encode(), "b.md": b"b\n"}))
        diff = await repository.diff(EMPTY_TREE, commit, "a.md")
        assert "+一" in diff
        assert "b.md" not in diff

    async def test_a_revision_is_named_by_its_letters_and_nothing_else(self, repository: Repository) -> None:
        commit = await repository.commit(draft({"a.md": b"one"}))
        assert await repository.resolve(commit[:8]) == commit
        assert await repository.resolve("HEAD") == commit
        for name in ("", "--all", "HEAD~1", "main", ":/记住", "0" * 40, commit[:3], "@{upstream}", f"{commit}^{{/x}}"):
            with pytest.raises(NotThere):
                await repository.resolve(name)

    async def test_contents_come_in_order_with_gaps(self, repository: Repository) -> None:
        commit = await repository.commit(draft({"a.md": b"a\n\nb", "d/b.md": b"", "c.md": b"HEAD blob 3\n"}))
        names = [f"{commit}:a.md", f"{commit}:missing", f"{commit}:d", f"{commit}:d/b.md", f"{commit}:c.md"]
        assert await repository.contents(names) == [b"a\n\nb", None, None, b"", b"HEAD blob 3\n"]
        assert await repository.contents([]) == []


class TestNothingSlipsIn:
    async def test_configuration_of_a_repository_runs_nothing(self, repository: Repository, tmp_path: Path) -> None:
        mark = tmp_path / "ran"
        evil = tmp_path / "evil"
        evil.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
        evil.chmod(0o755)
        git = repository.folder / ".git"
        (git / "hooks").mkdir(exist_ok=True)
        for hook in ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "pre-auto-gc"):
            (git / "hooks" / hook).write_text(evil.read_text())
            (git / "hooks" / hook).chmod(0o755)
        with (git / "config").open("a") as config:
            config.write(
                f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\tautocrlf = true\n"
                f'[filter "x"]\n\tclean = {evil}\n\tsmudge = {evil}\n\trequired = true\n'
                f'[diff]\n\texternal = {evil}\n[diff "x"]\n\ttextconv = {evil}\n\tcommand = {evil}\n'
                f'[merge "x"]\n\tdriver = {evil}\n[gpg]\n\tprogram = {evil}\n[log]\n\tshowSignature = true\n'
                f"[commit]\n\tgpgSign = true\n[alias]\n\tlog = !{evil}\n[pager]\n\tlog = {evil}\n\tdiff = {evil}\n"
            )
        (repository.folder / ".gitattributes").write_text("* filter=x diff=x merge=x text=auto eol=crlf ident\n")
        data = b"one\r\ntwo\n$Id$\n"
        first = await write_and_commit(repository, {"a.md": data})
        second = await write_and_commit(repository, {"a.md": b"two\n"})
        await repository.diff(first, second, "a.md")
        await repository.blame("a.md")
        await repository.log("a.md")
        await repository.gc()
        assert await repository.show(first, "a.md") == data
        assert not mark.exists()

    async def test_the_owners_own_configuration_and_environment_are_not_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".gitconfig").write_text("[user]\n\tname = wrong\n[core]\n\thooksPath = /nowhere\n[init]\n\tx")
        for name, value in {"HOME": str(tmp_path), "GIT_DIR": "/nowhere", "GIT_AUTHOR_NAME": "wrong"}.items():
            monkeypatch.setenv(name, value)
        repository = Repository(tmp_path / "wiki", SystemClock())
        await repository.prepare()
        await repository.commit(draft({"a.md": b"x"}))
        assert (await repository.log())[0].author == "小青团"

    async def test_after_a_restore_nothing_but_the_history_is_left(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        commit = await write_and_commit(repository, {"a.md": b"one\n"})
        git = repository.folder / ".git"
        outside = tmp_path / "outside"
        outside.write_text("mine")
        (git / "hooks").mkdir(exist_ok=True)
        (git / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
        (git / "config").write_text(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = /evil\n[include]\n\tpath=/x\n"
        )
        (git / "config.worktree").write_text("[core]\n")
        (git / "info" / "attributes").write_text("* filter=x\n")
        (git / "objects" / "info").mkdir(exist_ok=True)
        (git / "objects" / "info" / "alternates").write_text("/elsewhere\n")
        (git / "logs" / "HEAD").unlink()
        (git / "logs" / "HEAD").symlink_to(outside)
        (git / "MERGE_HEAD").write_text(commit)
        (git / "index.lock").touch()
        (git / "modules" / "x").mkdir(parents=True)
        await repository.cleanse()
        names = {entry.name for entry in git.iterdir()}
        assert names <= {"HEAD", "objects", "refs", "logs", "config", "info", "index", "packed-refs"}
        assert "evil" not in (git / "config").read_text()
        assert not (git / "objects" / "info" / "alternates").exists()
        await write_and_commit(repository, {"a.md": b"two\n"})
        assert await repository.show(commit, "a.md") == b"one\n"
        assert outside.read_text() == "mine"
        assert own_git(repository.folder, "status", "--porcelain") == ""

    @pytest.mark.parametrize("kind", ["link", "file"])
    async def test_a_git_folder_that_is_none_is_refused(self, tmp_path: Path, kind: str) -> None:
        folder = tmp_path / "wiki"
        folder.mkdir()
        if kind == "link":
            (tmp_path / "elsewhere").mkdir()
            (folder / ".git").symlink_to(tmp_path / "elsewhere")
        else:
            (folder / ".git").write_text("gitdir: /elsewhere\n")
        with pytest.raises(StorageFailed):
            await Repository(folder, SystemClock()).prepare()


class TestStandingUp:
    async def test_preparing_twice_keeps_what_the_owner_set(self, repository: Repository) -> None:
        own_git(repository.folder, "remote", "add", "backup", "/somewhere")
        await repository.prepare()
        assert own_git(repository.folder, "remote") == "backup\n"

    async def test_without_git_the_owner_is_told_what_to_do(self, tmp_path: Path) -> None:
        repository = Repository(tmp_path / "wiki", SystemClock(), executable="no-such-git")
        with pytest.raises(SettingsWrong) as caught:
            await repository.prepare()
        assert "安装" in caught.value.words.zh
        assert "install" in caught.value.words.en

    async def test_a_git_that_is_too_old_is_refused(self, tmp_path: Path) -> None:
        old = tmp_path / "git"
        old.write_text("#!/bin/sh\necho git version 2.17.1\n")
        old.chmod(0o755)
        with pytest.raises(SettingsWrong):
            await Repository(tmp_path / "wiki", SystemClock(), executable=str(old)).prepare()

    async def test_a_folder_that_is_gone_is_an_error_in_words(self, tmp_path: Path) -> None:
        with pytest.raises(StorageFailed):
            await Repository(tmp_path / "missing", SystemClock()).head()

    async def test_packs_are_joined_before_they_are_many(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qingtuan.storage.git._MANY_PACKS", 5)
        commits = [await write_and_commit(repository, {"a.md": str(number).encode()}) for number in range(23)]
        packs = list(repository.folder.glob(".git/objects/pack/*.pack"))
        assert len(packs) < 8
        assert len(await repository.log("a.md")) == 23
        assert await repository.show(commits[0], "a.md") == b"0"
        assert own_git(repository.folder, "fsck", "--strict") == ""

    async def test_packing_keeps_everything(self, repository: Repository) -> None:
        await repository.gc()
        commits = [await write_and_commit(repository, {"a.md": str(number).encode()}) for number in range(5)]
        await repository.gc()
        assert [await repository.show(commit, "a.md") for commit in commits] == [b"0", b"1", b"2", b"3", b"4"]
        assert len(await repository.log("a.md")) == 5


class TestSwapping:
    def test_exchange_and_move_new(self, tmp_path: Path) -> None:
        (tmp_path / "one").write_bytes(b"1")
        (tmp_path / "two").write_bytes(b"2")
        folder = os.open(tmp_path, os.O_RDONLY)
        try:
            if exchange(folder, "one", "two"):
                assert (tmp_path / "one").read_bytes() == b"2"
                with pytest.raises(FileNotFoundError):
                    exchange(folder, "one", "missing")
            content = (tmp_path / "two").read_bytes()
            with pytest.raises(FileExistsError):
                move_new(folder, "one", "two")
            assert (tmp_path / "two").read_bytes() == content
            move_new(folder, "one", "three")
        finally:
            os.close(folder)
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["three", "two"]
