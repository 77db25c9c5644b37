"""What is not as it should be is told once, in private, to whoever can mend it; again only if it comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import Reply, without_tools

OWNER_QQ, MEMBER, WRITER = "qq:10001", "qq:10002", "qq:10003"
GROUP = Space("group", "qq:777")
HOME = Space("private", OWNER)
PINS, CARD, SUMMARIES = "置顶的太长", "角色卡", "写不出旧对话的摘要"


def conversation(folder: Path, **more: str) -> Conversation:
    environ: dict[str, str] = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
    }
    return Conversation(folder, tools=None, **{**environ, **more})


async def pin(chat: Conversation, numbers: range, by: str = OWNER) -> None:
    for number in numbers:
        await chat.say(f"/memory add 第{number}条{'很长' * 10}", by)
        await chat.say(f"/memory pin {number}", by)


async def heard(chat: Conversation, mark: str, by: str = OWNER, space: Space | None = None) -> list[str]:
    """What somebody was told about a trouble when they said something, wherever they were told."""
    seen = {event.id for event in chat.events(Kind.MESSAGE_SENT)}
    await chat.say("你好呀，说说看", by, space)
    await chat.done()
    new = [event for event in chat.events(Kind.MESSAGE_SENT) if event.id not in seen]
    told = [event for event in new if mark in event.payload["text"]]
    assert all(event.place.space is not None and not event.place.space.is_group for event in told)
    return [f"{event.place.space} {event.payload['text']}" for event in told]


async def test_pins_beyond_the_budget_are_told_once_and_again_only_after_they_have_fitted(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="60") as chat:
        await pin(chat, range(1, 3))
        assert await heard(chat, PINS) == []
        await pin(chat, range(3, 5))
        (told,) = await heard(chat, PINS)
        assert told == (
            "private:cli:local 置顶的太长，这几条每次都带不上：#3 #4。"
            "/memory unpin 编号 取消置顶，或 /memory edit 编号 改短。"
        )
        for _ in range(3):
            assert await heard(chat, PINS) == []
        assert await heard(chat, PINS, OWNER_QQ) == [], "the same person by another account"
        await chat.restart()
        assert await heard(chat, PINS) == []
        await chat.say("/memory unpin 4")
        await chat.say("/memory unpin 3")
        assert await heard(chat, PINS) == []
        await chat.say("/memory pin 3")
        (again,) = await heard(chat, PINS)
        assert "#3。" in again
        assert await heard(chat, PINS) == []


async def test_it_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="60") as chat:
        await pin(chat, range(1, 4))
        assert await heard(chat, PINS)
        await chat.say("还在吗")
        assert PINS not in str(chat.asked.messages)


async def test_each_is_told_of_their_own_pins_and_nobody_of_what_they_cannot_unpin(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="60") as chat:
        await pin(chat, range(1, 4))
        for number in range(1, 4):
            await chat.say(f"/memory share {number} all")
        assert await heard(chat, PINS, MEMBER) == [], "what is for all is the owner's to unpin"
        (told,) = await heard(chat, PINS)
        assert "#G3" in told
        await pin(chat, range(1, 4), MEMBER)
        (told,) = await heard(chat, PINS, MEMBER)
        assert told.startswith(f"private:{MEMBER} ")
        assert "#3" in told
        assert "#G" not in told


async def test_pins_of_a_group_are_told_to_the_owner_in_private(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="60") as chat:
        page = chat.home.wiki / "groups/qq-777/profile.md"
        page.parent.mkdir(parents=True)
        bullets = "".join(f"- 第{number}条{'很长' * 10} ^{number}\n" for number in range(1, 4))
        data = "".join(f"{number}: {{how: manual, pin: true}}\n" for number in range(1, 4))
        page.write_text(f"# 本群\n\n## 当前\n{bullets}\n<!-- qingtuan\n{data}-->\n", "utf-8")
        await chat.app.remembering.memory.edited(["groups"])
        assert await heard(chat, PINS, MEMBER, GROUP) == []
        (told,) = await heard(chat, PINS, OWNER_QQ, GROUP)
        assert told.startswith(f"private:{OWNER_QQ} 在群聊 qq:777 里")
        assert "#群3" in told
        assert await heard(chat, PINS, OWNER_QQ, GROUP) == []
        assert await heard(chat, PINS, OWNER_QQ) == [], "in private there are none"
        assert await heard(chat, PINS, OWNER_QQ, GROUP) == []


async def test_a_card_that_cannot_be_read_is_told_to_the_owner_and_no_other_takes_its_place(tmp_path: Path) -> None:
    async with conversation(tmp_path, PERSONA__CARD="cat") as chat:
        cards = chat.home.personas
        (cards / "public").mkdir(exist_ok=True)
        (cards / "public/cat.md").write_text("# 猫\n公开的猫叫", "utf-8")
        (cards / "private/cat.md").write_text("---\nowner: [\n---\n# 猫\n喵", "utf-8")
        assert await heard(chat, CARD, MEMBER, GROUP) == [
            "private:cli:local 角色卡 cat 用不了：开头两行 --- 之间，第 2 行读不懂。"
            "在改好之前不用角色卡。/查看角色卡 看有哪些，/选择角色卡 换一张。"
        ]
        request = str(chat.asked.messages)
        assert "[角色卡：" not in request
        assert "公开的猫叫" not in request
        for by in (MEMBER, OWNER):
            assert await heard(chat, CARD, by) == []
        (cards / "private/cat.md").write_text("# 猫\n喵喵叫", "utf-8")
        assert await heard(chat, CARD) == []
        assert "喵喵叫" in str(chat.asked.messages)
        (cards / "private/cat.md").write_bytes(b"\xff\xfe")
        (told,) = await heard(chat, CARD)
        assert "UTF-8" in told


@pytest.mark.parametrize("answer", [Reply("", status=400), Reply("[]")])
async def test_a_model_that_writes_no_summaries_is_told_once_and_requests_stay_bounded(
    tmp_path: Path, answer: Reply
) -> None:
    rules = {"MAX_STORED": "8", "KEEP_RECENT": "2", "BATCH": "6", "MIN_SOURCE": "2"}
    async with conversation(tmp_path, **{f"MEMORY__{name}": value for name, value in rules.items()}) as chat:
        chat.model(without_tools(answer))
        told: list[str] = []
        for number in range(60):
            told += await heard(chat, SUMMARIES)
            said = [message for message in chat.server.requests[-1].messages if message["role"] != "system"]
            assert len(said) <= 8 + 6 + 10 + 2, number
        assert len(told) == 1
        assert told[0].startswith("private:cli:local ")
        chat.model(without_tools("- 聊了聊"))
        for _ in range(10):
            assert await heard(chat, SUMMARIES) == []
        chat.model(without_tools(answer))
        again: list[str] = []
        for _ in range(20):
            again += await heard(chat, SUMMARIES)
        assert len(again) == 1
