"""What users of others complained about in how memory is written, each as the smallest talk in which it showed.

Numbers are of the projects' own issue trackers, as the facts that this is designed against name them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.memory.claims import Backed
from qingtuan.messages import Material, Origin, Space
from qingtuan.storage.sqlite import Database
from tests.fakes.conversation import Conversation, remembers
from tests.fakes.model_server import Asked, Reply, Rule, call, on_result, on_user
from tests.fakes.talk import Scripted
from tests.memory.heard import Talk, claim
from tests.memory.test_claims import checked

LI = "qq:10002"
PEOPLE: dict[str, Any] = {
    "ACCESS__MEMBERS": f'["{LI}"]',
    "ACCESS__GROUPS": '["qq:777"]',
    "MEMORY__POLICY_GROUP": "auto",
    "EMBEDDING__MODEL": "off",
}


def holds(value: str, evidence: str = "", **fields: Any) -> dict[str, Any]:
    """A claim about a value, which is its own evidence unless that is given."""
    return claim(evidence or value, value=value, **fields)


def finds(**by_word: dict[str, Any]) -> Rule:
    """The extractor finds a claim in each message that holds its word."""

    def answer(asked: Asked) -> Reply:
        rows = [row for row in asked.text_of("user").splitlines() if row.startswith("#")]
        found = [
            {**one, "message": number}
            for number, row in enumerate(rows, 1)
            for word, one in by_word.items()
            if word in row
        ]
        return Reply(json.dumps({"candidates": found}, ensure_ascii=False))

    return Rule(lambda asked: not asked.tools, [answer])


def questions(chat: Conversation) -> list[Asked]:
    return [asked for asked in chat.server.requests if not asked.tools]


async def say(chat: Conversation, *said: str, by: str = "cli:local", space: Space | None = None) -> None:
    """Things said one after the other, each read once it is quiet."""
    for words in said:
        await chat.say(words, by, space)
        await chat.later(seconds=61)


def current(chat: Conversation) -> str:
    """What stands under 当前 on all pages."""
    return "".join(chat.page(path).partition("## 历史")[0] for path in chat.pages())


def past(chat: Conversation) -> str:
    return "".join(chat.page(path).partition("## 历史")[2].partition("<!--")[0] for path in chat.pages())


# Contradictions, corrections, repetitions (facts on memory, 6, 7, 9, 10, 12)


async def test_a_contradiction_keeps_both_and_never_deletes_the_old_to_store_nothing(tmp_path: Path) -> None:
    """mem0 #4536."""
    async with Conversation(tmp_path) as chat:
        likes, hates = holds("喜欢川菜", predicate="口味"), holds("讨厌川菜", predicate="口味")
        chat.model(finds(喜欢=likes, 讨厌=hates), on_user("", "好的。"))
        await say(chat, "我喜欢川菜")
        await chat.later(days=2)
        await say(chat, "我现在讨厌川菜了")
        assert "讨厌川菜" in current(chat)
        assert "喜欢川菜" not in current(chat)
        assert "2026-11-29~2026-12-01：曾" in past(chat)


async def test_the_same_said_twice_is_one_line_and_one_commit(tmp_path: Path) -> None:
    """mem0 #1674, where the second time deleted it."""
    async with Conversation(tmp_path) as chat:
        chat.model(finds(香菜=holds("不吃香菜", predicate="忌口")), on_user("", "好的。"))
        await say(chat, "我不吃香菜", "我不吃香菜", "说过了吧，我不吃香菜")
        assert current(chat).count("香菜 ^") == 1
        assert len(chat.commits()) == 1


async def test_a_corrected_fact_does_not_stand_beside_the_wrong_one(tmp_path: Path) -> None:
    """openclaw #95606, symaira-memory #556, matrixorigin/memoria #89."""
    async with Conversation(tmp_path) as chat:
        nas = {"subject": "NAS", "predicate": "系统", "type": "fact"}
        chat.model(
            finds(群晖=holds("群晖", **nas), 飞牛=holds("飞牛 fnOS", **nas)),
            on_user("搜", call("memory_search", query="NAS 系统")),
            on_result("", "查到了。"),
            on_user("", "好的。"),
        )
        await say(chat, "NAS 的系统是群晖", "说错了，NAS 的系统是飞牛 fnOS")
        await chat.say("搜一下")
        found = next(m["content"] for m in chat.asked.messages if m["role"] == "tool")
        assert "fnOS" in found
        assert "群晖" not in found


async def test_an_unrelated_fact_retires_no_true_one(tmp_path: Path) -> None:
    """graphiti #1728."""
    job = holds("任职A公司", subject="张三", predicate="任职", type="fact")
    code = holds("管理A公司的代码库", subject="张三", predicate="管理", type="fact")
    async with Conversation(tmp_path) as chat:
        chat.model(finds(任职=job, 代码库=code), on_user("", "好的。"))
        await say(chat, "张三任职A公司", "张三管理A公司的代码库")
        assert "任职A公司" in current(chat)
        assert "管理A公司的代码库" in current(chat)
        assert past(chat).strip() == ""


