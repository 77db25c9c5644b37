"""Seed 000: after the reply it is judged what of it will matter; what persons said outright is kept, the rest waits."""

from __future__ import annotations

import json
from pathlib import Path

from qingtuan.events.kinds import Kind
from qingtuan.memory.wiki.page import MAX_BYTES
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, Rule, on_user


def extractor(*candidates: dict[str, object]) -> Rule:
    """The cheap model finds these when it is asked aside: requests without tools."""
    answer = Reply(
        json.dumps({"candidates": [{"since": "", "until": "", **one} for one in candidates]}, ensure_ascii=False)
    )
    return Rule(lambda asked: not asked.tools and _is_extraction(asked), [answer])


def _is_extraction(asked: Asked) -> bool:
    return "evidence" in json.dumps(asked.body, ensure_ascii=False)


async def test_an_explicit_statement_is_kept_after_a_minute_of_quiet(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        chat.model(
            extractor(
                {
                    "message": 1,
                    "type": "preference",
                    "topic": "饮食",
                    "subject": "我",
                    "predicate": "忌口",
                    "value": "不吃香菜",
                    "confidence": 0.95,
                    "explicit": True,
                    "evidence": "我不吃香菜",
                }
            ),
            on_user("", "好的。"),
        )
        await chat.say("我不吃香菜，以后点菜注意一下")
        assert chat.pages() == []
        await chat.later(seconds=61)
        assert "不吃香菜" in "".join(chat.page(path) for path in chat.pages())
        assert len(chat.commits()) == 1
        # The same stretch is not read twice.
        asked = len(chat.server.requests)
        await chat.later(minutes=10)
        assert len(chat.server.requests) == asked
        assert len(chat.events(Kind.EXTRACTION_DONE)) == 1


async def test_what_the_message_does_not_bear_out_is_dropped(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        made_up = {
            "message": 1,
            "type": "fact",
            "subject": "我",
            "predicate": "名字",
            "value": "John Doe",
            "confidence": 0.99,
            "explicit": True,
            "evidence": "我叫 John Doe",
        }
        chat.model(extractor(made_up), on_user("", "好的。"))
        await chat.say("我明天要去图书馆看书，早点叫我")
        await chat.later(seconds=61)
        assert [event.payload["purpose"] for event in chat.events(Kind.MODEL_REQUESTED) if not event.place.turn]
        assert chat.pages() == []
        assert chat.events(Kind.BELIEF_PROPOSED) == []


async def test_what_its_page_has_no_room_for_waits_for_a_word_and_is_not_asked_for_again(tmp_path: Path) -> None:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        found: dict[str, object] = {"message": 1, "type": "preference", "topic": "饮食", "subject": "我"}
        found |= {
            "predicate": "忌口",
            "value": "不吃香菜",
            "confidence": 0.95,
            "explicit": True,
            "evidence": "我不吃香菜",
        }
        chat.model(extractor(found), on_user("", "好的。"))
        page = chat.home.wiki / "users/owner/preferences/饮食.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        full = f"# 饮食\n\n{'x' * (MAX_BYTES - 60)}\n\n## 当前\n"
        assert len(full.encode()) < MAX_BYTES
        page.write_text(full, "utf-8")
        await chat.say("我不吃香菜，以后点菜注意一下")
        await chat.later(seconds=61)
        asked = len(chat.server.requests)
        assert "不吃香菜" in (await chat.say("/review"))[0]
        assert page.read_text("utf-8") == full
        await chat.later(minutes=10)
        assert len(chat.server.requests) == asked
