"""A copy of the wiki elsewhere, from the command line: two homes and a bare repository."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.remote_world import RemoteWorld, run_git


@pytest.fixture
def remote(tmp_path: Path) -> RemoteWorld:
    return RemoteWorld(tmp_path / "there")


@pytest.fixture
def one(qingtuan: CommandLine, remote: RemoteWorld) -> CommandLine:
    return qingtuan.with_(QINGTUAN_WIKI__REMOTE=str(remote.bare))


@pytest.fixture
def two(one: CommandLine) -> CommandLine:
    """Another home, which trusts the remote."""
    home = one.home.with_name("two")
    return replace(one.with_(QINGTUAN_HOME=str(home), QINGTUAN_WIKI__TRUSTED="true"), home=home)


def test_from_an_empty_remote_to_both_the_same(one: CommandLine, two: CommandLine) -> None:
    assert "远程没有新的" in one("wiki", "pull").out
    one("memory", "add", "住在二楼")
    assert "还是空的" in one("wiki", "remote").out
    assert "推上去了" in one("wiki", "push").out
    assert "没有要推的" in one("wiki", "push").out
    assert "  users/owner/profile.md" in two("wiki", "pull").out
    assert "#1 住在二楼" in two("memory", "list").out
    two("memory", "add", "怕吵")
    assert "推上去了：1 个提交" in two("wiki", "push").out
    one("memory", "add", "不吃香菜")
    refused = one("wiki", "push")
    assert (refused.code, refused.out) == (1, "")
    assert "先 qingtuan wiki pull" in refused.err
    assert "这里多 1 个提交，远程多 1 个" in one("wiki", "remote").out
    assert "先不算数" in one("wiki", "pull").out
    assert "怕吵" not in one("memory", "list").out
    assert "1 件等你点头" in one("wiki", "remote").out
    assert "+ users/owner/profile.md：怕吵" in one("review", "list").out
    assert one("review", "accept", "1").code == 0
    assert "怕吵" in one("memory", "list").out
    assert "推上去了：2 个提交" in one("wiki", "push").out
    two("wiki", "pull")
    assert "两边一样" in two("wiki", "remote").out
    assert two("memory", "list").out == one("memory", "list").out
    assert "手改" not in two("wiki", "history").out


def test_a_running_instance_does_it(two: CommandLine, remote: RemoteWorld) -> None:
    with two.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        assert "在运行" in serving.stderr.readline()
        two("memory", "add", "住在二楼")
        assert two("wiki", "push").code == 0
        remote.take()
        remote.commit({"users/owner/notes/a.md": "# a\n", "picture.png": "png"})
        pulled = two("wiki", "pull")
        assert "users/owner/notes/a.md" in pulled.out
        assert "1 个不是页面的文件" in pulled.out
        assert not (two.home / "wiki" / "picture.png").exists()
        run_git(remote.clone, "checkout", "--quiet", "--orphan", "other")
        remote.commit({"x.md": "x\n"}, push=False)
        remote.push("--force")
        refused = two("wiki", "pull")
        assert (refused.code, refused.out) == (1, "")
        assert "远程的历史被改写过" in refused.err
        serving.terminate()
        assert serving.wait(30) == 0


def test_what_is_wrong_is_said_in_a_sentence(one: CommandLine, qingtuan: CommandLine, tmp_path: Path) -> None:
    assert "[wiki]" in qingtuan("wiki", "remote").err
    for address, said in (
        ("http://host/x.git", "https://"),
        ("https://me:secret@host/x.git", "QINGTUAN_WIKI__TOKEN"),
        ("git@host:x.git", "ssh_key"),
        ("--upload-pack=x", "wiki.remote"),
        (str(tmp_path / "none.git"), "git init --bare"),
    ):
        ran = one.with_(QINGTUAN_WIKI__REMOTE=address)("wiki", "remote")
        assert (ran.code, ran.out) == (1, "")
        assert said in ran.err
        assert "secret" not in ran.err
    assert "secret" not in one.with_(QINGTUAN_WIKI__REMOTE="https://me:secret@host/x.git")("settings").out


def test_the_doctor_looks_there_and_changes_nothing(one: CommandLine, qingtuan: CommandLine) -> None:
    def found(line: CommandLine) -> dict[str, str]:
        return next(check for check in line("doctor", "--json").json if check["name"] == "remote")

    one("memory", "add", "住在二楼")
    assert found(qingtuan)["state"] == "ok"
    assert found(one)["state"] == "note"
    one("wiki", "push")
    assert found(one)["state"] == "ok"
    broken = found(one.with_(QINGTUAN_WIKI__REMOTE="/nowhere/x.git"))
    assert broken["state"] == "wrong"
    assert "git init --bare" in broken["found"]
    assert not (one.home / "wiki" / ".git" / "incoming").exists()


def test_what_was_erased_here_does_not_come_back_from_there(one: CommandLine, remote: RemoteWorld) -> None:
    one("memory", "add", "银行卡的密码写在本子上")
    one("memory", "add", "住在二楼")
    assert one("wiki", "push").code == 0
    assert one("memory", "purge", "1", "--yes").code == 0
    for action in ("push", "pull"):
        refused = one("wiki", action)
        assert (refused.code, refused.out) == (1, "")
        assert "历史改写过" in refused.err
    assert "本子" not in one("memory", "list").out
    # As it says: an empty remote takes what is left.
    run_git(remote.bare, "update-ref", "-d", "refs/heads/main")
    assert one("wiki", "push").code == 0
    assert "本子" not in run_git(remote.bare, "log", "-p", "main")
    assert "住在二楼" in (remote.show("users/owner/profile.md") or "")
