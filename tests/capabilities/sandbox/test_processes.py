"""Processes of the sandbox: when they start, how many there are, and that none is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from qingtuan.capabilities.sandbox import deno, engine
from qingtuan.capabilities.sandbox.base import Fault, Job, Limits
from qingtuan.capabilities.sandbox.deno import AT_ONCE, Deno
from qingtuan.capabilities.sandbox.engine import Engine, find_program
from qingtuan.capabilities.sandbox.keeper import Keeper, Process
from qingtuan.capabilities.sandbox.resident import resident
from qingtuan.errors import StorageFailed
from tests.fakes.waiting import until

ONE = Job("export default () => 1;", {})
PROC = Path("/proc")
on_linux = pytest.mark.skipif(not PROC.is_dir(), reason="processes are counted in /proc")


@pytest.fixture
def program() -> Path:
    found = find_program()
    if found is None:
        pytest.skip("the engine of the sandbox is not installed (the extra `sandbox`)")
    return found


@pytest.fixture
async def keeper(program: Path, tmp_path: Path) -> AsyncIterator[Keeper]:
    made = Keeper(Engine(program), tmp_path, idle=0.2)
    yield made
    await asyncio.to_thread(made.close)


def with_environment(value: str) -> Iterator[int]:
    """Processes in whose environment this text stands."""
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            try:
                if value.encode() in (folder / "environ").read_bytes():
                    yield int(folder.name)
            except OSError:
                continue


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def end(keeper: Keeper, process: Process) -> Future[int]:
    process.close()
    return keeper.end(process)


def dead() -> int:
    """The number of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    return gone.pid


def opened(pid: int) -> set[str]:
    return {str(handle.readlink()) for handle in (PROC / str(pid) / "fd").iterdir()}


async def test_nothing_is_started_before_its_first_use(tmp_path: Path) -> None:
    sandbox = Deno(tmp_path / "cache")
    await sandbox.close()
    assert names_in(tmp_path) == set()


async def test_two_are_kept_warm_and_let_go_when_nobody_calls(keeper: Keeper, tmp_path: Path) -> None:
    process = await keeper.take()
    await until(lambda: keeper.running == 3)
    end(keeper, process)
    await until(lambda: keeper.running == 0)
    assert names_in(tmp_path) == set()


async def test_each_call_has_a_process_of_its_own(keeper: Keeper) -> None:
    taken = [await keeper.take() for _ in range(6)]
    pids = {process.popen.pid for process in taken}
    assert len(pids) == 6
    for process in taken:
        await asyncio.wrap_future(end(keeper, process))
        assert process.popen.returncode is not None
        assert not process.cache.exists()
    end(keeper, again := await keeper.take())
    assert again.popen.pid not in pids


async def test_a_warm_one_that_ended_is_not_given(keeper: Keeper) -> None:
    first = await keeper.take()
    await until(lambda: keeper.running == 3)
    for process in keeper._state.warm:
        process.kill()
    second = await keeper.take()
    assert second.popen.poll() is None
    for process in (first, second):
        end(keeper, process)


