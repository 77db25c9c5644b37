"""Order within a session, independence between sessions, and stopping one turn without its neighbours."""

from __future__ import annotations

import asyncio
import logging

import pytest

from qingtuan.errors import Stopped
from qingtuan.turn.queue import Job, SessionQueues


def job(log: list[str], name: str, gate: asyncio.Event | None = None, person: str = "") -> Job:
    async def run() -> None:
        log.append(f"{name} begins")
        if gate is not None:
            await gate.wait()
        log.append(f"{name} ends")

    return Job(run, person, lambda: log.append(f"{name} dropped"))


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
    queues.put("s", Job(broken))
    queues.put("s", job(log, "b"))
    with caplog.at_level(logging.ERROR, logger="asyncio"):
        await queues.idle()
    assert log == ["b begins", "b ends"]
    assert "ours" in caplog.text


async def test_a_job_that_is_held_back_holds_nobody_up() -> None:
    log: list[str] = []
    over = asyncio.Event()
    queues = SessionQueues()

    async def until() -> None:
        await over.wait()

    queues.hold("s", job(log, "guest"), until)
    queues.put("s", job(log, "owner"))
    assert queues.busy("s")
    assert queues.length("s") == 2
    await asyncio.sleep(0.01)
    assert log == ["owner begins", "owner ends"]
    assert queues.busy("s")
    over.set()
    await queues.idle("s")
    assert log[2:] == ["guest begins", "guest ends"]


async def test_stop_drops_what_is_held_back_of_its_person_once() -> None:
    log: list[str] = []
    queues = SessionQueues()

    async def for_ever() -> None:
        await asyncio.Event().wait()

    queues.hold("s", job(log, "one", person="qq-1"), for_ever)
    queues.hold("s", job(log, "two", person="qq-1"), for_ever)
    assert not queues.stop("s", "qq-2")
    assert queues.stop("s", "qq-1")
    assert queues.stop("s", "qq-1")
    assert not queues.stop("s", "qq-1")
    await queues.idle()
    assert log == ["one dropped", "two dropped"]


async def test_only_whose_turn_it_is_or_anybody_named_nobody_stops_it() -> None:
    log: list[str] = []
    queues = SessionQueues()
    queues.put("s", job(log, "a", asyncio.Event(), "qq-1"))
    await asyncio.sleep(0.01)
    assert not queues.stop("s", "qq-2")
    assert not queues.stopped("s")
    assert queues.stop("s", "qq-1")
    assert not queues.stop("s", "qq-1")
    await queues.idle()
    assert log == ["a begins"]


async def test_a_settled_job_can_no_longer_be_stopped_but_closed() -> None:
    queues = SessionQueues()
    log: list[str] = []

    async def run() -> None:
        queues.settle("s")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("closed")
            raise

    queues.put("s", Job(run))
    await asyncio.sleep(0.01)
    assert not queues.stop("s")
    await queues.close()
    assert log == ["closed"]


async def test_after_the_close_nothing_begins() -> None:
    log: list[str] = []
    queues = SessionQueues()
    await queues.close()
    queues.put("s", job(log, "a"))
    queues.hold("s", job(log, "b"), asyncio.Event().wait)  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    assert log == []


async def test_time_limits_in_a_job_survive_the_stop_of_the_one_before() -> None:
    queues = SessionQueues()
    ended: list[str] = []

    async def limited() -> None:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append("in time")

    queues.put("s", job([], "a", asyncio.Event()))
    queues.put("s", Job(limited))
    await asyncio.sleep(0.01)
    queues.stop("s")
    await queues.idle()
    assert ended == ["in time"]


async def test_work_that_somebody_waits_for_is_done_between_turns_and_gives_its_result() -> None:
    log: list[str] = []
    gate = asyncio.Event()
    queues = SessionQueues()

    async def work() -> int:
        log.append("work")
        return 7

    async def broken() -> int:
        raise ValueError("no")

    queues.put("s", job(log, "a", gate))
    waiting = asyncio.create_task(queues.in_order("s", work))
    await asyncio.sleep(0)
    queues.put("s", job(log, "b"))
    gate.set()
    assert await waiting == 7
    with pytest.raises(ValueError, match="no"):
        await queues.in_order("s", broken)
    await queues.idle()
    assert log == ["a begins", "a ends", "work", "b begins", "b ends"]


async def test_work_that_somebody_waits_for_can_be_stopped_and_ends_with_the_process() -> None:
    queues = SessionQueues()
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    waiting = asyncio.create_task(queues.in_order("s", work, "owner"))
    await begun.wait()
    assert not queues.stop("s", "somebody else")
    assert queues.stop("s", "owner")
    with pytest.raises(Stopped):
        await waiting
    running = asyncio.create_task(queues.in_order("s", work))
    queued = asyncio.create_task(queues.in_order("s", work))
    begun.clear()
    await begun.wait()
    await queues.close()
    late = asyncio.create_task(queues.in_order("s", work))
    await asyncio.wait([running, queued, late])
    assert [task.cancelled() for task in (running, queued, late)] == [True, True, True]


async def test_dismissing_ends_all_that_is_somebodys_and_nothing_else() -> None:
    log: list[str] = []
    queues = SessionQueues()
    never, gate = asyncio.Event(), asyncio.Event()
    queues.put("a", job(log, "theirs", never, "li"))
    queues.put("a", job(log, "behind", person="li"))
    queues.put("a", job(log, "another's", person="wang"))
    queues.put("b", job(log, "running", gate, "wang"))
    queues.put("b", job(log, "waits", person="li"))
    held = job(log, "held", person="li")
    queues.hold("c", held, _for_ever)
    asked = asyncio.ensure_future(queues.in_order("b", _for_ever, "li"))
    await asyncio.sleep(0.01)
    assert queues.serves({"li", "nobody"})
    await queues.dismiss({"li"})
    assert not queues.serves({"li"})
    with pytest.raises(Stopped):
        await asked
    gate.set()
    await queues.idle()
    dropped = {line for line in log if line.endswith("dropped")}
    assert dropped == {"behind dropped", "waits dropped", "held dropped"}
    assert "theirs ends" not in log
    assert {"another's ends", "running ends"} <= set(log)
    assert queues.serves(()) is False


async def test_dismissing_waits_for_a_turn_that_can_be_stopped_no_more() -> None:
    """Its reply is being written down: stopping it now would stop somebody else's that is held back."""
    log: list[str] = []
    queues = SessionQueues()
    gate = asyncio.Event()

    async def run() -> None:
        queues.settle("s")
        await gate.wait()
        log.append("written down")

    queues.put("s", Job(run, "li"))
    queues.hold("s", job(log, "held", person="wang"), _for_ever)
    await asyncio.sleep(0.01)
    dismissing = asyncio.ensure_future(queues.dismiss({"li"}))
    await asyncio.sleep(0.01)
    assert not dismissing.done()
    gate.set()
    await dismissing
    assert log == ["written down"]
    await queues.close()


async def _for_ever() -> None:
    await asyncio.Event().wait()
