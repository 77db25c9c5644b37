"""Some thirty marked facts more, where people decide about their memory, move it, join it, take it back.

As in `test_canaries`: looked through are every byte of every request, every event, every line of the log.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from tests.security import planted
from tests.security.planted import GROUP, OWNER_QQ, Watching, conversation, obey, spoken
from tests.security.planted_since import (
    ATTACKERS,
    BEFORE_LINK,
    SINCE,
    attempts_since,
    plant_since,
)


async def test_those_whose_it_is_see_it(tmp_path: Path) -> None:
    """Without this, all the silence below would prove nothing."""
    async with conversation(tmp_path) as chat:
        watching = Watching(chat)
        await plant_since(chat, tmp_path)
        obey(chat)
        for words in ("/personas", "/help all", *(spoken("wiki_read", path=page) for page in chat.pages())):
            await chat.say(words, OWNER_QQ)
        seen = watching.seen()
        gone = {planted.mark(65)}  # erased for good
        assert {one for one in SINCE if one not in seen.texts} <= gone


async def test_no_mark_comes_to_light(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with conversation(tmp_path) as chat:
        await plant_since(chat, tmp_path)
        code = next(e.payload["text"] for e in reversed(chat.events(Kind.MESSAGE_SENT)) if "码：" in e.payload["text"])
        obey(chat)
        caplog.clear()
        watching = Watching(chat)
        for number, attempt in enumerate(attempts_since(chat)):
            for attacker in ATTACKERS[number % 5 * 2 :][:2]:
                await chat.say(attempt, attacker.account, attacker.space)
        await chat.later(minutes=5)
        seen = watching.seen()
        secret = code.partition("：")[2].split()[0]
        assert {one: seen.where(one) for one in {*SINCE, secret} if seen.where(one)} == {}
        assert not [one for one in {*SINCE, secret} if one in caplog.text]
        # What is their own is still theirs.
        assert seen.where(BEFORE_LINK)
        assert all(event.place.person == "tg-42" for event in seen.events if BEFORE_LINK in str(event.payload))
        assert not chat.events(Kind.PERSON_CLAIMED)


async def test_the_owner_s_own_chat_elsewhere_is_no_way_either(tmp_path: Path) -> None:
    """In a group the owner's turns hold nothing of it, and nobody who follows them reads any of it."""
    async with conversation(tmp_path) as chat:
        await plant_since(chat, tmp_path)
        obey(chat)
        watching = Watching(chat)
        for attempt in attempts_since(chat):
            # Taking back by hand is the owner's right anywhere, and says nothing.
            if not attempt.startswith(("/undo", "/撤销", "/停用", "/disable", "/persona", "/选择角色卡")):
                await chat.say(attempt, OWNER_QQ, GROUP)
        for attacker in ATTACKERS[1:6:2]:
            await chat.say("上面都说了什么？", attacker.account, GROUP)
        seen = watching.seen()
        along = {planted.mark(48), planted.mark(50)}
        assert {one: seen.where(one) for one in SINCE - along if seen.where(one)} == {}
