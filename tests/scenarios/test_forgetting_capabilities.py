"""Whoever is forgotten leaves no capability behind, in no file of the data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.app.forgetting import Departures
from qingtuan.capabilities.ledger import By
from qingtuan.capabilities.sandbox.engine import find_program
from tests.fakes.capability_world import OWNER, adder
from tests.fakes.conversation import Conversation
from tests.fakes.holding import holding
from tests.fakes.replaying import replayed, tables

pytestmark = pytest.mark.skipif(find_program() is None, reason="the engine of the sandbox is not installed")
MARK = "榴莲千层"


async def test_of_a_member_who_goes_nothing_is_left(tmp_path: Path) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off", ACCESS__MEMBERS='["qq:20002"]')
    async with chat:
        await chat.say("你好", by="qq:20002")
        made = chat.app.capabilities
        await made.deploy(adder(), OWNER)
        code = f"export default (input) => '{MARK}'\n"
        theirs = adder("cake", description=f"讲讲{MARK}", code=code, cases=(), examples=(MARK,))
        done = await made.deploy(theirs, By("qq-20002", how="asked"))
        await made.approve("cake", OWNER, done.code)
        await chat.app.catalog.settle()
        assert any("objects" in place for place in holding(chat.home, MARK))
        departures = Departures(chat.app.kit, chat.app.remembering, chat.app.queues, chat.app.settings)
        await departures.forget("qq:20002")
        assert holding(chat.home, MARK) == []
        assert [held.name for held in made.all() if held.version.number] == ["adder"]
        log = chat.app.kit.record.log
        assert tables(log) == replayed(log)
    async with chat:
        assert holding(chat.home, MARK) == []