@pytest.mark.parametrize(
    ("predicate", "first", "second", "kind"),
    [
        ("过敏", "我对花生过敏", "我对芒果过敏", "profile"),
        ("宠物", "我养了一只猫", "我还养了一条狗", "profile"),
        ("喜欢的菜", "我喜欢川菜", "我也喜欢粤菜", "preference"),
        ("行程", "下周三去上海开会", "下周五去北京出差", "event"),
    ],
)
async def test_what_can_be_so_at_the_same_time_stays(
    tmp_path: Path, predicate: str, first: str, second: str, kind: str
) -> None:
    """graphiti #1728 again: a second allergy took the place of the first."""
    async with Conversation(tmp_path) as chat:
        one, two = (holds(text, predicate=predicate, type=kind) for text in (first, second))
        chat.model(finds(**{first[-3:]: one, second[-3:]: two}), on_user("", "好的。"))
        await say(chat, first, second)
        assert current(chat).count(" ^") == 2
        assert past(chat).strip() == ""


@pytest.mark.parametrize(
    ("predicate", "first", "second", "kind"),
    [
        ("过敏", "我对花生过敏", "我对花生不过敏了", "profile"),
        ("座位", "我喜欢坐三楼", "我换成坐二楼了", "preference"),
        ("会议", "周三下午开会", "会议改到周五下午开", "event"),
    ],
)
async def test_what_takes_the_place_of_something_does(
    tmp_path: Path, predicate: str, first: str, second: str, kind: str
) -> None:
    async with Conversation(tmp_path) as chat:
        one, two = (holds(text, predicate=predicate, type=kind) for text in (first, second))
        chat.model(finds(**{first: one, second: two}), on_user("", "好的。"))
        await say(chat, first, second)
        assert current(chat).count(" ^") == 1
        assert past(chat).count(" ^") == 1


async def test_what_is_read_late_is_not_what_is_preferred_now(tmp_path: Path) -> None:
    """hindsight #2550: an old sentence, looked at after a newer one was kept."""
    async with Conversation(tmp_path) as chat:
        chat.model(
            finds(三楼=holds("三楼靠窗", predicate="座位偏好", topic="图书馆")),
            on_user("二楼", remembers(content="优先二楼", value="二楼")),
            on_result("", "记住了。"),
            on_user("", "好的。"),
        )
        await chat.say("我图书馆喜欢坐三楼靠窗")
        await chat.say("记住以后优先二楼")
        await chat.later(seconds=61)
        assert "二楼" in current(chat)
        assert "三楼" not in current(chat)
        assert "三楼" in past(chat)


# Junk (facts on memory, 8; peers, A)


async def test_a_recalled_line_and_a_nod_write_nothing(tmp_path: Path) -> None:
    """mem0 #4573: memories that were recalled were extracted again, for 10,134 entries of which 97.8 % were junk."""
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        await chat.say("/memory add 喜欢川菜，尤其水煮鱼")
        chat.model(finds(嗯=holds("喜欢川菜", predicate="口味")), on_user("", "您喜欢川菜，来份水煮鱼？"))
        before = chat.commits()
        await say(chat, "嗯", "嗯嗯", "好的", "👍")
        assert "川菜" in json.dumps(chat.server.requests[-1].body, ensure_ascii=False)
        assert questions(chat) == []
        assert chat.commits() == before


@pytest.mark.parametrize(
    ("said", "made_up"),
    [
        ("帮我写封邮件给客户", holds("客户叫 John Doe", subject="客户", predicate="名字", evidence="写封邮件给客户")),
        ("我妹妹下周来", holds("小雪", predicate="妹妹", evidence="我妹妹下周来", type="profile")),
        ("我在学吉他，挺难的", holds("吉他老师", predicate="职业", evidence="我在学吉他", type="profile")),
        ("我在学吉他，挺难的", holds("学吉他三年了", predicate="爱好", evidence="我在学吉他")),
    ],
)
async def test_names_and_facts_that_nobody_said_are_dropped(tmp_path: Path, said: str, made_up: dict[str, Any]) -> None:
    """mem0 #4573: John Doe."""
    async with Conversation(tmp_path) as chat:
        chat.model(finds(**{said: made_up}), on_user("", "好的，John Doe。"))
        await say(chat, said)
        assert len(questions(chat)) == 1
        assert chat.pages() == []
        assert chat.events(Kind.BELIEF_PROPOSED) == []


