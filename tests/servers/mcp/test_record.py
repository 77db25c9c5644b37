"""What programs did is erased with what it was about, and what is open ends with a restore."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from qingtuan.app.forgetting import Departures
from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.keys import Grant, Writes
from qingtuan.identity.scopes import Reader, Role, Visibility
from qingtuan.ids import Ids
from qingtuan.servers.mcp.journal import Journal
from qingtuan.servers.mcp.program import LOCAL
from tests.servers.mcp.program import Programs, connected

SECRET = "雪球饼"


def told(programs: Programs) -> list[str]:
    """The kinds of events that tell of it."""
    record = programs.chat.app.kit.record.log.replay()
    return [str(event.kind) for event in record if SECRET in str(event.payload)]


@pytest.mark.parametrize("writes", [Writes.DIRECT, Writes.REVIEW])
async def test_what_is_purged_is_gone_from_what_programs_said(programs: Programs, writes: Writes) -> None:
    chat = programs.chat
    grant = Grant(Visibility.PRIVATE, writes)
    async with connected(programs.url, programs.key("editor", grant=grant)) as client:
        await client.call_tool("remember", {"content": f"我的猫叫{SECRET}"})
        if writes is Writes.REVIEW:
            await chat.say("/review accept 1")
        await client.call_tool("memory_search", {"query": f"我的猫叫{SECRET}"})
        await client.call_tool("notify_owner", {"text": f"我的猫叫{SECRET}，喂过了"})
    assert told(programs).count("program.called") == 3
    await chat.say("/memory purge 1 确认")
    assert told(programs) == []
    assert len(chat.events(Kind.PROGRAM_CALLED)) == 3  # that they called stays


async def test_a_person_who_is_forgotten_leaves_nothing_behind(programs: Programs) -> None:
    chat = programs.chat
    async with connected(programs.url, programs.key("theirs", "qq-10002")) as client:
        await client.call_tool("memory_search", {"query": SECRET})
        await client.call_tool("remember", {"content": f"我的猫叫{SECRET}"})
    assert len(told(programs)) == 3
    await Departures(chat.app.kit, chat.app.remembering, chat.app.queues, chat.app.settings).forget("qq-10002")
    assert told(programs) == []
    assert chat.app.keys.all() == []


def test_what_a_program_did_is_counted_by_the_day(log: Log, clock: ManualClock) -> None:
    journal = Journal(log, Ids(clock))
    reader = Reader("owner", Role.OWNER, LOCAL.space)
    assert journal.lately(LOCAL, "remember") == 0
    for tool in ("remember", "remember", "ask_owner"):
        journal.called(LOCAL, reader, tool, {}, "en")
    journal.called(replace(LOCAL, account="http:other"), reader, "remember", {}, "en")
    assert journal.lately(LOCAL, "remember") == 2
    clock.advance(timedelta(hours=20))
    journal.called(LOCAL, reader, "remember", {}, "en")
    assert journal.lately(LOCAL, "remember") == 3
    clock.advance(timedelta(hours=5))
    assert journal.lately(LOCAL, "remember") == 1
    clock.advance(timedelta(hours=20))
    assert journal.lately(LOCAL, "remember") == 0
