"""A memory over days: what is believed when, whatever the clocks, the order of events and people's editors do."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.identity.privacy import sight
from qingtuan.memory.acts import By
from qingtuan.memory.known import Known
from qingtuan.memory.recall import Question
from tests.memory.world import ZONE, World

SEAT: dict[str, Any] = {"kind": "preference", "topic": "图书馆", "predicate": "座位偏好"}
SEATS = "users/owner/preferences/图书馆.md"


async def found(world: World, query: str, day: date | None = None) -> list[str]:
    question = Question(query, world.clock.now().astimezone(ZONE), (day, day) if day else None)
    hits = await world.recall.search(sight(world.reader()), question, 9)
    return sorted(one.belief.statement for one in hits if isinstance(one, Known))


def said(world: World, words: str, **ago: float) -> By:
    """Something that was said a while ago and arrives now."""
    by = world.by(words)
    moment = by.said_at - timedelta(**ago)
    place = replace(by.place, turn=None)
    payload = {"account": "cli:local", "text": words, "said_at": moment.isoformat()}
    event = world.log.append(Kind.MESSAGE_RECEIVED, place, payload, origin=by.origin)
    return replace(by, cause=event.id, said_at=moment)


def today(world: World) -> date:
    return world.clock.now().astimezone(ZONE).date()


async def test_words_for_days_make_a_plan_that_needs_nobody_at_midnight(world: World) -> None:
    await world.say("优先二楼", **SEAT, value="二楼")
    await world.say("从下个月起优先三楼", world.by("记住，从下个月起优先三楼"), **SEAT, value="三楼")
    before = world.page(SEATS)
    assert await found(world, "座位偏好") == ["优先二楼"]
    assert (await world.recall.injection(world.reader(), "")).text.count("优先") == 1
    world.clock.advance(timedelta(days=2))  # the first of December
    assert await found(world, "座位偏好") == ["从2026年12月起优先三楼"]
    injected = (await world.recall.injection(world.reader(), "座位")).text
    assert "三楼" in injected
    assert "二楼" not in injected
    assert world.page(SEATS) == before
    assert world.wiki.git("status", "--porcelain") == ""
    assert await found(world, "座位偏好", date(2026, 11, 30)) == ["优先二楼"]
    assert await found(world, "以前的座位偏好") == ["从2026年12月起优先三楼", "优先二楼"]


async def test_words_for_days_count_in_commands_too_and_stay_as_they_were_written(world: World) -> None:
    known = await world.add("到年底为止都吃素")
    assert known.belief.text == "到年底为止都吃素"
    assert known.belief.data.until == date(2026, 12, 31)
    world.clock.advance(timedelta(days=40))
    assert (await world.recall.injection(world.reader(), "")).text == ""


async def test_what_a_person_says_of_days_is_surer_than_what_a_model_makes_of_it(world: World) -> None:
    by = world.by("记住，从下周起优先三楼")
    done = await world.say("优先三楼", by, **SEAT, value="三楼", since=date(2026, 11, 29))
    assert done.known
    assert done.known.belief.data.since == date(2026, 11, 30)
    assert await found(world, "座位偏好") == []


async def test_a_message_that_was_on_its_way_counts_by_when_it_was_said(world: World) -> None:
    world.clock.advance(timedelta(days=20))
    await world.say("优先二楼", **SEAT, value="二楼")
    await world.say("优先三楼", said(world, "以后优先三楼", days=9), **SEAT, value="三楼")
    assert await found(world, "座位偏好") == ["优先二楼"]
    assert await found(world, "座位偏好", today(world) - timedelta(days=5)) == ["优先三楼"]
    assert await found(world, "座位偏好", today(world) - timedelta(days=10)) == []


async def test_a_clock_that_is_set_back_does_not_make_yesterday_the_last_word(world: World) -> None:
    await world.say("优先二楼", **SEAT, value="二楼")
    world.clock.advance(timedelta(days=-40))
    await world.say("优先三楼", **SEAT, value="三楼")
    assert await found(world, "座位偏好") == ["优先三楼"]
    first = today(world)
    assert f"- {first}~{first}：曾优先二楼" in world.page(SEATS)
    world.clock.advance(timedelta(minutes=5))
    await world.say("优先一楼", **SEAT, value="一楼")
    assert await found(world, "座位偏好") == ["优先一楼"]
    assert [event.seq for event in world.events(Kind.BELIEF_WRITTEN)] == sorted(
        event.seq for event in world.events(Kind.BELIEF_WRITTEN)
    )


async def test_a_clock_that_was_wrong_and_is_right_again_does_not_either(tmp_path: Path) -> None:
    """Also in another process, which knows nothing of the time that never was."""
    world = await World(tmp_path).start()
    world.clock.advance(timedelta(days=400))
    await world.say("优先二楼", **SEAT, value="二楼")
    clock = world.clock
    clock.advance(timedelta(days=-400))
    world.close()
    world = await World(tmp_path, clock=clock).start()
    assert await found(world, "座位偏好") == ["优先二楼"]
    await world.say("优先三楼", **SEAT, value="三楼")
    assert await found(world, "座位偏好") == ["优先三楼"]
    await world.say("优先一楼", said(world, "以后优先一楼", days=3), **SEAT, value="一楼")
    assert await found(world, "座位偏好") == ["优先三楼"]
    world.close()


async def test_what_was_put_right_by_hand_is_not_undone_by_what_was_said_before(world: World) -> None:
    """Extraction comes late: the person has been at the page meanwhile."""
    await world.say("优先二楼", **SEAT, value="二楼")
    world.clock.advance(timedelta(days=1))
    before = said(world, "我优先三楼", minutes=30)
    world.wiki.edit(SEATS, world.page(SEATS).replace("- 优先二楼", "- 优先窗边"))
    await world.memory.edited([SEATS])
    await world.say("优先三楼", before, **SEAT, value="三楼")
    assert await found(world, "座位偏好") == ["优先窗边"]
    await world.say("优先三楼", **SEAT, value="三楼")
    assert await found(world, "座位偏好") == ["优先三楼"]


async def test_what_was_said_again_is_known_to_the_next_process(tmp_path: Path) -> None:
    world = await World(tmp_path).start()
    await world.say("优先二楼", **SEAT, value="二楼")
    world.clock.advance(timedelta(days=9))
    assert (await world.say("优先二楼", **SEAT, value="二楼")).outcome == "same"
    clock = world.clock
    world.close()
    world = await World(tmp_path, clock=clock).start()
    world.clock.advance(timedelta(days=1))
    done = await world.say("优先三楼", said(world, "我优先三楼", days=5), **SEAT, value="三楼")
    assert done.outcome == "past"
    assert await found(world, "座位偏好") == ["优先二楼"]
    assert await found(world, "座位偏好", today(world) - timedelta(days=3)) == ["优先三楼"]
    world.close()


async def test_what_was_taken_back_was_believed_until_then(world: World) -> None:
    await world.say("优先二楼", **SEAT, value="二楼")
    world.clock.advance(timedelta(days=9))
    await world.editing.forget("座位 优先二楼", world.by("忘掉我的座位偏好"))
    world.clock.advance(timedelta(days=9))
    assert await found(world, "座位偏好") == []
    assert await found(world, "座位偏好", today(world) - timedelta(days=12)) == ["优先二楼（本人要求忘掉）"]
    assert await found(world, "座位偏好", today(world) - timedelta(days=8)) == []


async def test_what_was_undone_was_never_believed(world: World) -> None:
    await world.say("优先二楼", **SEAT, value="二楼")
    world.clock.advance(timedelta(days=9))
    await world.say("优先三楼", **SEAT, value="三楼")
    await world.undoing.last(world.by(""))
    world.clock.advance(timedelta(days=9))
    for ago in (12, 9, 3):
        assert await found(world, "座位偏好", today(world) - timedelta(days=ago)) == ["优先二楼"]


async def test_what_is_over_keeps_its_own_last_day_when_it_is_cleared_away(world: World) -> None:
    await world.say("优先三楼", world.by("记住，到明天为止优先三楼"), **SEAT, value="三楼")
    world.clock.advance(timedelta(days=9))
    await world.editing.clear(world.by("/memory clear 确认"))
    assert "- 2026-11-29~2026-11-30：曾优先三楼（清空） ^1" in world.page(SEATS)


async def test_a_plan_that_is_taken_back_was_never_believed(world: World) -> None:
    await world.say("优先三楼", world.by("记住，从明年起优先三楼"), **SEAT, value="三楼")
    await world.editing.forget("优先三楼", world.by("忘掉三楼"))
    assert "- 2026-11-29：曾打算从 2027 起：优先三楼（本人要求忘掉） ^1" in world.page(SEATS)
    assert await found(world, "座位偏好", date(2027, 6, 1)) == []
    assert await found(world, "座位偏好", date(2026, 11, 29)) == []


async def test_an_occasion_is_over_when_its_day_is(world: World) -> None:
    await world.say("下周三去北京", world.by("记住我下周三去北京"), kind="event", topic="出差")
    await world.say("去年十月去过上海", world.by("记住我去年十月去过上海"), kind="event", topic="出差")
    assert await found(world, "出差") == ["2025年10月去过上海", "2026-12-02去北京"]
    world.clock.advance(timedelta(days=4))
    assert await found(world, "出差") == ["2025年10月去过上海"]
    assert await found(world, "以前去哪出差") == ["2025年10月去过上海", "2026-12-02去北京"]


async def test_histories_that_people_write_are_read(world: World) -> None:
    world.wiki.edit(
        "users/owner/profile.md",
        "# 我\n\n## 当前\n- 住在武汉\n\n## 历史\n- 2025~2026-03: 住在北京\n- 住在上海（until 2024-06）\n",
    )
    await world.memory.edited(["users"])
    # nobody knows since when the first holds
    assert await found(world, "住在哪", date(2025, 7, 1)) == ["住在北京", "住在武汉"]
    assert await found(world, "住在哪", date(2024, 1, 1)) == ["住在上海", "住在武汉"]
    await world.editing.number(world.library.scopes()[0], world.by(""))
    assert "- 2025~2026-03: 住在北京 ^2" in world.page("users/owner/profile.md")
    assert await found(world, "住在哪", date(2026, 3, 31)) == ["住在北京"]
    assert await found(world, "住在哪", date(2026, 4, 1)) == []
    assert await found(world, "住在哪") == ["住在武汉"]
