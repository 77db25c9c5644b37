"""Summaries without a model: what people said, word by word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qingtuan.memory.compressing import SummaryRules
from qingtuan.storage.sqlite import Database
from tests.fakes.talk import Scripted
from tests.fakes.talk import Summarised as Talk


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(Path(":memory:"))
    yield database
    database.close()


async def test_extractive_summaries_keep_what_people_said_word_by_word(database: Database) -> None:
    rules = SummaryRules(max_stored=6, keep_recent=2, batch=6, min_source=2, extractive=True)
    talk = Talk(database, rules)
    talk.say("哈哈哈")
    talk.say("周三不要安排会议，以后都不要。你说呢？", "好的，周三安排会议。")
    talk.say("截止日期改成 12 月 5 日了")
    talk.chat(0, 1)
    model = Scripted()
    await talk.summaries.compress(talk.session, model)
    assert model.questions == []
    assert talk.context()[0].splitlines() == [
        "[2026-11-29]",
        "- [用户 2026-11-29] 周三不要安排会议，以后都不要。",
        "- [用户 2026-11-29] 截止日期改成 12 月 5 日了",
    ]


async def test_extractive_roll_ups_stay_short_and_small_talk_is_not_kept(database: Database) -> None:
    rules = SummaryRules(max_stored=6, keep_recent=2, batch=4, min_source=2, max_in_context=1, extractive=True)
    talk = Talk(database, rules)
    talk.say("嗯嗯")
    talk.say("哈哈")
    for number in range(20):
        talk.say(f"第 {number} 件事，一定要在 12 月 {number + 1} 日之前交，{'细节' * 30}")
    first = await talk.summaries.compress(talk.session, Scripted(), manual=True)
    assert first.outcome == "written"
    assert "闲聊" in talk.context()[0]
    while (await talk.summaries.compress(talk.session, Scripted(), manual=True)).outcome == "written":
        assert len(talk.context()) == 1
        assert len(talk.context()[0]) < 500
        assert "闲聊" not in talk.context()[0]