async def test_who_no_longer_waits_leaves_no_process(keeper: Keeper) -> None:
    waiting = [asyncio.create_task(keeper.take()) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await until(lambda: not keeper._state.busy)


async def test_what_a_killed_process_left_is_removed(program: Path, tmp_path: Path) -> None:
    for name in (f"{dead()}-1", f"{os.getpid()}-99", "else"):
        (tmp_path / name / "gen").mkdir(parents=True)
    keeper = Keeper(Engine(program), tmp_path)
    end(keeper, await keeper.take())
    await asyncio.to_thread(keeper.close)
    assert names_in(tmp_path) == {f"{os.getpid()}-99", "else"}


async def test_more_calls_than_four_wait(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0
    answered = deno._Call.answered
    crowded = asyncio.Event()

    async def counted(call: deno._Call, line: bytes) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == AT_ONCE:
            crowded.set()
        await crowded.wait()  # on a busy machine the first would be done before the fourth begins
        try:
            return await answered(call, line)
        finally:
            running -= 1

    monkeypatch.setattr(deno._Call, "answered", counted)
    sandbox = Deno(tmp_path)
    found = await asyncio.gather(*(sandbox.run(ONE) for _ in range(10)))
    await sandbox.close()
    assert [ran.value for ran in found] == [1] * 10
    assert most == AT_ONCE


async def test_without_an_engine_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "deno", None)
    sandbox = Deno(tmp_path)
    found = await sandbox.run(ONE)
    assert found.fault is not None
    assert found.fault.kind == "missing"
    assert "pip install 'qingtuan[sandbox]'" in found.fault.message
    assert [(wall.name, wall.stands) for wall in sandbox.walls()] == [("engine", False)]
    await sandbox.close()


async def test_an_engine_that_does_not_start_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in (tmp_path / "none", Path("/bin/false")):
        monkeypatch.setattr(deno, "find_program", lambda program=program: program)
        sandbox = Deno(tmp_path)
        found = await sandbox.run(ONE)
        assert found.fault is not None
        assert found.fault.kind == "unavailable"
        await sandbox.close()


async def test_after_closing_nothing_runs(program: Path, tmp_path: Path) -> None:
    sandbox = Deno(tmp_path / "cache")
    assert (await sandbox.run(ONE)).value == 1
    await sandbox.close()
    assert (await sandbox.run(ONE)).fault == Fault("unavailable", "The sandbox is closed.")
    assert names_in(tmp_path / "cache") == set()


async def test_closing_ends_calls_that_run(program: Path, tmp_path: Path) -> None:
    sandbox = Deno(tmp_path)
    codes = ("export default () => { for (;;); }", "export default () => new Promise(() => {});")
    calls = [asyncio.create_task(sandbox.run(Job(code, {}))) for code in codes]
    await until(lambda: sandbox._keeper is not None and all(one.deadline for one in sandbox._keeper._state.busy))
    await sandbox.close()
    for call in calls:
        assert (await call).fault is not None
    assert sandbox._keeper is None


async def test_a_closed_keeper_takes_what_is_ended_late(keeper: Keeper) -> None:
    process = await keeper.take()
    await asyncio.to_thread(keeper.close)
    assert await asyncio.wrap_future(end(keeper, process)) < 0
    with pytest.raises(StorageFailed):
        await keeper.take()
    assert keeper.running == 0


@on_linux
async def test_a_kill_of_ours_leaves_no_orphan(program: Path, tmp_path: Path) -> None:
    """Neither one that is too busy to notice, nor one that will not."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.killed_sandbox", str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"running\n"
    assert len(list(with_environment(f"DENO_DIR={tmp_path}"))) >= 4
    process.kill()
    await process.wait()
    await until(lambda: not list(with_environment(f"DENO_DIR={tmp_path}")))


@on_linux
async def test_one_that_waits_ends_when_nobody_speaks_to_it(keeper: Keeper) -> None:
    process = await keeper.take()
    process.close()
    await until(lambda: process.popen.poll() is not None)
    keeper.end(process)


@on_linux
def test_what_is_held_is_counted_with_what_it_started() -> None:
    code = "import subprocess,sys; subprocess.run([sys.executable,'-c','a=bytearray(50_000_000);input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        held = 0
        while held < 60_000_000 and process.poll() is None:
            held = resident(process.pid)
        process.communicate(b"\n")
    assert held >= 60_000_000
    assert resident(process.pid) == 0


@on_linux
async def test_a_worker_inherits_nothing(keeper: Keeper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = os.open(__file__, os.O_RDONLY)
    os.set_inheritable(secret, True)
    monkeypatch.setenv("SECRET", "sk-1")
    process = await keeper.take()
    folder = PROC / str(process.popen.pid)
    await until(lambda: (folder / "comm").read_text().startswith("deno"))
    lines = (folder / "environ").read_bytes().decode().split("\0")
    found = {name: value for name, _, value in (line.partition("=") for line in lines if line)}
    ours = {"DENO_DIR", "HOME", "XDG_CACHE_HOME", "DENO_WEBGPU_BACKEND", "NO_COLOR", "DENO_NO_UPDATE_CHECK"}
    assert found.keys() - {"PWD"} == ours
    assert found["HOME"] == found["XDG_CACHE_HOME"] == found["DENO_DIR"]
    assert __file__ not in opened(process.popen.pid)
    assert (folder / "cwd").readlink() == Path("/")
    limits = (folder / "limits").read_text()
    assert limits.split("Max core file size", 1)[1].split()[:2] == ["0", "0"]
    assert os.getsid(process.popen.pid) == process.popen.pid
    os.close(secret)
    end(keeper, process)


def test_only_the_engine_of_the_package_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that somebody put into the path may be anything."""
    fake = tmp_path / "deno"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "deno", None)
    assert find_program() is None


def test_a_process_that_is_gone_is_killed_without_harm(program: Path, tmp_path: Path) -> None:
    popen = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process = Process(popen, tmp_path)
    popen.wait()
    process.kill()
    assert engine.GUEST.is_file()
    assert Limits().seconds <= engine.LONGEST
