"""A backup a day while an instance stays, if anything has happened; a few of them kept, and none where it fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.app.daily import Daily
from qingtuan.backups.archive import read_manifest
from qingtuan.backups.shelf import kept
from qingtuan.events.kinds import Kind
from qingtuan.settings.backups import Backups
from tests.fakes.conversation import Conversation
from tests.fakes.restoring import back_up


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        yield chat


class Running:
    """The daily work of an instance, with time passing."""

    def __init__(self, chat: Conversation, **wanted: object) -> None:
        app = chat.app
        self.chat = chat
        self.task = asyncio.create_task(
            Daily(app.keeper, app.kit.record.log, Backups.model_validate(wanted), chat.clock).run()
        )

    async def later(self, **delta: float) -> list[Path]:
        """What stands there after so much time."""
        await asyncio.sleep(0)
        self.chat.clock.advance(timedelta(**delta))
        for _ in range(5):  # it wakes, and when it is done, goes to sleep again
            await asyncio.sleep(0)
            await self.chat.app.keeper.idle()
        return self.made()

    def made(self) -> list[Path]:
        return kept(self.chat.home.backups, "daily")


async def test_one_a_day_if_anything_has_happened(chat: Conversation) -> None:
    running = Running(chat)
    assert await running.later(seconds=30) == []
    assert await running.later(minutes=2) == []  # nothing has ever happened
    await chat.say("/memory add 不吃香菜")
    (first,) = await running.later(minutes=11)
    assert first.stat().st_mode & 0o077 == 0
    assert (read_manifest(first).pages, read_manifest(first).with_media) == (1, False)
    await chat.say("/memory add 不吃葱")
    assert len(await running.later(hours=20)) == 1
    assert len(await running.later(hours=5)) == 2
    # Nothing happens: nothing to save.
    assert len(await running.later(days=3)) == 2
    running.task.cancel()


async def test_the_newest_stay_and_those_made_by_hand_do(chat: Conversation) -> None:
    running = Running(chat, keep=2)
    await chat.say("/memory add 不吃香菜")
    by_hand = await back_up(chat, chat.home.backups)
    for number in range(4):
        await chat.say(f"/memory add 第 {number} 条")
        await running.later(days=1, minutes=1)
    assert len(running.made()) == 2
    assert read_manifest(running.made()[-1]).events > read_manifest(by_hand).events
    assert by_hand.exists()
    running.task.cancel()


async def test_one_that_fails_is_noted_and_tried_again_hours_later(chat: Conversation) -> None:
    running = Running(chat)
    await chat.say("/memory add 不吃香菜")
    packs = list(chat.home.wiki.glob(".git/objects/pack/*.pack"))
    kept_bytes = [pack.read_bytes() for pack in packs]
    for pack in packs:
        pack.unlink()
    assert await running.later(minutes=2) == []
    (failed,) = chat.events(Kind.CHORE_FAILED)
    assert failed.payload["chore"] == "backup"
    assert await running.later(minutes=30) == []
    assert len(chat.events(Kind.CHORE_FAILED)) == 1
    for pack, data in zip(packs, kept_bytes, strict=True):
        pack.write_bytes(data)
    assert len(await running.later(hours=6)) == 1
    running.task.cancel()


async def test_switched_off_there_is_none(chat: Conversation) -> None:
    running = Running(chat, daily=False)
    await chat.say("/memory add 不吃香菜")
    assert await running.later(days=2) == []
    await running.task