async def test_what_the_assistant_said_and_what_a_page_said_is_no_word_of_the_person(tmp_path: Path) -> None:
    """astrbot_plugin_livingmemory #69: the bot's own lines recorded as a member's."""
    async with Conversation(tmp_path) as chat:
        tea = holds("喜欢喝茶", predicate="饮料")
        chat.model(finds(茶=tea, 看看=tea), on_user("", "您喜欢喝茶。"))
        note = Material(Origin.FILE, "便条", "我喜欢喝茶")
        await chat.say("帮我看看这个写得怎么样", materials=(note,))
        await chat.say("> 我喜欢喝茶\n这句话通顺吗，帮我看看")
        await chat.later(seconds=61)
        (asked,) = questions(chat)
        assert "茶" not in asked.text_of("user")
        assert chat.pages() == []


@pytest.mark.parametrize(
    "said",
    [
        ("我们来玩角色扮演，你是国王", "我住在城堡里", "我最爱喝龙血"),
        ("测试一下：我最爱喝龙血",),
        ("我最爱喝龙血", "开玩笑的啦"),
        ("假装我是吸血鬼，我最爱喝龙血",),
        ("*拔剑* 我最爱喝龙血",),
    ],
)
async def test_plays_tests_and_jokes_are_no_facts(tmp_path: Path, said: tuple[str, ...]) -> None:
    """Seed 001: one line of a role as a test, and the robot changed for good."""
    async with Conversation(tmp_path) as chat:
        blood = holds("爱喝龙血", predicate="饮料", evidence="我最爱喝龙血")
        chat.model(finds(龙血=blood, 城堡=holds("住在城堡里", predicate="住处")), on_user("", "好的。"))
        for words in said:
            await chat.say(words)
        await chat.later(seconds=61)
        assert chat.pages() == []


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("我不是不吃香菜", "不吃香菜"),
        ("我不是不吃香菜", "吃香菜"),
        ("不是我不吃香菜，是我弟弟", "不吃香菜"),
        ("我没说我不吃香菜", "不吃香菜"),
        ("谁说我不吃香菜的，我最爱吃了", "不吃香菜"),
        ("我不吃香菜才怪", "不吃香菜"),
        ("我没有一天不喝咖啡", "不喝咖啡"),
        ("我并不讨厌猫", "讨厌猫"),
        ("别以为我不会游泳", "不会游泳"),
        ("我以前不吃香菜，现在吃了", "不吃香菜"),
        ("我不太能吃辣", "能吃辣"),
        ("I no longer drink coffee", "drink coffee"),
        ("I don't dislike coffee", "dislike coffee"),
        ("It's not that I don't like tea", "don't like tea"),
        ("I used to smoke a pipe", "smoke a pipe"),
    ],
)
def test_a_no_that_was_lost_or_turned_round_drops_the_claim(said: str, value: str) -> None:
    assert _kept(said, value) is None


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("我不吃香菜", "不吃香菜"),
        ("别忘了我不吃香菜", "不吃香菜"),
        ("不好意思我不吃香菜", "不吃香菜"),
        ("我再也不抽烟了", "再也不抽烟"),
        ("我没有一天不喝咖啡", "没有一天不喝咖啡"),
        ("我非常喜欢川菜", "非常喜欢川菜"),
        ("我以前在银行上班", "以前在银行上班"),
        ("我好不容易戒了烟", "戒了烟"),
        ("don't forget I don't eat meat", "don't eat meat"),
        ("I no longer drink coffee", "no longer drink coffee"),
    ],
)
def test_a_no_that_was_kept_stays(said: str, value: str) -> None:
    assert _kept(said, value) is not None


def _kept(said: str, value: str) -> Backed | None:
    return checked(said, said, value=value)


async def test_what_somebody_says_of_themselves_in_a_group_is_theirs_and_not_the_group_s(tmp_path: Path) -> None:
    """hermes-agent #30220: facts in the wrong store."""
    async with Conversation(tmp_path, **PEOPLE) as chat:
        mine = holds("不吃香菜", subject="本群", predicate="忌口", evidence="我不吃香菜")
        chat.model(finds(香菜=mine), on_user("", "好的。"))
        await say(chat, "我不吃香菜", by=LI, space=Space("group", "qq:777"))
        assert chat.pages() == ["users/qq-10002/preferences/通用.md"]


async def test_a_hundred_greetings_cost_nothing_and_leave_nothing(tmp_path: Path) -> None:
    """nanobot #1186, #490, #636: a memory that only grows."""
    async with Conversation(tmp_path) as chat:
        chat.model(finds(), on_user("", "在的。"))
        for words in ("你好", "在吗", "嗯", "好的", "谢谢", "晚安", "哈哈", "ok") * 3:
            await chat.say(words)
        await chat.later(seconds=61)
        assert questions(chat) == []
        assert chat.pages() == []


