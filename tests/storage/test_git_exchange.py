"""Exchanging with another copy: by three ways, each the only one; nothing of either side runs or gets in unseen."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.clock import SystemClock
from qingtuan.errors import RemoteRefused, SettingsWrong
from qingtuan.storage.git import Draft, Joined, Repository, Signature
from qingtuan.storage.git_address import Address
from qingtuan.storage.git_exchange import Access, Exchange
from qingtuan.storage.git_objects import Blob, blob_id
from tests.fakes.git_https import git_server
from tests.fakes.remote_world import RemoteWorld, run_git

NOON = datetime(2026, 6, 23, 12, tzinfo=UTC)
AUTHOR = Signature("小青团", "qingtuan@localhost")


@pytest.fixture
async def ours(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "wiki", SystemClock())
    await made.prepare()
    await commit(made, {"a.md": b"one\n"})
    return made


@pytest.fixture
def remote(tmp_path: Path) -> RemoteWorld:
    return RemoteWorld(tmp_path / "there")


@pytest.fixture
async def exchange(ours: Repository, remote: RemoteWorld) -> AsyncIterator[Exchange]:
    made = exchange_with(ours, str(remote.bare))
    await made.begin()
    yield made
    made.end()
    assert not (ours.folder / ".git" / "incoming").exists()


def exchange_with(ours: Repository, address: str, access: Access | None = None) -> Exchange:
    return Exchange(ours.folder, Address.parse(address), access or Access(), SystemClock())


async def commit(repository: Repository, files: dict[str, bytes | None], joins: Joined | None = None) -> str:
    for path, data in files.items():
        if data is not None:
            (repository.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (repository.folder / path).write_bytes(data)
    return await repository.commit(Draft(files, "ours", AUTHOR, NOON, joins))


async def head(repository: Repository) -> str:
    found = await repository.head()
    assert found is not None
    return found


class TestStanding:
    async def test_from_empty_to_unrelated(self, ours: Repository, remote: RemoteWorld, exchange: Exchange) -> None:
        assert (await exchange.fetch(await ours.head())).relation == "empty"
        await exchange.push(await head(ours))
        assert remote.head() == await ours.head()
        assert (await exchange.fetch(await ours.head())).relation == "same"
        second = await commit(ours, {"a.md": b"two\n"})
        standing = await exchange.fetch(second)
        assert (standing.relation, standing.ours_only, standing.theirs_only) == ("ahead", 1, 0)
        await exchange.push(second)
        remote.take()
        theirs = remote.commit({"b.md": "b\n"})
        standing = await exchange.fetch(second)
        assert (standing.relation, standing.theirs, standing.theirs_only) == ("behind", theirs, 1)
        third = await commit(ours, {"c.md": b"c\n"})
        standing = await exchange.fetch(third)
        assert (standing.relation, standing.base) == ("diverged", second)
        assert (standing.ours_only, standing.theirs_only) == (1, 1)
        run_git(remote.clone, "checkout", "--quiet", "--orphan", "other")
        remote.commit({"x.md": "x\n"}, push=False)
        remote.push("--force")
        assert (await exchange.fetch(third)).relation == "unrelated"
        assert await exchange.fetch(None) != await exchange.fetch(third)

    async def test_what_is_there_is_read_without_being_ours(
        self, ours: Repository, remote: RemoteWorld, exchange: Exchange
    ) -> None:
        first = await head(ours)
        await exchange.push(first)
        remote.take()
        theirs = remote.commit({"b.md": "b\n", "a.md": None})
        await exchange.fetch(first)
        assert await exchange.changes(first, theirs) == {b"a.md": None, b"b.md": Blob("100644", blob_id(b"b\n"))}
        assert await exchange.contents([blob_id(b"b\n"), blob_id(b"one\n")]) == [b"b\n", b"one\n"]
        assert (await exchange.tree(theirs)).keys() == {b"b.md"}
        assert await exchange.sizes([blob_id(b"b\n")]) == [2]
        assert await exchange.commits(theirs, first) == {theirs}
        assert await exchange.holds(first, theirs)
        assert not await ours.holds_commit(theirs, within=theirs)
        await exchange.deliver(theirs, first)
        assert await ours.holds_commit(first, within=theirs)

    async def test_a_branch_of_another_name_is_named(self, remote: RemoteWorld, exchange: Exchange) -> None:
        run_git(remote.bare.parent, "clone", "--quiet", str(remote.bare), str(remote.clone))
        remote.commit({"b.md": "b\n"}, push=False)
        run_git(remote.clone, "push", "--quiet", "origin", "HEAD:master")
        with pytest.raises(RemoteRefused, match="main"):
            await exchange.fetch(None)


class TestPushing:
    async def test_never_over_what_is_there(self, ours: Repository, remote: RemoteWorld, exchange: Exchange) -> None:
        first = await head(ours)
        await exchange.push(first)
        remote.take()
        theirs = remote.commit({"b.md": "b\n"})
        for known in (False, True):
            if known:
                await exchange.fetch(first)
            second = await commit(ours, {"a.md": f"{known}\n".encode()})
            with pytest.raises(RemoteRefused) as caught:
                await exchange.push(second)
            assert "wiki pull" in caught.value.words.zh
            assert remote.head() == theirs

    async def test_a_hook_says_no(self, ours: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        remote = RemoteWorld(tmp_path / "far")
        hook = remote.bare / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho no way >&2\nexit 1\n")
        hook.chmod(0o755)
        exchange = over_ssh(ours, remote, tmp_path, monkeypatch)
        await exchange.begin()
        with pytest.raises(RemoteRefused) as caught:
            await exchange.push(await head(ours))
        assert "no way" in caught.value.detail
        assert "no way" not in caught.value.words.en
        exchange.end()

    async def test_into_an_open_branch_is_refused_with_what_to_do(self, ours: Repository, tmp_path: Path) -> None:
        other = tmp_path / "open"
        other.mkdir()
        run_git(other, "init", "--quiet", "--initial-branch=main")
        run_git(other, "commit", "--quiet", "--allow-empty", "-m", "x")
        # Even where its configuration says to change its files: what is checked out there might run.
        run_git(other, "config", "receive.denyCurrentBranch", "updateInstead")
        exchange = exchange_with(ours, str(other))
        await exchange.begin()
        with pytest.raises(RemoteRefused) as caught:
            await exchange.push(await head(ours))
        assert "pull" in caught.value.words.en or "--bare" in caught.value.words.en
        exchange.end()


class TestNothingSlipsIn:
    async def test_what_the_other_folder_has_does_not_run(
        self, ours: Repository, remote: RemoteWorld, exchange: Exchange, tmp_path: Path
    ) -> None:
        mark = tmp_path / "ran"
        evil = tmp_path / "evil"
        evil.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
        evil.chmod(0o755)
        (remote.bare / "hooks").mkdir(exist_ok=True)
        for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
            shutil.copy(evil, remote.bare / "hooks" / hook)
        (tmp_path / "alternate").mkdir()
        run_git(tmp_path / "alternate", "init", "--quiet", "--bare")
        (remote.bare / "objects" / "info" / "alternates").write_text(f"{tmp_path}/alternate/objects\n")
        with (remote.bare / "config").open("a") as config:
            config.write(
                f"[uploadpack]\n\tpackObjectsHook = {evil}\n[core]\n\talternateRefsCommand = {evil}\n"
                f"\tfsmonitor = {evil}\n\thooksPath = {remote.bare}/hooks\n\tpager = {evil}\n"
                "[receive]\n\tautogc = true\n"
            )
        await exchange.push(await head(ours))
        await exchange.fetch(await ours.head())
        assert not mark.exists()

    async def test_what_our_own_configuration_says_of_remotes_does_not_count(
        self, ours: Repository, remote: RemoteWorld, tmp_path: Path
    ) -> None:
        mark = tmp_path / "ran"
        helper = tmp_path / "helper"
        helper.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        helper.chmod(0o755)
        with (ours.folder / ".git" / "config").open("a") as config:
            config.write(
                f'[url "ext::sh -c {helper}"]\n\tinsteadOf = {remote.bare}\n\tpushInsteadOf = {remote.bare}\n'
                f"[core]\n\tsshCommand = {helper}\n\tgitProxy = {helper}\n\taskPass = {helper}\n"
                f"[credential]\n\thelper = {helper}\n[http]\n\tsslVerify = false\n\tproxy = http://127.0.0.1:1\n"
                f'[remote "origin"]\n\turl = {tmp_path}/elsewhere\n\tuploadpack = {helper}\n\treceivepack = {helper}\n'
                f"[protocol]\n\tallow = always\n[transfer]\n\tfsckObjects = false\n"
            )
        for hook in ("pre-push", "reference-transaction"):
            (ours.folder / ".git" / "hooks").mkdir(exist_ok=True)
            shutil.copy(helper, ours.folder / ".git" / "hooks" / hook)
        exchange = exchange_with(ours, str(remote.bare))
        await exchange.begin()
        await exchange.push(await head(ours))
        assert (await exchange.fetch(await ours.head())).relation == "same"
        exchange.end()
        assert not mark.exists()
        assert remote.head() == await ours.head()

    @pytest.mark.parametrize("address", ["git@localhost:x", "https://localhost:1/x.git", "/nowhere/x.git"])
    async def test_one_way_alone_is_open(self, ours: Repository, tmp_path: Path, address: str) -> None:
        key = tmp_path / "key"
        key.touch()
        made = exchange_with(ours, address, Access(ssh_key=key))
        environment = made._command._environment
        names = [name for name in environment if name.startswith("GIT_CONFIG_KEY")]
        config = {environment[name]: environment[name.replace("KEY", "VALUE")] for name in names}
        way = Address.parse(address).way
        assert config["protocol.allow"] == "never"
        assert [name for name in config if name.startswith("protocol.") and config[name] == "always"] == [
            f"protocol.{way}.allow"
        ]
        assert (config["core.sshCommand"] == "false") == (way != "ssh")
        assert config["credential.helper"] == ""
        assert config["core.askPass"] == ""

    async def test_objects_that_are_unsound_are_not_taken(
        self, ours: Repository, remote: RemoteWorld, exchange: Exchange
    ) -> None:
        first = await head(ours)
        await exchange.push(first)
        remote.tree(f"040000 tree {run_git(remote.bare, 'rev-parse', 'main^{tree}').strip()}\t.git\0")
        with pytest.raises(RemoteRefused):
            await exchange.fetch(first)

    async def test_a_tree_that_unfolds_without_end_is_cut_off(
        self, ours: Repository, remote: RemoteWorld, exchange: Exchange
    ) -> None:
        first = await head(ours)
        await exchange.push(first)
        inner = run_git(remote.bare, "rev-parse", "main^{tree}").strip()
        for _ in range(12):
            entries = "".join(f"040000 tree {inner}\t{letter}\0" for letter in "abcdefghij")
            inner = run_git(remote.bare, "mktree", "-z", stdin=entries.encode()).strip()
        remote.tree(f"040000 tree {inner}\tbomb\0")
        standing = await exchange.fetch(first)
        assert standing.theirs is not None
        with pytest.raises(RemoteRefused, match="more files"):
            await exchange.changes(first, standing.theirs)

    async def test_far_too_much_is_cut_off(
        self, ours: Repository, remote: RemoteWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from qingtuan.storage.git_command import Bounds

        monkeypatch.setattr("qingtuan.storage.git_exchange._BOUNDS", Bounds(file_bytes=1 << 20, output_bytes=1 << 20))
        exchange = exchange_with(ours, str(remote.bare))
        await exchange.begin()
        await exchange.push(await head(ours))
        remote.take()
        remote.commit({"big.bin": os.urandom(3 << 20)})
        with pytest.raises(RemoteRefused) as caught:
            await exchange.fetch(await ours.head())
        assert "太大" in caught.value.words.zh
        exchange.end()

    async def test_what_a_process_left_behind_is_no_obstacle(self, ours: Repository, remote: RemoteWorld) -> None:
        left = ours.folder / ".git" / "incoming" / "objects"
        left.mkdir(parents=True)
        (left / "junk").write_text("x")
        exchange = exchange_with(ours, str(remote.bare))
        await exchange.begin()
        assert not (left / "junk").exists()
        exchange.end()

    async def test_a_folder_with_signs_of_a_list_in_its_name(self, tmp_path: Path) -> None:
        repository = Repository(tmp_path / 'a:"b\\c' / "wiki", SystemClock())
        await repository.prepare()
        first = await commit(repository, {"a.md": b"one\n"})
        remote = RemoteWorld(tmp_path / "with blank: x")
        exchange = exchange_with(repository, str(remote.bare))
        await exchange.begin()
        await exchange.push(first)
        assert (await exchange.fetch(first)).relation == "same"
        exchange.end()


class TestTrouble:
    @pytest.mark.parametrize(("there", "said"), [("nothing", "--bare"), ("file", "--bare"), ("folder", "--bare")])
    async def test_nothing_there(self, ours: Repository, tmp_path: Path, there: str, said: str) -> None:
        place = tmp_path / "gone.git"
        if there == "file":
            place.write_text("x")
        elif there == "folder":
            place.mkdir()
        exchange = exchange_with(ours, str(place))
        await exchange.begin()
        with pytest.raises(RemoteRefused) as caught:
            await exchange.fetch(await ours.head())
        assert said in caught.value.words.en
        exchange.end()

    async def test_a_host_that_is_not_there(self, ours: Repository) -> None:
        exchange = exchange_with(ours, "https://127.0.0.1:9/wiki.git")
        await exchange.begin()
        with pytest.raises(RemoteRefused) as caught:
            await exchange.tip()
        assert "连不上" in caught.value.words.zh
        exchange.end()

    async def test_ssh_without_a_key_and_files_that_cannot_be_read(self, ours: Repository, tmp_path: Path) -> None:
        with pytest.raises(SettingsWrong, match="ssh_key"):
            exchange_with(ours, "git@host:wiki.git")
        with pytest.raises(SettingsWrong):
            exchange_with(ours, "git@host:wiki.git", Access(ssh_key=tmp_path / "missing"))
        with pytest.raises(SettingsWrong):
            exchange_with(ours, "https://host/wiki.git", Access(ca_file=tmp_path / "missing"))


def over_ssh(ours: Repository, remote: RemoteWorld, root: Path, patch: pytest.MonkeyPatch) -> Exchange:
    """An exchange through an `ssh` that writes down what it is told, and runs the command at home."""
    programs = root / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{root}/told"\nenv >"{root}/environment"\n'
        'while [ "$1" != "git@far" ]; do shift; done\nshift\neval "$*"\n'
    )
    (programs / "ssh").chmod(0o755)
    patch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    key = root / "my key"
    key.write_text("secret")
    key.chmod(stat.S_IRUSR)
    return exchange_with(ours, f"git@far:{remote.bare}", Access(ssh_key=key))


async def test_by_ssh_with_the_key_of_the_settings_and_nothing_else(
    ours: Repository, remote: RemoteWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    exchange = over_ssh(ours, remote, tmp_path, monkeypatch)
    await exchange.begin()
    await exchange.push(await head(ours))
    assert (await exchange.fetch(await ours.head())).relation == "same"
    exchange.end()
    told = (tmp_path / "told").read_text().splitlines()
    assert told[told.index("-i") + 1] == str(tmp_path / "my key")
    assert told[told.index("-F") + 1] == "none"
    for option in ("BatchMode=yes", "IdentityAgent=none", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes"):
        assert option in told
    assert "SSH_AUTH_SOCK" not in (tmp_path / "environment").read_text()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
async def test_by_https_with_the_token_and_no_redirect(ours: Repository, remote: RemoteWorld, tmp_path: Path) -> None:
    run_git(remote.bare, "config", "http.receivepack", "true")
    with git_server(remote.bare.parent, token="t0ken", folder=tmp_path) as server:

        async def meets(url: str, access: Access) -> str:
            """How they stand, or all that is said of why that cannot be told."""
            exchange = exchange_with(ours, url, access)
            await exchange.begin()
            try:
                await exchange.push(await head(ours))
                return (await exchange.fetch(await ours.head())).relation
            except RemoteRefused as error:
                return f"{error.words.en} {error.detail}"
            finally:
                exchange.end()

        access = Access(token="t0ken", ca_file=server.certificate)
        assert await meets(server.url("remote.git", "me"), access) == "same"
        assert remote.head() == await ours.head()
        assert {said for _, said in server.seen} == {"me:t0ken"}
        assert "certificate" in await meets(server.url("remote.git"), Access(token="t0ken"))
        assert "TOKEN" in await meets(server.url("remote.git"), Access(token="wrong", ca_file=server.certificate))
        assert "TOKEN" in await meets(server.url("remote.git", "me"), Access(ca_file=server.certificate))
        assert "redirect" in await meets(server.url("moved/remote.git"), access)
        said = await meets(server.url("none.git"), access)
        assert "--bare" in said
        assert "t0ken" not in said


class TestJoining:
    """What was delivered becomes a part of the history."""

    async def test_going_on_and_joining_two_lines(
        self, ours: Repository, remote: RemoteWorld, exchange: Exchange
    ) -> None:
        first = await head(ours)
        await exchange.push(first)
        remote.take()
        theirs = remote.commit({"b.md": "b\n", "picture.png": "png"})
        await exchange.fetch(first)
        await exchange.deliver(theirs, first)
        beside = {"picture.png": (await ours.changes(first, theirs))["picture.png"]}
        assert await commit(ours, {"b.md": b"b\n"}, Joined(theirs, True, beside)) == theirs
        assert await ours.head() == theirs
        assert run_git(ours.folder, "status", "--porcelain") == ""
        ours_too = await commit(ours, {"a.md": b"two\n"})
        more = remote.commit({"b.md": "c\n", "picture.png": None, "other.bin": "x"})
        await exchange.fetch(ours_too)
        await exchange.deliver(more, ours_too)
        changes = await ours.changes(theirs, more)
        beside = {path: changes[path] for path in ("picture.png", "other.bin")}
        joined = await commit(ours, {"b.md": b"c\n"}, Joined(more, False, beside))
        assert run_git(ours.folder, "rev-list", "--parents", "-1", joined).split() == [joined, ours_too, more]
        assert run_git(ours.folder, "ls-tree", "-r", "--name-only", joined).split() == ["a.md", "b.md", "other.bin"]
        assert run_git(ours.folder, "status", "--porcelain") == ""
        assert run_git(ours.folder, "fsck", "--strict") == ""
        await exchange.push(joined)

    async def test_the_branch_never_leaves_a_commit_behind(
        self, ours: Repository, remote: RemoteWorld, exchange: Exchange
    ) -> None:
        first = await head(ours)
        await exchange.push(first)
        remote.take()
        theirs = remote.commit({"b.md": "b\n"})
        await exchange.fetch(first)
        await exchange.deliver(theirs, first)
        mine = await commit(ours, {"c.md": b"c\n"})
        with pytest.raises(Exception, match="moved"):
            await commit(ours, {"b.md": b"b\n"}, Joined(theirs, True))
        assert await ours.head() == mine
