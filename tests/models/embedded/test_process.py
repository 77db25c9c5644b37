"""The engine's process, with a real child and a made-up engine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from qingtuan.clock import SystemClock
from qingtuan.models.embedded.process import (
    Done,
    EngineDied,
    EngineProcess,
    EngineRefused,
    Limits,
    engine_command,
    threads_for,
)

CHILD = Path(__file__).with_name("engine_child.py")


def process(way: str = "ready", **limits: float) -> EngineProcess:
    return EngineProcess((sys.executable, str(CHILD), way), SystemClock(), Limits(**limits))


@pytest.fixture
async def engine() -> AsyncIterator[EngineProcess]:
    engine = process()
    yield engine
    await engine.stop()


def body(text: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}]}).encode()


async def answer(engine: EngineProcess, text: str) -> list[str | Done]:
    return [piece async for piece in engine.chat(body(text))]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 (the process of another tells no event)
        await asyncio.sleep(0.01)


async def test_an_answer_comes_in_pieces_and_ends_with_its_counts(engine: EngineProcess) -> None:
    assert await answer(engine, "say 你 好") == ["你", "好", Done("stop", prompt=10, cached=7, completion=2)]


async def test_it_starts_at_first_use_and_stays(engine: EngineProcess) -> None:
    assert not engine.running
    await answer(engine, "say a")
    pid = engine.pid
    assert engine.running
    await answer(engine, "say b")
    assert engine.pid == pid


async def test_requests_wait_for_each_other(engine: EngineProcess) -> None:
    one, two = await asyncio.gather(answer(engine, "say a b"), answer(engine, "say c"))
    assert (one[:-1], two[:-1]) == (["a", "b"], ["c"])


async def test_stopping_ends_it(engine: EngineProcess) -> None:
    await engine.start()
    pid = engine.pid
    assert pid is not None
    await engine.stop()
    assert gone(pid)
    assert engine.pid is None


async def test_it_stops_when_idle() -> None:
    engine = process(idle=0.05)
    await answer(engine, "say a")
    pid = engine.pid
    assert pid is not None
    await until(lambda: gone(pid))
    assert not engine.running
    assert (await answer(engine, "say again"))[0] == "again"
    await engine.stop()


async def test_closing_the_answer_stops_the_engine(engine: EngineProcess) -> None:
    async with aclosing(engine.chat(body("stream"))) as pieces:
        assert await anext(pieces) == "."
    pid = engine.pid
    assert (await answer(engine, "say next"))[:-1] == ["next"]
    assert engine.pid == pid


async def test_cancelling_the_task_stops_the_engine(engine: EngineProcess) -> None:
    task = asyncio.create_task(answer(engine, "stream"))
    await until(lambda: engine.running)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await answer(engine, "say next"))[:-1] == ["next"]


async def test_a_crash_is_told_and_the_next_request_gets_a_new_process(engine: EngineProcess, tmp_path: Path) -> None:
    with pytest.raises(EngineDied, match=r"ended with 3: out of memory"):
        await answer(engine, f"crash once {tmp_path / 'marker'}")
    assert not engine.running
    assert (await answer(engine, f"crash once {tmp_path / 'marker'}"))[0] == "whole"


async def test_a_killed_process_is_noticed(engine: EngineProcess) -> None:
    await engine.start()
    pid = engine.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not engine.running)
    assert (await answer(engine, "say back"))[0] == "back"


async def test_silence_has_a_limit() -> None:
    engine = process(first=0.05)
    await engine.start()
    pid = engine.pid
    assert pid is not None
    with pytest.raises(EngineDied, match="silent"):
        await answer(engine, "hang")
    assert gone(pid)
    await engine.stop()


async def test_loading_has_a_limit() -> None:
    engine = process("never", load=0.05)
    with pytest.raises(EngineDied, match="silent"):
        await engine.start()
    assert not engine.running


async def test_an_engine_that_cannot_be_loaded_says_why() -> None:
    engine = process("missing")
    with pytest.raises(EngineRefused, match="ImportError: no engine here"):
        await engine.start()
    assert not engine.running


async def test_a_command_that_does_not_exist() -> None:
    engine = EngineProcess(("/nonexistent/engine",), SystemClock())
    with pytest.raises(EngineDied, match="cannot start"):
        await engine.start()


@pytest.mark.parametrize(("text", "why"), [("refuse", "no such grammar"), ("raise", "not a request")])
async def test_a_refusal_leaves_the_process_up(engine: EngineProcess, text: str, why: str) -> None:
    with pytest.raises(EngineRefused, match=why):
        await answer(engine, text)
    assert (await answer(engine, "say still here"))[:-1] == ["still", "here"]


async def test_what_the_engine_prints_is_no_frame(engine: EngineProcess) -> None:
    assert (await answer(engine, "noise"))[0] == "quiet"


async def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    parent = (
        "import asyncio, sys\n"
        "from qingtuan.clock import SystemClock\n"
        "from qingtuan.models.embedded.process import EngineProcess\n"
        "async def main():\n"
        f"    engine = EngineProcess((sys.executable, {str(CHILD)!r}, 'ready'), SystemClock())\n"
        "    await engine.start()\n"
        "    print(engine.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=asyncio.subprocess.PIPE)
    assert started.stdout is not None
    pid = int(await started.stdout.readline())
    started.kill()
    await started.wait()
    await until(lambda: gone(pid))


def test_threads_give_way_on_a_busy_machine() -> None:
    assert [threads_for(2, 0.3), threads_for(2, 2.5), threads_for(8, 9), threads_for(1, 5)] == [2, 1, 4, 1]


def test_the_command_names_the_weights() -> None:
    command = engine_command(Path("/models/w.gguf"), threads=3)
    assert command[:4] == (sys.executable, "-P", "-m", "qingtuan.models.embedded.child")
    assert "/models/w.gguf" in command
    assert command[command.index("--threads") + 1] == "3"
