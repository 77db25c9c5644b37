"""`qingtuan backup` as a person uses it: with nothing running, beside `serve`, and when something is wrong."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from qingtuan.backups.archive import read_manifest
from tests.cli.conftest import CommandLine


@pytest.fixture
def served(qingtuan: CommandLine) -> Iterator[subprocess.Popen[str]]:
    """An instance that stays."""
    process = qingtuan.start("serve", stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert "在运行" in process.stderr.readline()
    yield process
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    process.stderr.close()


def test_a_backup_with_nothing_running(qingtuan: CommandLine, tmp_path: Path) -> None:
    assert qingtuan("backup").code == 1
    qingtuan("memory", "add", "不吃香菜")
    ran = qingtuan("backup")
    path = Path(ran.out.strip())
    assert (ran.code, path.parent) == (0, qingtuan.home / "backups")
    assert "1 页记忆" in ran.err
    assert ".env 的密钥" in ran.err
    assert read_manifest(path).pages == 1
    named = qingtuan("backup", str(tmp_path / "a.tar.gz"), "--without-secrets", "--no-media")
    assert (named.code, named.out.strip()) == (0, str(tmp_path / "a.tar.gz"))
    assert "mcp.json" in named.err
    manifest = read_manifest(tmp_path / "a.tar.gz")
    assert (manifest.with_secrets, manifest.with_media) == (False, False)
    assert "删掉了更早的 1 份" in qingtuan("backup", "--keep", "1").err
    assert len(list((qingtuan.home / "backups").glob("*.tar.gz"))) == 1


def test_where_it_cannot_go(qingtuan: CommandLine, tmp_path: Path) -> None:
    qingtuan("memory", "add", "不吃香菜")
    (tmp_path / "there").write_text("mine", "utf-8")
    for wrong in (tmp_path / "there", tmp_path / "no" / "folder", qingtuan.home, qingtuan.home / "wiki" / "x.tar.gz"):
        ran = qingtuan("backup", str(wrong))
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.strip()
    assert qingtuan("backup", "--keep", "0").code == 2
    assert (tmp_path / "there").read_text() == "mine"
    assert list((qingtuan.home / "backups").iterdir()) == []


def test_settings_that_cannot_be_read_are_no_reason_to_have_none(qingtuan: CommandLine) -> None:
    qingtuan("memory", "add", "不吃香菜")
    (qingtuan.home / "qingtuan.toml").write_text("nonsense = [", "utf-8")
    assert qingtuan("memory", "list").code == 1
    assert qingtuan("backup").code == 0


def test_beside_a_running_instance(qingtuan: CommandLine, served: subprocess.Popen[str], tmp_path: Path) -> None:
    assert qingtuan("ask", "记住我不吃香菜").code == 0
    ran = qingtuan("backup", str(tmp_path))
    assert ran.code == 0, ran.err
    manifest = read_manifest(Path(ran.out.strip()))
    assert manifest.pages == 1
    # What stands in the backup is committed there, and the events say so.
    unpacked = tmp_path / "out"
    unpacked.mkdir()
    subprocess.run(["tar", "xzf", ran.out.strip(), "-C", unpacked], check=True)
    wiki = unpacked / "qingtuan-backup" / "data" / "wiki"
    status = subprocess.run(["git", "-C", wiki, "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert status.stdout == ""
    assert qingtuan("ask", "你好").code == 0
    assert served.poll() is None


def test_who_gives_up_leaves_nothing(qingtuan: CommandLine, served: subprocess.Popen[str]) -> None:
    (qingtuan.home / "media" / "large").write_bytes(bytes(range(256)) * 400_000)
    process = qingtuan.start("backup", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    backups = qingtuan.home / "backups"
    for _ in range(300):
        if list(backups.glob(".qingtuan-*")):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    for _ in range(300):
        if not list(backups.iterdir()):
            break
        time.sleep(0.05)
    assert list(backups.iterdir()) == []
    assert qingtuan("ask", "你好").code == 0


def test_the_doctor_tells_of_the_last_one(qingtuan: CommandLine, tmp_path: Path) -> None:
    def backup() -> tuple[str, str]:
        found = next(one for one in qingtuan("doctor", "--json").json if one["name"] == "backup")
        return found["state"], found["found"]

    assert backup()[0] == "untested"
    qingtuan("memory", "add", "不吃香菜")
    assert backup() == ("note", "还没有备份")
    path = Path(qingtuan("backup", str(tmp_path)).out.strip())
    assert (backup()[0], "和核对时一样" in backup()[1]) == ("ok", True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"x" + whole[-8:])
    assert (backup()[0], "不一样了" in backup()[1]) == ("wrong", True)
    path.unlink()
    assert (backup()[0], "不在" in backup()[1]) == ("note", True)


def test_a_damaged_database_is_mended_from_the_last_one(qingtuan: CommandLine) -> None:
    qingtuan("memory", "add", "不吃香菜")
    path = qingtuan("backup").out.strip()
    (qingtuan.home / "state.sqlite").write_bytes(b"no database, but long enough to be looked at " * 100)
    found = next(one for one in qingtuan("doctor", "--json").json if one["name"] == "database")
    assert (found["state"], found["mend"]) == ("wrong", f"qingtuan restore {path}")
    assert qingtuan("restore", path, "--yes").code == 0
    assert "香菜" in qingtuan("memory", "list").out
