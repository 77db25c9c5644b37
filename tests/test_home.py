"""The data folder: making it, what is refused, who owns it, and the address of its socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import HomeInUse, SettingsWrong, StorageFailed
from qingtuan.home import Home, HomeLock
from qingtuan.settings import load


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Home.resolve({"QINGTUAN_HOME": str(tmp_path)}).path == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Home.resolve({}).path == tmp_path / ".qingtuan"
    assert Home.resolve({"QINGTUAN_HOME": " ~/elsewhere "}).path == tmp_path / "elsewhere"
    monkeypatch.chdir(tmp_path)
    assert Home.resolve({"QINGTUAN_HOME": "here"}).path == tmp_path / "here"


def test_a_new_folder_is_whole_and_closed_to_others(tmp_path: Path) -> None:
    home = Home(tmp_path / "deep" / "home")
    old = os.umask(0)
    try:
        home.prepare()
    finally:
        os.umask(old)
    assert mode(home.path) == 0o700
    for name in (
        "wiki", "capabilities", "personas/private", "personas/public", "prompts/commands",
        "index", "media", "logs", "backups",
    ):  # fmt: skip
        assert (home.path / name).is_dir()
    assert mode(home.secrets_file) == 0o600
    assert json.loads(home.mcp_file.read_text("utf-8")) == {"mcpServers": {}}
    assert tomllib.loads(home.people_file.read_text("utf-8")) == {}
    assert load(home.path, {}).memory.batch == 80


def test_an_existing_folder_is_completed_and_nothing_of_it_rewritten(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.prepare(people="# first\n")
    assert home.people_file.read_text("utf-8") == "# first\n"
    mine = {home.settings_file: "[server]\nport = 9\n", home.people_file: "# mine\n", home.secrets_file: "A=1\n"}
    for path, text in mine.items():
        path.write_text(text, "utf-8")
    home.secrets_file.chmod(0o644)
    home.path.chmod(0o755)
    home.mcp_file.unlink()
    home.index.rmdir()
    home.prepare()
    assert {path: path.read_text("utf-8") for path in mine} == mine
    assert home.mcp_file.is_file()
    assert home.index.is_dir()
    assert (mode(home.path), mode(home.secrets_file)) == (0o700, 0o600)


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="QINGTUAN_HOME"):
        Home(tmp_path / "file").prepare()
    with pytest.raises(StorageFailed, match="cannot be used"):
        Home(tmp_path / "file" / "below").prepare()
    with pytest.raises(StorageFailed, match="cannot be used"):
        Home(Path("/proc/qingtuan")).prepare()
    monkeypatch.setenv("HOME", str(tmp_path))
    for wide in (Path("/"), tmp_path):
        with pytest.raises(SettingsWrong, match="cannot be"):
            Home(wide).prepare()


async def test_one_process_owns_the_folder(home: Home, clock: ManualClock) -> None:
    first, second = HomeLock(home), HomeLock(home)
    await first.acquire("qingtuan serve", clock)
    begun = clock.now()
    with pytest.raises(HomeInUse, match=rf"process {os.getpid()} \(qingtuan serve\)"):
        await second.acquire("qingtuan ask", clock)
    assert timedelta(seconds=10) <= clock.now() - begun < timedelta(seconds=10.2)
    first.release()
    first.release()
    await second.acquire("qingtuan ask", clock)
    assert not first.take("qingtuan serve")
    second.release()


async def test_a_lock_file_that_was_deleted_protects_nobody_twice(home: Home, clock: ManualClock) -> None:
    lock = HomeLock(home)
    assert lock.take("one")
    home.lock_file.unlink()
    other = HomeLock(home)
    assert other.take("two")
    lock.release()
    assert not HomeLock(home).take("three")
    other.release()


@pytest.fixture
def holder(home: Home) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder until it is killed."""
    code = (
        "import sys; from pathlib import Path; from qingtuan.home import Home, HomeLock;"
        "assert HomeLock(Home(Path(sys.argv[1]))).take('qingtuan chat'); print('mine', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(home.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        yield process
        process.kill()


async def test_a_killed_process_owns_nothing(home: Home, clock: ManualClock, holder: subprocess.Popen[str]) -> None:
    lock = HomeLock(home)
    with pytest.raises(HomeInUse) as caught:
        await lock.acquire("qingtuan ask", clock, wait=0.2)
    assert caught.value.say("zh") == f"数据文件夹 {home.path} 正被进程 {holder.pid}（qingtuan chat）使用。"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert lock.take("qingtuan ask")
    lock.release()


def test_a_lock_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed):
        HomeLock(Home(tmp_path)).take("x")


@pytest.mark.parametrize("name", ["h", "很深的文件夹" * 12])
def test_the_socket_can_be_reached_from_any_depth(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / name)
    home.prepare()
    home.socket.write_text("left by a dead process")
    address = home.socket_address(make=True)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(address))
        server.listen()
        assert stat.S_ISSOCK(home.socket.stat().st_mode)
        client.connect(str(home.socket_address()))
    again = home.socket_address(make=True)
    assert again == address
    assert not again.exists()
    home.socket.unlink(missing_ok=True)


def test_no_socket_in_a_place_that_others_can_write(tmp_path: Path) -> None:
    home = Home(tmp_path / ("x" * 100))
    home.prepare()
    folder = home.socket_address(make=True).parent
    before = mode(folder)
    folder.chmod(0o777)
    try:
        with pytest.raises(StorageFailed):
            home.socket_address()
    finally:
        folder.chmod(before)
