"""What a statement changes, told as what people say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from qingtuan.memory.beliefs import Candidate, Review, Same, Write
from qingtuan.memory.wiki import edits
from tests.memory.scene import JUNE_20, SECOND_FLOOR, SHANGHAI, THIRD_FLOOR, Wiki, days, entries, find


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


# ------------------------------------------------------------------------- one value at a time


def test_a_preference_is_written_as_the_seed_shows_it(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    page = wiki.pages["preferences/图书馆.md"]
    assert page.title == "图书馆"
    assert page.body == (
        "# 图书馆\n\n## 当前\n- 优先二楼安静区 ^2\n\n## 历史\n- 2026-06-20~2026-06-23：曾偏好三楼靠窗 ^1"
    )
    assert page.data[2].data.since == date(2026, 6, 23)
    assert page.data[1].data.until == date(2026, 6, 23)


def test_a_preference_that_changes_and_changes_back_has_two_intervals(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(10))
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(12))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == [
        "2026-06-30~2026-07-02：曾偏好三楼靠窗",
        "2026-06-23~2026-06-30：曾优先二楼安静区",
        "2026-06-20~2026-06-23：曾偏好三楼靠窗",
    ]
    assert [entry.number for entry in entries(wiki.pages)] == [4, 3, 2, 1]


def test_a_change_on_the_same_day_is_an_interval_of_one_day(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + timedelta(hours=1))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == ["2026-06-20~2026-06-20：曾偏好三楼靠窗"]


def test_days_are_those_of_the_persons_zone() -> None:
    late = datetime(2026, 6, 20, 17, tzinfo=UTC)
    for zone, day in ((SHANGHAI, date(2026, 6, 21)), (ZoneInfo("America/New_York"), date(2026, 6, 20))):
        wiki = Wiki(zone=zone)
        wiki.hear(SECOND_FLOOR, said_at=late)
        entry = find(wiki.pages, 1)
        assert entry
        assert entry.data.since == day


def test_a_contradiction_keeps_the_new_and_the_old(wiki: Wiki) -> None:
    """mem0 #4536 deleted the old value and stored nothing."""
    wiki.hear(Candidate("我喜欢川菜", JUNE_20, "preference", "吃", predicate="对川菜", value="喜欢"))
    wiki.hear(Candidate("我讨厌川菜", JUNE_20 + days(1), "preference", "吃", predicate="对川菜", value="讨厌"))
    assert wiki.current() == ["我讨厌川菜"]
    assert wiki.past() == ["2026-06-20~2026-06-21：曾认为我喜欢川菜"]


@pytest.mark.parametrize("text", ["优先二楼安静区", "优先二楼安静区。", "我优先二楼安静区", "偏好：二楼 安静区"])
def test_the_same_fact_told_twice_changes_nothing(wiki: Wiki, text: str) -> None:
    """mem0 #1674 deleted it."""
    wiki.hear(SECOND_FLOOR)
    before = wiki.pages["preferences/图书馆.md"].to_bytes()
    decision = wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), text=text)
    assert decision == Same("preferences/图书馆.md", 1)
    assert wiki.pages["preferences/图书馆.md"].to_bytes() == before


def test_a_correction_leaves_one_current_value(wiki: Wiki) -> None:
    """openclaw #95606 kept both, and the wrong one ranked first."""
    nas = Candidate("家里的 NAS 用 Synology", JUNE_20, subject="NAS", predicate="系统", value="Synology")
    wiki.hear(nas)
    wiki.hear(nas, said_at=JUNE_20 + days(1), text="家里的 NAS 用 fnOS", value="fnOS")
    assert wiki.current() == ["家里的 NAS 用 fnOS"]


def test_an_unrelated_fact_retires_nothing(wiki: Wiki) -> None:
    """graphiti #1728: A公司 as employer, and as owner of the code that is looked after. Even told in one message."""
    job = Candidate("张三任职A公司", JUNE_20, subject="张三", predicate="任职", value="A公司", source="evt_a")
    code = replace(job, text="张三管理A公司的代码库", predicate="管理", value="A公司的代码库")
    wiki.hear(job)
    wiki.hear(code)
    wiki.hear(replace(job, text="李四任职B公司", subject="李四", value="B公司", source="evt_b"))
    assert wiki.current() == ["张三任职A公司", "张三管理A公司的代码库", "李四任职B公司"]
    assert wiki.past() == []


def test_a_predicate_with_several_values_adds(wiki: Wiki) -> None:
    fruit = Candidate(
        "喜欢苹果", JUNE_20, "preference", "吃", predicate="喜欢的水果", value="苹果", many=True, source="e"
    )
    wiki.hear(fruit)
    wiki.hear(fruit, text="喜欢香蕉", value="香蕉", many=False)
    assert isinstance(wiki.hear(fruit), Same)
    assert wiki.current() == ["喜欢苹果", "喜欢香蕉"]
    assert [entry.data.many for entry in entries(wiki.pages)] == [True, True]


