"""What a line is: a statement of the person, of which kind; or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.identity.redaction import has_secret
from qingtuan.memory.importing.documents import Document, take
from qingtuan.memory.importing.found import Reason, Statement, When
from qingtuan.memory.importing.sorting import Fit, Policy, verdict
from tests.memory.importing.moved import READING, TODAY

UNKNOWN = When(None, TODAY)


@pytest.mark.parametrize(
    ("line", "headings", "kind", "topic"),
    [
        ("不吃香菜", ("偏好",), "preference", ""),
        ("喜欢靠窗的位置", (), "preference", ""),
        ("User prefers dark mode", (), "preference", ""),
        ("提交预约前必须二次确认", (), "rule", ""),
        ("Never book without asking", (), "rule", ""),
        ("早上九点以后再提醒", ("规则", "提醒"), "rule", "提醒"),
        ("优先二楼安静区", ("图书馆", "偏好"), "preference", "图书馆"),
        ("优先二楼安静区", ("偏好", "图书馆"), "preference", "图书馆"),
        ("语料用 CMRC2018", ("项目", "跨语言检索"), "project", "跨语言检索"),
        ("语料用 CMRC2018", ("跨语言检索",), "project", "跨语言检索"),
        ("在武汉读研究生", ("基本信息",), "profile", ""),
        ("在武汉读研究生", (), "fact", ""),
        ("This machine runs Ubuntu 22.04", ("Environment",), "fact", ""),
        ("Likes short answers", ("Communication Preferences",), "preference", "Communication Preferences"),
        ("换了座位", ("2026-06-20",), "fact", ""),
    ],
)
def test_kinds_and_topics(line: str, headings: tuple[str, ...], kind: str, topic: str) -> None:
    found = verdict(line, line, headings, "memory")
    assert isinstance(found, Fit)
    assert (found.kind, found.topic) == (kind, topic)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", Reason.EMPTY),
        ("——", Reason.EMPTY),
        ("（未填写）", Reason.EMPTY),
        ("(your name)", Reason.EMPTY),
        ("**Name:**", Reason.EMPTY),
        ("**Timezone:** (your timezone)", Reason.EMPTY),
        ("姓名：", Reason.EMPTY),
        ("TBD", Reason.EMPTY),
        ("[ ] 交作业", Reason.TASK),
        ("[x] 交作业", Reason.TASK),
        ("api key: sk-" + "a1b2c3d4" * 4, Reason.SECRET),
        ("我的密码是 hunter2hunter2", Reason.SECRET),
        ("手机 13800138000", Reason.SECRET),
    ],
)
def test_what_is_left_out(line: str, reason: Reason) -> None:
    assert verdict(line.replace("*", ""), line, (), "memory") is reason


@pytest.mark.parametrize(
    ("line", "headings"),
    [
        ("妈妈生日是 5 月 1 日", ()),
        ("他喜欢喝茶", ()),
        ("My wife likes tea", ()),
        ("@小李 负责前端", ()),
        ("Alice leads the project", ("People",)),
        ("老王：房东", ("联系人",)),
        ("可能喜欢喝茶", ()),
        ("今天好累", ()),
        ("图书馆几点开门？", ()),
        ("https://example.com/a", ()),
        ("好的", ()),
        ("很" * 500, ()),
    ],
)
def test_what_is_no_statement_of_the_person(line: str, headings: tuple[str, ...]) -> None:
    assert verdict(line, line, headings, "memory") is None


@pytest.mark.parametrize(
    ("line", "headings", "policy", "taken"),
    [
        ("修好了备份脚本", (), "log", False),
        ("用户喜欢靠窗的位置", (), "log", True),
        ("我每天早上七点起床", (), "log", True),
        ("我去了图书馆", (), "log", False),
        ("不吃香菜", ("偏好",), "log", True),
        ("座位偏好：二楼", (), "log", True),
        ("牛奶", (), "vault", False),
        ("我不吃香菜", (), "vault", True),
        ("I live in Wuhan", (), "vault", True),
        ("不吃香菜", ("关于我",), "vault", True),
        ("我们下周开会", (), "vault", False),
    ],
)
def test_what_counts_in_logs_and_in_notes(line: str, headings: tuple[str, ...], policy: Policy, taken: bool) -> None:
    assert isinstance(verdict(line, line, headings, policy), Fit) is taken


@pytest.mark.parametrize(
    ("line", "policy", "label", "value", "single"),
    [
        ("**称呼**：林林", "profile", "称呼", "林林", True),
        ("**What to call them:** 林林", "profile", "What to call them", "林林", True),
        ("时区：Asia/Shanghai", "profile", "时区", "Asia/Shanghai", True),
        ("座位偏好：二楼", "memory", "座位偏好", "二楼", True),
        ("语料：CMRC2018", "memory", "语料", "CMRC2018", False),
        ("注意：别用旧脚本", "memory", "", "", False),
        ("看 https://example.com/a 的说明", "memory", "", "", False),
        ("每天 10:30 开会", "memory", "", "", False),
    ],
)
def test_labels(line: str, policy: Policy, label: str, value: str, single: bool) -> None:
    found = verdict(line.replace("*", ""), line, (), policy)
    assert isinstance(found, Fit)
    assert (found.label, found.value, found.single) == (label, value, single)


def statements(text: str, policy: Policy = "memory", *, titled: bool = False) -> tuple[Statement, ...]:
    return take(Document("a.md", text, UNKNOWN, policy, titled=titled), READING).statements


def test_a_label_that_is_used_twice_is_no_question_with_one_answer() -> None:
    found = statements("## 偏好\n- 口味：川菜\n- 口味：甜食\n- 座位：二楼\n")
    assert [(one.label, one.single) for one in found] == [("", False), ("", False), ("座位", True)]


def test_nested_lists() -> None:
    text = (
        "- 图书馆\n  - 优先二楼安静区\n  - 不坐门口\n- 住在武汉。\n  - 光谷附近\n- 家里\n  - 妈妈：教师\n  - 有一只猫\n"
    )
    taken = take(Document("a.md", text, UNKNOWN, "memory"), READING)
    assert [(one.text, one.topic, one.line) for one in taken.statements] == [
        ("优先二楼安静区", "图书馆", 2),
        ("不坐门口", "图书馆", 3),
        ("住在武汉。", "", 4),
        ("有一只猫", "家里", 8),
    ]
    assert taken.note is not None
    assert taken.note.text == "- 住在武汉。\n  - 光谷附近\n\n- 家里\n  - 妈妈：教师"


def test_what_was_superseded_ends_when_the_next_began() -> None:
    """The metadata lines of OpenClaw's USER.md (concepts/user-model)."""
    text = (
        "## Style\n<!-- observed: 2026-05-10 | status: superseded -->\n\n- Prefer detailed explanations.\n\n"
        "<!-- observed: 2026-07-27 | status: active -->\n\n- Prefer short summaries.\n\n"
        "## Food\n<!-- observed: 2026-03-01 | status: superseded -->\n- Likes coffee\n"
    )
    found = [(one.text, str(one.when.first), str(one.until)) for one in statements(text, "profile")]
    assert found == [
        ("Prefer detailed explanations.", "2026-05-10", "2026-07-27"),
        ("Prefer short summaries.", "2026-07-27", "None"),
        ("Likes coffee", "2026-03-01", "2026-03-01"),
    ]