async def test_a_stretch_is_sampled_once_with_one_question_for_eight_messages(tmp_path: Path) -> None:
    """MaiBot #352: the same records again and again, duplicates and cost; nanobot #1931: and then silently not."""
    async with Conversation(tmp_path) as chat:
        chat.model(finds(香菜=holds("不吃香菜", predicate="忌口")), on_user("", "好的。"))
        for number in range(20):
            await chat.say(f"我在写第 {number} 章，" + ("我不吃香菜" if number == 3 else "快写完了"))
            await chat.done()
        assert len(questions(chat)) == 2
        await chat.later(seconds=61)
        assert len(questions(chat)) == 3
        rows = [row for asked in questions(chat) for row in asked.text_of("user").splitlines() if row.startswith("#")]
        assert len(rows) == 20
        await chat.restart()
        await chat.later(minutes=30)
        assert len(questions(chat)) == 3
        assert current(chat).count(" ^") == 1


async def test_the_same_by_tool_and_by_extractor_in_one_turn_is_one(tmp_path: Path) -> None:
    """hermes-agent #30220: one fact in two stores."""
    async with Conversation(tmp_path) as chat:
        chat.model(
            finds(香菜=holds("不吃香菜", predicate="饮食禁忌", topic="饮食")),
            on_user("香菜", call("remember", content="用户不吃香菜", predicate="忌口", value="香菜不吃")),
            on_result("", "记住了。"),
        )
        await say(chat, "记住我不吃香菜")
        assert current(chat).count(" ^") == 1
        assert len(chat.commits()) == 1


@pytest.mark.parametrize("by", ["explicit", "manual", "hand"])
async def test_what_is_only_inferred_displaces_nothing_firm(tmp_path: Path, by: str) -> None:
    """Source priority: it waits for the person instead."""
    async with Conversation(tmp_path) as chat:
        floor = holds("三楼", predicate="座位", topic="图书馆", explicit=False, evidence="最近老坐三楼")
        chat.model(finds(二楼=holds("二楼", predicate="座位", topic="图书馆"), 三楼=floor), on_user("", "好的。"))
        await say(chat, "我图书馆坐二楼")
        if by == "manual":
            await chat.say("/memory edit 1 座位：二楼靠窗")
        elif by == "hand":
            page = chat.home.wiki / chat.pages()[0]
            page.write_text(page.read_text("utf-8").replace("座位：二楼 ^1", "座位：二楼靠窗 ^1"), "utf-8")
        before = current(chat)
        await say(chat, "最近老坐三楼，凉快")
        assert (
            current(chat).partition("updated")[2].partition("\n")[2]
            == before.partition("updated")[2].partition("\n")[2]
        )
        assert "座位：三楼" in (await chat.say("/review"))[0]


async def test_clearing_clears_what_was_said_and_not_yet_read_too(tmp_path: Path) -> None:
    """astrbot_plugin_iris_memory #11, chatluna #342: reset, and it all comes back."""
    async with Conversation(tmp_path) as chat:
        chat.model(
            finds(香菜=holds("不吃香菜", predicate="忌口"), 喝茶=holds("爱喝茶", predicate="饮料")),
            on_user("", "好的。"),
        )
        await say(chat, "我不吃香菜")
        await chat.say("我爱喝茶")
        await chat.say("/memory clear 确认")
        await chat.later(seconds=61)
        assert current(chat).count(" ^") == 0
        assert "茶" not in "".join(map(chat.page, chat.pages()))


# Failures (peers, A 6)


@pytest.mark.parametrize("broken", [Reply("", status=401), Reply("", status=402), Reply("{}", status=404)])
async def test_a_failed_question_loses_no_stretch(tmp_path: Path, broken: Reply) -> None:
    """hermes-agent #29559: one failed call, and 110 of 124 messages were gone."""
    async with Conversation(tmp_path, LLM__FALLBACK_MODEL="") as chat:
        found = finds(香菜=holds("不吃香菜", predicate="忌口"))
        chat.model(on_user("", "好的。"))
        await chat.say("我不吃香菜")
        chat.model(Rule(lambda asked: not asked.tools, [broken]), on_user("", "好的。"))
        await chat.later(seconds=61)
        assert chat.events(Kind.EXTRACTION_DONE) == []
        chat.model(found, on_user("", "好的。"))
        await say(chat, "我在写作业")
        assert "不吃香菜" in current(chat)


async def test_an_answer_that_was_cut_off_keeps_what_is_whole_of_it() -> None:
    talk = Talk(Database(Path(":memory:")))
    talk.say("我不吃香菜，我爱喝茶，我住在成都")
    whole = json.dumps({"candidates": [holds("不吃香菜"), holds("爱喝茶", predicate="饮料"), holds("住在成都")]})
    found = await talk.found(model=Scripted(whole[: whole.rindex('"value"')]))
    assert [one.candidate.value for one in found] == ["不吃香菜", "爱喝茶"]
