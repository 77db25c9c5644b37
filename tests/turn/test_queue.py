"""Order within a session, independence between sessions, and stopping one turn without its neighbours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from qingtuan.turn.queue import SessionQueues


def job(log: list[str], name: str, gate: asyncio.Event | None = None) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        log.append(f"{name} begins")
        if gate is not None:
            await gate.wait()
        log.append(f"{name} ends")

    return run


async def test_turns_of_one_session_run_one_after_the_other() -> None:
    log: list[str] = []
    gate = asyncio.Event()
    queues = SessionQueues()
    queues.put("s", job(log, "a", gate))
    queues.put("s", job(log, "b"))
    queues.put("other", job(log, "c"))
    await queues.idle("other")
    assert log == ["a begins", "c begins", "c ends"]
    assert queues.length("s") == 1
    queues.put("s", job(log, "yes"), first=True)
    gate.set()
    await queues.idle()
    assert log[3:] == ["a ends", "yes begins", "yes ends", "b begins", "b ends"]
    assert not queues.busy("s")


async def test_stop_ends_the_running_turn_and_the_next_one_goes_on() -> None:
    log: list[str] = []
    queues = SessionQueues()
    queues.put("s", job(log, "a", asyncio.Event()))
    queues.put("s", job(log, "b"))
    await asyncio.sleep(0.01)
    assert queues.stop("s")
    await queues.idle()
    assert log == ["a begins", "b begins", "b ends"]
    assert not queues.stop("s")


async def test_close_drops_what_waits_and_cancels_what_runs() -> None:
    log: list[str] = []
    queues = SessionQueues()
    queues.put("s", job(log, "a", asyncio.Event()))
    queues.put("s", job(log, "b"))
    await asyncio.sleep(0.01)
    await queues.close()
    assert log == ["a begins"]


async def test_an_error_of_a_job_is_not_swallowed(caplog: pytest.LogCaptureFixture) -> None:
    queues = SessionQueues()

    async def broken() -> None:
        raise ValueError("ours")

    log: list[str] = []
    queues.put("s", broken)
    queues.put("s", job(log, "b"))
    await queues.idle()
    await queues.idle()
    assert log == ["b begins", "b ends"]
