"""What went wrong in the QQ bot of seed 001, and in the gateway of seed 004, cannot happen here: a test for each fault,
named after it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.memory.compressing import clipped, tidy
from qingtuan.messages import Space
from qingtuan.tools.tool import ToolContext, ToolResult, tool
from qingtuan.turn.commands.registry import Unknown
from tests.architecture.source import python_files
from tests.conftest import REPOSITORY
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import Asked, Reply, call, on_result, on_user, without_tools

OWNER_QQ, MEMBER, OTHER_MEMBER, GUEST = "qq:10001", "qq:10002", "qq:10003", "qq:10009"
GROUP, OTHER_GROUP = Space("group", "qq:777"), Space("group", "qq:888")
IN_PRIVATE = ["这里是群，私聊我再说。"]
SMALL = {"MAX_STORED": "12", "KEEP_RECENT": "4", "BATCH": "8", "MIN_SOURCE": "4"}


@tool(risk=Risk.ACT, returns="own")
async def pay(context: ToolContext, yuan: int) -> ToolResult:
    """Pay somebody."""
    return ToolResult(f"付了 {yuan} 元")


def conversation(folder: Path, **more: str) -> Conversation:
    environ: dict[str, str] = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}", "{OTHER_MEMBER}"]',
        "ACCESS__GROUPS": '["qq:777", "qq:888"]',
        "EMBEDDING__MODEL": "off",
        **{f"MEMORY__{name}": value for name, value in SMALL.items()},
    }
    return Conversation(folder, tools={"pay": lambda: [pay]}, **{**environ, **more})


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with conversation(tmp_path) as chat:
        yield chat


async def heard(chat: Conversation, by: str, space: Space | None = None, words: str = "说说看吧") -> str:
    """The request that a message leads to, as it is sent."""
    before = len(chat.server.requests)
    await chat.say(words, by, space)
    return "\n".join(asked.raw.decode() for asked in chat.server.requests[before:] if asked.tools)


def sums_up(asked: Asked) -> Reply:
    """A summary that names every message that it stands for."""
    return Reply("- " + " ".join(re.findall(r"第\d+句", str(asked.messages[-1]["content"]))))


# Seed 001, facts/originals.md 2.5


async def test_1_nine_memories_of_one_person_starve_the_groups(chat: Conversation) -> None:
    await chat.say("/add-fact 周五在三号楼聚餐", OWNER_QQ, GROUP)
    for number in range(1, 10):
        await chat.say(f"/add-preference 第{number}个偏好{'要说得很细' * 12}", OWNER_QQ, GROUP)
    request = await heard(chat, OWNER_QQ, GROUP)
    assert "[本群] 周五在三号楼聚餐" in request
    assert request.count("个偏好要说得很细") == 9, "nothing is dropped while there is room"
    for number in range(10, 60):
        await chat.say(f"/add-preference 第{number}个偏好{'要说得很细' * 12}", OWNER_QQ, GROUP)
    request = await heard(chat, OWNER_QQ, GROUP)
    assert "[本群] 周五在三号楼聚餐" in request
    assert re.search(r"另有 \d+ 条记忆因长度限制未注入", request), "what is dropped is counted"


async def test_2_messages_fall_between_the_layers(chat: Conversation) -> None:
    chat.model(without_tools(sums_up))
    for number in range(40):
        request = await heard(chat, OWNER, words=f"第{number}句")
        await chat.done()
        assert [said for said in range(number + 1) if f"第{said}句" not in request] == []


async def test_2_summaries_are_made_before_the_reply(chat: Conversation) -> None:
    chat.model(without_tools(sums_up))
    for number in range(20):
        await heard(chat, OWNER, words=f"第{number}句")
        await chat.done()
    asked = [e for e in chat.events(Kind.MODEL_REQUESTED) if e.payload.get("purpose") == "summary"]
    sent = {event.place.turn: event.seq for event in chat.events(Kind.MESSAGE_SENT)}
    begun = {event.place.turn: event.seq for event in chat.events(Kind.TURN_STARTED)}
    assert asked
    assert [event.seq for event in asked if any(begun[t] < event.seq < sent[t] for t in begun if t in sent)] == []
    assert len(asked) <= 20 * 2 // int(SMALL["BATCH"]), "one call for each batch"


@pytest.mark.parametrize("command", ["/重置", "/clear"])
async def test_3_a_reset_leaves_the_summaries_in_context(chat: Conversation, command: str) -> None:
    chat.model(without_tools("- 定了去爬香山"))
    for number in range(10):
        await heard(chat, OWNER, words=f"第{number}句")
        await chat.done()
    assert "爬香山" in await heard(chat, OWNER)
    await chat.say(command)
    request = await heard(chat, OWNER)
    assert "爬香山" not in request
    assert not re.search(r"第\d+句", request)


async def test_3_anybody_wipes_the_context_of_a_group(chat: Conversation) -> None:
    await chat.say("我们周五爬香山", MEMBER, GROUP)
    for command in ("/重置", "/清空", "/clear", "/new"):
        await chat.say(command, GUEST, GROUP)
        await chat.say(command, MEMBER, OTHER_GROUP)
        assert "爬香山" in await heard(chat, OWNER_QQ, GROUP)


async def test_4_compressing_by_hand_leaves_no_raw_message(chat: Conversation) -> None:
    chat.model(without_tools("- 聊了聊"))
    for number in range(6):
        await heard(chat, OWNER, words=f"第{number}句")
    while (await chat.say("/压缩"))[0].startswith("较早的"):
        pass
    request = await heard(chat, OWNER)
    assert all(f"第{number}句" in request for number in (4, 5))


async def test_5_raw_text_is_deleted_after_one_summary(chat: Conversation) -> None:
    chat.model(without_tools("- 聊了聊"))
    for number in range(10):
        await heard(chat, OWNER, words=f"第{number}句")
        await chat.done()
    assert len(chat.events(Kind.SUMMARY_WRITTEN)) >= 1
    said = [event.payload["text"] for event in chat.events(Kind.MESSAGE_RECEIVED)]
    assert said == [f"第{number}句" for number in range(10)]
    await chat.say("/删除摘要 全部")
    request = await heard(chat, OWNER)
    assert all(f"第{number}句" in request for number in range(10)), "and it is read again"


async def test_5_older_summaries_never_reach_the_model_again(chat: Conversation) -> None:
    chat.model(without_tools(sums_up))
    for number in range(60):
        await heard(chat, OWNER, words=f"第{number}句")
        await chat.done()
    assert len(chat.events(Kind.SUMMARY_WRITTEN)) > 3
    request = await heard(chat, OWNER)
    assert "第0句" in request
    assert request.count("本会话较早内容的摘要") <= 3


@pytest.mark.parametrize(
    "command", ["查看角色卡", "查看摘要", "摘要状态", "记忆状态", "context", "trace", "model", "mcp"]
)
async def test_6_what_is_the_owners_is_answered_in_the_group(chat: Conversation, command: str) -> None:
    assert await chat.say(f"/{command}", OWNER_QQ, GROUP) == IN_PRIVATE


async def test_6_the_owners_memory_is_listed_in_the_group(chat: Conversation) -> None:
    await chat.say("/add-fact 存折在书房抽屉")
    await chat.say("/add-preference 先给结论")
    for command in ("/查看长期记忆", "/memory", "/memory list"):
        (told,) = await chat.say(command, OWNER_QQ, GROUP)
        assert "存折" not in told
        assert "先给结论" not in told


async def test_6_help_shows_everybody_the_commands_of_the_owner(chat: Conversation) -> None:
    for by, space in ((MEMBER, GROUP), (GUEST, GROUP), (MEMBER, None)):
        (told,) = await chat.say("/help all", by, space)
        for command in ("角色卡", "摘要", "长期记忆", "授权", "经过"):
            assert command not in told


async def test_7_private_memories_stand_in_the_prompts_of_a_group(chat: Conversation) -> None:
    chat.model(on_user("存折", call("memory_search", query="存折 抽屉")), on_result("", "我不清楚。"))
    await chat.say("/add-fact 存折在书房抽屉")
    await chat.say("/add-fact 这个群在测试", OWNER_QQ, OTHER_GROUP)
    await chat.say("我的存折密码本在书房抽屉", OWNER)
    for by in (OWNER_QQ, MEMBER, GUEST):
        request = await heard(chat, by, GROUP, "存折在哪？")
        assert "书房" not in request
        assert "这个群在测试" not in request


async def test_8_a_question_never_expires(chat: Conversation) -> None:
    chat.model(on_user("付", call("pay", yuan=5)), on_result("", "办好了。"))
    (question,) = await chat.say("付给小王五元")
    assert "确认" in question
    await chat.later(minutes=31)
    told = await chat.say("确认")
    assert "付了 5 元" not in str(chat.asked.messages)
    assert any("过期" in text for text in told)
    assert [event.payload.get("status") for event in chat.events(Kind.TOOL_FINISHED)].count("ok") == 0


async def test_9_summaries_merge_the_speakers_of_a_group(chat: Conversation) -> None:
    sources: list[str] = []

    def keep(asked: Asked) -> Reply:
        sources.append(str(asked.messages[-1]["content"]))
        return Reply("- qq:10002 要去爬山\n- qq:10003 不去爬山")

    chat.model(without_tools(keep))
    for number in range(8):
        await chat.say(f"第{number}句：我要去爬山", MEMBER, GROUP)
        await chat.say(f"第{number}句：我不去爬山", OTHER_MEMBER, GROUP)
        await chat.done()
    lines = [line for source in sources for line in source.splitlines() if "爬山" in line and "句" in line]
    assert lines
    assert all(line.startswith("[qq:10003]" if "不去" in line else "[qq:10002]") for line in lines)
    assert "qq:10003 不去爬山" in await heard(chat, OWNER_QQ, GROUP)


async def test_10_a_sentence_of_one_persona_is_said_by_the_core(chat: Conversation) -> None:
    """When no model answers, code does: the same whatever card is chosen, and nothing of any card."""
    (chat.home.personas / "cat.md").write_text("# 猫\n喵喵，主人～", "utf-8")
    told = []
    for card in ("默认", "cat"):
        await chat.say(f"/选择角色卡 {card}")
        chat.model(on_user("", Reply("", status=401)))
        told.append(await chat.say("在吗，说说看"))
        chat.model()
    assert told[0] == told[1]
    assert "喵" not in told[0][0]


def test_10_private_cards_are_committed() -> None:
    """The package ships one card in two languages, and the repository none but that."""
    shipped = [path.name for path in (REPOSITORY / "src/qingtuan/personas").glob("*.md")]
    assert sorted(shipped) == ["default.en.md", "default.zh.md"]
    folders = (REPOSITORY / name for name in ("src", "servers", "docs", "tests"))
    assert [path for folder in folders for path in folder.glob("**/personas/**/private/*.md")] == []


async def test_11_secrets_are_kept_in_summaries_and_memories(chat: Conversation) -> None:
    secret = "sk-proj-Zx8Qm2Lr5Tn7Wb9Kd3Fg6Hj1"
    sources: list[str] = []

    def repeat(asked: Asked) -> Reply:
        sources.append(str(asked.messages[-1]["content"]))
        return Reply(f"- 密钥是 {secret}")

    chat.model(without_tools(repeat))
    for number in range(8):
        await chat.say(f"第{number}句，密钥是 {secret}")
        await chat.done()
    assert sources
    assert secret not in str(sources)
    (told,) = await chat.say("/查看摘要")
    assert secret not in told
    for command in ("/add-fact", "/add-preference", "/memory add"):
        await chat.say(f"{command} 我的密钥是 {secret}")
    assert all(secret not in chat.page(path) for path in chat.pages())


async def test_11_memories_can_neither_be_edited_nor_searched_nor_end(chat: Conversation) -> None:
    await chat.say("/add-fact 不吃香菜")
    assert (await chat.say("/memory edit 1 不吃香菜和葱"))[0].startswith("#1 改成了")
    chat.model(on_user("吃", call("memory_search", query="香菜")), on_result("", "好。"))
    assert "不吃香菜和葱" in await heard(chat, OWNER, words="我吃什么？")
    chat.model(
        on_user("出差", call("remember", content="下周在上海", kind="event", until="2026-12-05")), on_result("", "好。")
    )
    await chat.say("记住下周我在上海出差")
    assert "在上海" in (await chat.say("/memory"))[0]
    await chat.later(days=10)
    assert "在上海" not in (await chat.say("/memory"))[0]


def test_11_everything_stands_in_one_module() -> None:
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in python_files("src")}
    assert max(sizes.values()) <= 500


# Seed 004, facts/originals.md 4.3


async def test_4_two_writers_lose_each_others_changes_and_use_numbers_again(chat: Conversation) -> None:
    for number in range(1, 4):
        await chat.say(f"/memory add 第{number}条")
    page = chat.home.wiki / "users/owner/profile.md"
    page.write_text(page.read_text("utf-8").replace("## 当前\n", "## 当前\n- 手写的\n"), "utf-8")
    await chat.say("/memory add 第五条")
    text = page.read_text("utf-8")
    assert "手写的" in text
    assert "第五条" in text
    numbers = [int(number) for number in re.findall(r"\^(\d+)", text)]
    for number in numbers:
        await chat.say(f"/memory del {number}")
    await chat.restart()
    await chat.say("/memory add 新的一条")
    (told,) = await chat.say("/memory")
    (new,) = [int(found) for found in re.findall(r"#(\d+) 新的", told)]
    assert new > max(numbers)
    assert "第1条" in page.read_text("utf-8").partition("## 历史")[2], "nothing is lost"


async def test_6_a_longer_word_runs_the_command_that_it_begins_with(chat: Conversation) -> None:
    reader = chat.app.kit.people.reader(OWNER, Space("private", OWNER))
    every = {name.lower() for command in chat.app.commands for name in command.names}
    for name in every:
        for tail in ("list", "x", "了", "1"):
            if f"{name}{tail}" not in every:
                assert isinstance(chat.app.commands.match(f"/{name}{tail}", reader), Unknown)
    assert (await chat.say("/memorylist"))[0].startswith("没有 /memorylist 这个命令。是不是 /memory")


@pytest.mark.parametrize("length", range(20, 60, 7))
def test_7_text_is_cut_inside_of_a_character(length: int) -> None:
    text = "小青团😀记得住事，办事先问。" * 20
    for cut in (clipped(text, length), tidy(text * 20, "zh"), Words(text, text).zh[:length]):
        cut.encode("utf-8")
        assert "\ufffd" not in cut


async def test_7_no_message_holds_half_a_character(chat: Conversation) -> None:
    text = "😀小青团👩‍👩‍👧‍👦" * 300
    chat.model(on_user("念", Reply(text, piece=7)), on_user("付", call("pay", yuan=5)))
    (told,) = await chat.say("念一遍")
    assert told == text
    (question,) = await chat.say(f"付给小王{text[:200]}五元")
    question.encode("utf-8")
    assert "\ufffd" not in question