def test_dates_of_headings_and_lines() -> None:
    text = (
        "# 日志\n\n## 2026-06-20\n- 我喜欢喝茶\n- [2026-06-18] 我喜欢喝水\n"
        "## 2027-01-01 出发\n- 我喜欢爬山\n- 2027-01-02: 我总是早起\n"
    )
    found = {one.text: one.when for one in statements(text)}
    assert str(found["我喜欢喝茶"].first) == "2026-06-20"
    assert str(found["我喜欢喝水"].first) == "2026-06-18"
    assert found["我喜欢爬山"] == UNKNOWN
    assert found["2027-01-02: 我总是早起"] == UNKNOWN, "a day that lies ahead is a part of what is said"


def test_what_is_left_of_a_text_is_its_note() -> None:
    text = (
        "# 图书馆\n\n## 偏好\n- 优先二楼安静区\n\n## 怎么走\n\n出地铁左转。\n\n"
        "| 楼 | 层 |\n| - | - |\n\n```\n- 不是条目\n```\n"
    )
    taken = take(Document("图书馆.md", text, UNKNOWN, "vault", titled=True), READING)
    assert [(one.text, one.topic) for one in taken.statements] == [("优先二楼安静区", "图书馆")]
    assert taken.note is not None
    assert taken.note.title == "图书馆"
    assert taken.note.text.startswith("## 怎么走\n\n出地铁左转。")
    assert "- 不是条目" in taken.note.text
    assert "二楼" not in taken.note.text


@given(
    st.text(alphabet="我你喜欢密码sk-:：*-#[] \n\t`<!>12ab。（）", max_size=200),
    st.sampled_from(["profile", "memory", "log", "vault"]),
)
def test_no_text_breaks_it_and_no_secret_passes(text: str, policy: Policy) -> None:
    taken = take(Document("a.md", text, UNKNOWN, policy), READING)
    for one in taken.statements:
        assert one.text.strip()
        assert "\n" not in one.text
        assert not has_secret(one.text)
