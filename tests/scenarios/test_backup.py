"""The disk is gone: what was said and learned up to the last backup is there again, on another machine."""

from __future__ import annotations

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import on_result, on_user
from tests.fakes.restoring import back_up, restore

CHAT = Space("private", OWNER)
RULES = (
    on_user("二楼", remembers(content="优先二楼安静区", value="二楼安静区")),
    on_user("三楼", remembers(content="改坐三楼靠窗", value="三楼靠窗")),
    on_result("", "记住了。"),
)


async def talk(chat: Conversation) -> Path:
    """Learn something, change one's mind, and take a backup in the middle of the next thing."""
    chat.model(*RULES)
    await chat.say("我以后图书馆优先坐二楼安静区")
    await chat.say("记住，我搬到三楼靠窗了")
    (chat.home.wiki / "users/owner/notes").mkdir(parents=True, exist_ok=True)
    (chat.home.wiki / "users/owner/notes/by-hand.md").write_text("# 花\n\n窗台的🌸每周三浇水。\n", "utf-8")
    taking = asyncio.create_task(back_up(chat, chat.home.path.parent / "shelf"))
    for number in range(5):
        await chat.say(f"随便聊聊，第 {number} 句")
    return await taking


async def test_everything_is_there_again_after_the_folder_was_lost(tmp_path: Path) -> None:
    async with Conversation(tmp_path / "first") as chat:
        archive = await talk(chat)
        spoken = len(chat.events(Kind.MESSAGE_RECEIVED))
    shutil.rmtree(chat.home.path)
    await restore(archive, tmp_path / "elsewhere", chat.clock)
    async with Conversation(tmp_path / "elsewhere") as again:
        again.clock.advance(timedelta(days=30))
        again.model(*RULES)
        again.deliver(CHAT)
        # It knows, and the model is told, without being asked to look.
        await again.say("我一般坐图书馆哪里？")
        assert "三楼靠窗" in again.asked.raw.decode()
        (listed,) = await again.say("/memory")
        assert "三楼靠窗" in listed
        # Where that comes from is known, too, and what was believed before.
        (why,) = await again.say("/memory why 2")
        assert "记住，我搬到三楼靠窗了" in why
        assert "二楼安静区" in again.page("users/owner/preferences/图书馆.md")
        # The history of the pages is whole, what was edited by hand is in it, and it goes on.
        before = again.commits()
        assert any("手动修改" in subject for subject in before)
        assert "🌸" in again.page("users/owner/notes/by-hand.md")
        assert "撤销" in (await again.say("/undo"))[0]
        assert len(again.commits()) == len(before) + 1
        assert "二楼安静区" in (await again.say("/memory"))[0]
        # Nobody is answered twice for what was said before.
        received = again.events(Kind.MESSAGE_RECEIVED)
        assert len(received) <= spoken + 5
        assert len({event.payload["message_id"] for event in received}) == len(received)


async def test_yesterday_takes_the_place_of_today_and_today_is_not_lost(tmp_path: Path) -> None:
    async with Conversation(tmp_path / "one") as chat:
        chat.model(*RULES)
        await chat.say("我以后图书馆优先坐二楼安静区")
        archive = await back_up(chat, tmp_path / "shelf")
        await chat.say("记住，我搬到三楼靠窗了")
    await restore(archive, tmp_path / "one", chat.clock)
    async with Conversation(tmp_path / "one") as yesterday:
        yesterday.clock.advance(timedelta(days=1))
        (listed,) = await yesterday.say("/memory")
        assert ("二楼" in listed, "三楼" in listed) == (True, False)
        assert len(yesterday.commits()) == 1
    (aside,) = chat.home.backups.glob("before-restore-*")
    shutil.copytree(aside, tmp_path / "two" / "home")
    async with Conversation(tmp_path / "two") as today:
        today.clock.advance(timedelta(days=1))
        assert "三楼" in (await today.say("/memory"))[-1]
        # It was no copy that wakes up: it goes on as it was.
        assert today.events(Kind.FOLDER_RESTORED) == []