def test_a_model_cannot_turn_one_value_into_several(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), many=True)
    assert wiki.current() == ["优先二楼安静区"]


def test_a_pin_stays_with_what_is_believed_now(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    path = "preferences/图书馆.md"
    data = replace(wiki.pages[path].data[1].data, pinned=True)
    wiki.pages[path] = edits.with_data(wiki.pages[path], 1, data, JUNE_20.date())
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1))
    assert [entry.data.pinned for entry in entries(wiki.pages)] == [True, False]


def test_the_owners_aliases_make_predicates_one(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR, predicate="喜欢坐哪")
    wiki.aliases = {"喜欢坐哪": "座位偏好"}
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1))
    assert wiki.current() == ["优先二楼安静区"]
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(2), predicate="喜欢坐哪", subject="用户")
    entry = next(entry for entry in entries(wiki.pages) if entry.belief.current)
    assert (entry.data.subject, entry.data.predicate) == ("我", "座位偏好")


# ------------------------------------------------------------------------- without a predicate


def test_without_a_predicate_the_sentence_is_compared(wiki: Wiki) -> None:
    note = Candidate("提交预约前必须二次确认", JUNE_20, "rule", "图书馆")
    wiki.hear(note)
    assert wiki.hear(note, said_at=JUNE_20 + days(1), text="提交预约前，必须二次确认")
    wiki.hear(note, said_at=JUNE_20 + days(1), text="我提交预约前必须二次确认。")
    assert wiki.current() == ["提交预约前必须二次确认", "提交预约前，必须二次确认"]


def test_negation_and_numbers_make_another_sentence(wiki: Wiki) -> None:
    for text in ("我吃香菜", "我不吃香菜", "预算 5%", "预算 5", "零下 -5 度", "零下 5 度"):
        assert isinstance(wiki.hear(Candidate(text, JUNE_20)), Write)
    assert len(wiki.current()) == 6


def test_a_tool_and_the_extractor_in_one_turn_make_one_belief(wiki: Wiki) -> None:
    wiki.hear(Candidate("以后图书馆优先坐二楼安静区", JUNE_20, source="evt_m"))
    adopted = wiki.hear(SECOND_FLOOR, source="evt_m")
    assert isinstance(adopted, Write)
    assert adopted.number == 1
    assert isinstance(wiki.hear(SECOND_FLOOR, source="evt_m"), Same)
    assert wiki.current() == ["以后图书馆优先坐二楼安静区"]
    # and it can be superseded now: a note without predicate never could
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(1))
    assert wiki.current() == ["偏好三楼靠窗"]
    assert wiki.past() == ["2026-06-20~2026-06-21：曾以后图书馆优先坐二楼安静区"]


def test_the_extractor_and_the_tool_in_one_turn_make_one_belief(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, source="evt_m")
    assert isinstance(wiki.hear(Candidate("以后图书馆优先坐二楼安静区", JUNE_20, source="evt_m")), Same)
    assert isinstance(wiki.hear(SECOND_FLOOR, source="evt_m", text="坐二楼", value="图书馆二楼安静区"), Same)
    assert wiki.current() == ["优先二楼安静区"]


def test_one_message_that_says_yes_and_no_to_different_things_is_two_beliefs(wiki: Wiki) -> None:
    wiki.hear(Candidate("吃香菜", JUNE_20, source="evt_m"))
    wiki.hear(Candidate("不吃香菜的根", JUNE_20, source="evt_m"))
    assert len(wiki.current()) == 2


# ------------------------------------------------------------------------- who may displace whom


@pytest.mark.parametrize("how", ["manual", "explicit"])
def test_what_was_inferred_goes_to_review_against_what_was_said(wiki: Wiki, how: Any) -> None:
    wiki.hear(SECOND_FLOOR, how=how)
    decision = wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(1), how="inferred")
    assert isinstance(decision, Review)
    assert decision.against == (1,)
    assert wiki.current() == ["优先二楼安静区"]


def test_what_was_inferred_goes_to_review_against_what_a_person_wrote(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, how="inferred")
    path = "preferences/图书馆.md"
    wiki.put(path, wiki.pages[path].to_bytes().decode().replace("优先二楼安静区 ^1", "优先二楼靠窗 ^1"))
    decision = wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(1), how="inferred")
    assert isinstance(decision, Review)
    assert wiki.current() == ["优先二楼靠窗"]


def test_what_was_inferred_displaces_what_was_inferred(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR, how="inferred")
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), how="inferred")
    assert wiki.current() == ["优先二楼安静区"]


def test_what_is_said_displaces_a_command_and_a_hand(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR, how="manual")
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), how="explicit")
    assert wiki.current() == ["优先二楼安静区"]
