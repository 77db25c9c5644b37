"""Seed 001: the owner looks at summaries, deletes one, has older talk compressed now, in either language."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.memory.compressing import SummaryRules
from qingtuan.memory.summaries import Summaries
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Commands, Invocation
from qingtuan.turn.commands.summaries import summary_commands
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import Reply, on_user, without_tools

OWNER_QQ, MEMBER = "qq:10001", "qq:10002"
GROUP = Space("group", "qq:777")
RULES = {"MAX_STORED": "6", "KEEP_RECENT": "2", "BATCH": "4", "MIN_SOURCE": "2"}
REFUSED = ["只有主人可以执行这个命令。"]
IN_PRIVATE = ["这里是群，私聊我再说。"]


def conversation(folder: Path, **more: str) -> Conversation:
    environ: dict[str, str] = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
        **{f"MEMORY__{name}": value for name, value in RULES.items()},
    }
    return Conversation(folder, tools=None, **{**environ, **more})


async def talk(chat: Conversation, turns: int, by: str = OWNER, space: Space | None = None) -> None:
    for number in range(turns):
        await chat.say(f"第{number}件事", by, space)
        await chat.done()


def short(told: str) -> str:
    """The first id that an answer names."""
    found = re.search(r"#[0-9A-Z]{5}", told)
    assert found, told
    return found[0]


async def test_status_counts_what_is_raw_and_what_is_missing(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        chat.model(without_tools("- 定了周五去爬山"))
        await talk(chat, 2)
        assert (await chat.say("/摘要状态"))[0].splitlines() == [
            "摘要：开着。",
            "原文 4 条；过了 6 条开始压，还差 3 条。",
            "还没有摘要。",
            "一次最多压 4 条，不到 2 条不压，最近的 2 条总是原文。",
        ]
        await talk(chat, 2)
        (told,) = await chat.say("/summary-status")
        assert "摘要 1 段，代表 4 条。" in told
        assert "原文 4 条" in told


async def test_what_stands_compressed_is_shown_with_its_range_newest_first_and_at_most_five(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_SUMMARIES_IN_CONTEXT="9") as chat:
        chat.model(without_tools("- 定了周五去爬山"))
        assert await chat.say("/查看摘要") == ["这个对话还没有摘要。"]
        await talk(chat, 4)
        await chat.later(days=1)
        await talk(chat, 12)
        (told,) = await chat.say("/summaries")
        head, *shown, foot = told.split("\n\n")
        assert head == "摘要 7 段，最新的 5 段："
        assert len(shown) == 5
        assert all(re.fullmatch(r"#[0-9A-Z]{5} \d{4}-\d\d-\d\d，4 条\n- 定了周五去爬山", one) for one in shown)
        assert foot.startswith("删除：/删除摘要")


async def test_a_deleted_summary_is_read_raw_again(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        chat.model(without_tools("- 定了周五去爬山"))
        await talk(chat, 6)
        (told,) = await chat.say("/查看摘要")
        assert await chat.say("/删除摘要 #ZZZZZ") == ["没有 #ZZZZZ 这段摘要。/查看摘要 看有哪些。"]
        oldest = re.findall(r"#[0-9A-Z]{5}", told)[-1]
        (gone,) = await chat.say(f"/删除摘要 {oldest.lower()}")
        assert gone.startswith(f"删了 {oldest}")
        assert "8 条又读原文了" in gone
        assert "重新压" in gone
        chat.model()
        await chat.say("聊到哪了")
        assert "第0件事" in str(chat.asked.messages)
        assert "爬山" not in str(chat.asked.messages)


async def test_without_a_number_the_newest_goes_and_with_all_every_one(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools("- 定了周五去爬山"))
        await talk(chat, 6)
        for _ in range(2):
            await chat.say("/压缩")
        newest = short((await chat.say("/查看摘要"))[0])
        (gone,) = await chat.say("/delete-summary")
        assert gone == f"删了 {newest}，它盖住的 4 条又读原文了。"
        (gone,) = await chat.say("/删除摘要 全部")
        assert "4 条又读原文了" in gone
        assert await chat.say("/删除摘要") == ["这个对话还没有摘要。"]
        assert len(chat.events(Kind.SUMMARY_DELETED)) == 2


async def test_compressing_now_leaves_the_recent_ones_and_says_what_became_of_the_rest(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools("- 定了周五去爬山"))
        await talk(chat, 3)
        (told,) = await chat.say("/压缩")
        assert re.fullmatch(
            r"较早的 4 条压成了一段 9 字的摘要（#[0-9A-Z]{5}），还有 2 条原文。现在 1 段摘要代表 4 条。", told
        )
        assert await chat.say("/compress") == ["先不压：原文 2 条，留下最近 2 条后只有 0 条，不到 2 条。"]
        chat.model()
        await chat.say("聊到哪了")
        said = [message["content"] for message in chat.asked.messages if message["role"] == "user"]
        assert said == ["第2件事", "聊到哪了"]


async def test_below_the_least_no_model_is_asked(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MIN_SOURCE="4") as chat:
        await talk(chat, 2)
        before = len(chat.server.requests)
        assert await chat.say("/压缩") == ["先不压：原文 4 条，留下最近 2 条后只有 2 条，不到 4 条。"]
        assert len(chat.server.requests) == before


async def test_a_model_that_writes_nothing_changes_nothing(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools("[]"))
        await talk(chat, 3)
        assert await chat.say("/压缩") == ["没压成：没有写出摘要。什么都没变，过会儿再试。"]
        assert chat.events(Kind.SUMMARY_WRITTEN) == []


async def test_it_waits_for_the_turn_that_runs(tmp_path: Path) -> None:
    """While a turn runs nothing of its session is compressed: what it was begun with must not change under it."""
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools("- 定了"), on_user("再说一件", Reply("好的。", delay=0.2)))
        await talk(chat, 3)
        await chat.send("再说一件")
        told = await chat.say("/压缩")
        assert told[0] == "好的。"
        assert told[1].startswith("较早的 4 条")
        finished = chat.events(Kind.TURN_FINISHED)[-1]
        (asked,) = [event for event in chat.events(Kind.MODEL_REQUESTED) if event.payload.get("purpose") == "summary"]
        assert asked.seq > finished.seq


async def test_it_can_be_stopped(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools(Reply("- 定了", delay=0.5)))
        await talk(chat, 3)
        asked = asyncio.Event()

        def heard(event: Event) -> None:
            if event.payload.get("purpose") == "summary":
                asked.set()

        chat.app.kit.record.log.listen(heard)
        compressing = asyncio.ensure_future(chat.say("/压缩"))
        await asked.wait()
        await chat.send("/stop")
        assert set(await compressing) == {"已停下。", "停下了，没有做完。"}
        assert chat.events(Kind.SUMMARY_WRITTEN) == []
        chat.model(without_tools("- 定了"))
        assert (await chat.say("/压缩"))[0].startswith("较早的 4 条")


async def test_a_restart_does_not_wait_for_what_was_being_compressed(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools(Reply("- 定了", delay=0.5)))
        await talk(chat, 3)
        compressing = asyncio.ensure_future(chat.send("/压缩"))
        await asyncio.sleep(0)
        asked = len(chat.server.requests)
        await chat.restart()
        await asyncio.wait([compressing])
        assert compressing.cancelled()
        assert len(chat.server.requests) <= asked + 1
        (told,) = chat.deliver(Space("private", OWNER))
        assert "再发一次" in told
        assert chat.events(Kind.SUMMARY_WRITTEN) == []


async def test_where_only_the_small_local_model_answers_code_picks_the_sentences(tmp_path: Path) -> None:
    """It would copy, and lose a negation on the way: it is not asked."""
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        for words in ("决定周五去爬山，不去游泳", "哈哈", "嗯嗯"):
            await chat.say(words)
        asked, app = len(chat.server.requests), chat.app
        rules = SummaryRules(max_stored=60, keep_recent=2, batch=4, min_source=2, extractive=True)
        parts = app.remembering
        commands = Commands(summary_commands(app.kit, Summaries(app.kit.record.log, rules, parts.customs), app.queues))
        message = chat.events(Kind.MESSAGE_RECEIVED)[-1]
        reader = app.kit.people.reader(OWNER, Space("private", OWNER))
        session = app.kit.record.sessions.running(reader.space, "owner")
        told = []
        for text in ("/压缩", "/查看摘要"):
            matched = commands.match(text, reader)
            assert isinstance(matched, tuple)
            invocation = Invocation(reader, OWNER, "cli", session, message, "", "zh")
            told.append((await matched[0].run(invocation)).text)
        assert told[0].startswith("较早的 4 条压成了一段")
        assert "[用户 2026-11-29] 决定周五去爬山，不去游泳" in told[1]
        assert len(chat.server.requests) == asked


# Who, and where


@pytest.mark.parametrize(
    "names", [("摘要状态", "summary-status"), ("查看摘要", "summaries"), ("删除摘要", "delete-summary")]
)
async def test_what_they_say_is_for_the_owner_alone(tmp_path: Path, names: tuple[str, str]) -> None:
    async with conversation(tmp_path) as chat:
        chat.model(without_tools("- qq:10002 定了爬山"))
        await talk(chat, 4, MEMBER, GROUP)
        for name in names:
            assert await chat.say(f"/{name}", OWNER_QQ, GROUP) == IN_PRIVATE
            for space in (None, GROUP):
                assert await chat.say(f"/{name}", MEMBER, space) == REFUSED


async def test_a_group_is_named_in_private(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools("- qq:10002 定了爬山"))
        await talk(chat, 3, MEMBER, GROUP)
        assert await chat.say("/压缩", MEMBER, GROUP) == REFUSED
        (told,) = await chat.say("/压缩", OWNER_QQ, GROUP)
        assert told.startswith("较早的 4 条")
        assert "爬山" not in told
        for by, group in ((OWNER_QQ, "777"), (OWNER_QQ, "qq:777"), (OWNER, "qq:777"), (OWNER, "group:qq:777")):
            assert "qq:10002 定了爬山" in (await chat.say(f"/查看摘要 {group}", by))[0]
            assert "代表 4 条" in (await chat.say(f"/摘要状态 {group}", by))[0]
        assert await chat.say("/查看摘要 888", OWNER_QQ) == ["没有在 888 这个群里说过话。"]
        (gone,) = await chat.say("/删除摘要 全部 777", OWNER_QQ)
        assert "4 条又读原文了" in gone


async def test_english(tmp_path: Path) -> None:
    async with conversation(tmp_path, LANGUAGE="en", MEMORY__MAX_STORED="60") as chat:
        chat.model(without_tools("- Hiking on Friday"))
        await talk(chat, 3)
        assert (await chat.say("/compress"))[0].startswith("The oldest 4 messages became a summary of 18 characters (#")
        assert "Hiking on Friday" in (await chat.say("/summaries"))[0]
        assert (await chat.say("/summary-status"))[0].startswith("Summaries are on.")
        assert (await chat.say("/delete-summary all"))[0].startswith("Deleted #")
