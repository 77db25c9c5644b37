"""Finding beliefs: for a request, equal to its preview; for a question; and for the person who asks why."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.events.kinds import Kind
from qingtuan.identity.privacy import event_sight, sight
from qingtuan.identity.scopes import Scope, Visibility
from qingtuan.memory import injection, library
from qingtuan.memory.acts import By
from qingtuan.memory.injection import Budget, line_of
from qingtuan.memory.known import Known
from qingtuan.memory.recall import Listener, Question
from qingtuan.messages import Space
from tests.fakes.embedder import CountingEmbedder
from tests.memory.world import ACCOUNTS, GROUP, ZONE, World

SEAT: dict[str, Any] = {"kind": "preference", "topic": "图书馆", "predicate": "座位偏好"}
OTHER = Space("group", "qq:778")
PERSONS = ["owner", "ming", "li", "qq-9"]


# For a request


@st.composite
def entry(draw: st.DrawFn) -> tuple[str, str, str, str]:
    """Whose, which page, what it says, and what the comment says."""
    scope = draw(st.sampled_from(["users/owner", "users/ming", "users/li", "groups/qq-777", "groups/qq-778", "shared"]))
    page = draw(st.sampled_from(["profile.md", "rules/a.md", "preferences/书房.md", "records/b.md"]))
    text = draw(
        st.sampled_from(["书房朝南", "不吃香菜", "长" * 60, "[全局] 书房", "a <!-- b", "书房（从 2020-01-01 说的话）"])
    )
    facts = [
        f"vis: {draw(st.sampled_from(['private', 'own', 'public', 'odd']))}",
        f"pin: {draw(st.sampled_from(['true', 'false']))}",
        f"how: {draw(st.sampled_from(['explicit', 'manual', 'inferred']))}",
        f"since: {draw(st.dates(date(2026, 11, 27), date(2026, 12, 1)))}",
        *draw(st.sampled_from([[], ["until: 2026-11-28"], ["until: 2027-01-01"]])),
    ]
    return scope, page, text, ", ".join(facts)


def write(world: World, entries: list[tuple[str, str, str, str]]) -> set[str]:
    """Lay pages with these entries; the folders of their scopes."""
    pages: dict[str, list[tuple[int, str, str]]] = {}
    for number, (scope, page, text, facts) in enumerate(entries, 1):
        pages.setdefault(f"{scope}/{page}", []).append((number, text, facts))
    for path, lines in pages.items():
        bullets = "\n".join(f"- {number} {text} ^{number}" for number, text, _ in lines)
        comment = "\n".join(f"{number}: {{{facts}}}" for number, _, facts in lines)
        world.wiki.edit(path, f"# 页\n## 当前\n{bullets}\n\n<!-- qingtuan\n{comment}\n-->\n")
    return {scope for scope, *_ in entries}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    entries=st.lists(entry(), min_size=1, max_size=25),
    person=st.sampled_from(PERSONS),
    group=st.sampled_from([None, GROUP, OTHER]),
    words=st.sampled_from(["", "书房在哪", "香菜", "[记忆结束]"]),
    budget=st.builds(Budget, st.integers(0, 400), st.integers(0, 150), st.booleans()),
)
async def test_a_request_holds_what_its_reader_may_see_today_and_its_preview_says(
    world: World,
    entries: list[tuple[str, str, str, str]],
    person: str,
    group: Space | None,
    words: str,
    budget: Budget,
) -> None:
    for path in world.wiki.folder.rglob("*.md"):
        path.unlink()
    write(world, entries)
    await world.memory.edited(["users", "groups", "shared"])
    world.recall._budget = budget
    reader = world.reader(person, group)
    found = await world.recall.injection(reader, words)
    taken = await world.recall.inject(reader, words)
    assert "\n".join(filter(None, (taken.pinned, taken.recalled))) == found.text
    today, view = world.clock.now().astimezone(ZONE).date(), sight(reader)
    seen = [one for one in world.library.beliefs(view) if one.belief.current]
    holding = [
        one for one in seen if (one.belief.data.since or today) <= today and (one.belief.data.until or today) >= today
    ]
    assert {id(one) for one in found.entries} <= {id(one) for one in holding}
    assert len(found.entries) + found.left_out == len(holding)
    for one in found.entries:
        assert view.sees(one.scope, one.belief.visibility)
    lines = [line for line in found.text.splitlines() if line.startswith("- ")]
    assert len(lines) == len(found.entries)
    assert sum(len(line) + 1 for line in lines) <= budget.whole
    others = [one for one in found.entries if one.scope not in (Scope.of_person(person), Scope("shared"))]
    assert taken.of_others is any(one.type != "rule" or one.scope.kind == "user" for one in others)


async def test_what_the_message_calls_for_stands_before_what_is_fresh(tmp_path: Path) -> None:
    world = await World(tmp_path, CountingEmbedder(), budget=Budget(400, 60, steady=False)).start()
    for number in range(12):
        await world.say(f"第{number}件事办完了", kind="event", topic="办事")
    await world.say("窗边的位子晒", kind="preference", topic="座位")
    world.clock.advance(timedelta(days=3))
    for number in range(12, 20):
        await world.say(f"第{number}件事办完了", kind="event", topic="办事")
    found = await world.recall.injection(world.reader(), "座位窗边晒吗")
    assert found.entries[0].belief.text == "窗边的位子晒"
    assert found.recalled.splitlines()[2] == "- 座位：窗边的位子晒（从 2026-11-29 说的话）"
    assert found.pinned == ""
    world.close()


async def test_where_everything_is_told_nothing_is_searched_for(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    world = await World(tmp_path, embedder, budget=Budget(60, 40)).start()
    await world.say("窗边的位子晒", kind="preference", topic="座位")
    first = await world.recall.injection(world.reader(), "座位")
    assert "窗边的位子晒" in first.pinned
    assert (first.recalled, embedder.queries) == ("", [])
    # A page that was edited by hand a moment ago may hold more than there is room for.
    (page,) = (path for path in world.wiki.folder.rglob("*.md") if "座位" in path.name)
    more = "".join(f"- 第{number}排靠走道也行\n" for number in range(10, 20))
    page.write_text(page.read_text("utf-8").replace("## 当前\n", f"## 当前\n{more}"), "utf-8")
    second = await world.recall.injection(world.reader(), "座位第15排")
    assert embedder.queries == ["座位第15排"]
    assert second.left_out + len(second.entries) == 11
    assert "第15排" in second.recalled
    world.close()


async def test_nothing_is_searched_for_nobody(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    world = await World(tmp_path, embedder).start()
    await world.add("不吃香菜")
    assert (await world.recall.injection(world.reader("li"), "香菜")).text == ""
    assert (await world.recall.injection(world.reader(), " \n")).text
    assert embedder.queries == []
    world.close()


async def test_only_what_holds_on_the_persons_own_day(world: World) -> None:
    by = world.by("记住")
    zone = by.zone
    await world.say("明天出差", by, since=by.said_at.date() + timedelta(days=1), kind="event", topic="出差")
    await world.say("今天休息", world.by("记住"), until=by.said_at.date(), kind="event", topic="休息")
    told = [one.belief.text for one in (await world.recall.injection(world.reader(), "")).entries]
    assert told == ["2026-11-29休息"]
    world.clock.advance(timedelta(hours=14))  # past midnight in Shanghai, and not in London
    assert world.clock.now().astimezone(zone).date() > world.clock.now().date()
    told = [one.belief.text for one in (await world.recall.injection(world.reader(), "")).entries]
    assert told == ["2026-11-30出差"]


async def test_what_others_said_is_material_and_ones_own_and_the_owners_is_not(world: World) -> None:
    async def of_others(person: str, space: Space | None = None) -> bool:
        return (await world.recall.inject(world.reader(person, space), "x")).of_others

    await world.add("大家好")
    await world.editing.share("1", "all", world.by(""))
    await world.add("不吃葱", world.by("", "li"))
    assert not await of_others("li")
    by = world.by("记住本群只说中文", space=GROUP)
    await world.say("只说中文", by, subject="本群", kind="rule", topic="发言")
    assert not await of_others("li", GROUP)
    by = world.by("记住本群周五聚餐", "ming", GROUP)
    await world.say("周五聚餐", by, subject="本群", kind="event", topic="聚餐")
    assert await of_others("li", GROUP)
    assert not await of_others("ming", GROUP)
    await world.editing.share("1", Visibility.PUBLIC, world.by("", "li"))
    assert await of_others("ming", GROUP)
    assert await of_others("owner")


# For a question


async def test_future_and_past_beliefs_are_found_when_asked_for(world: World) -> None:
    today = world.clock.now().astimezone(ZONE).date()
    await world.say("住在武汉", kind="fact", predicate="住处", value="武汉")
    world.clock.advance(timedelta(days=10))
    await world.say("住在上海", kind="fact", predicate="住处", value="上海", since=today + timedelta(days=40))

    async def found(query: str, as_of: date | None = None) -> list[str]:
        question = Question(query, world.clock.now().astimezone(ZONE), (as_of, as_of) if as_of else None)
        hits = await world.recall.search(sight(world.reader()), question, 5)
        return [one.belief.statement for one in hits if isinstance(one, Known)]

    assert await found("住处") == ["住在武汉"]
    assert await found("住处", today + timedelta(days=50)) == ["住在上海"]
    assert await found("住处", today - timedelta(days=1)) == []
    world.clock.advance(timedelta(days=40))
    assert await found("住处") == ["住在上海"]
    assert set(await found("以前的住处")) == {"住在上海", "住在武汉"}


async def test_what_is_to_come_is_found_when_days_to_come_are_asked_about(world: World) -> None:
    await world.say("住在武汉", kind="fact", predicate="住处", value="武汉")
    start = world.clock.now().astimezone(ZONE).date() + timedelta(days=40)
    await world.say("住在上海", kind="fact", predicate="住处", value="上海", since=start)

    async def found(query: str) -> list[str]:
        question = Question(query, world.clock.now().astimezone(ZONE))
        hits = await world.recall.search(sight(world.reader()), question, 5)
        return [one.belief.statement for one in hits if isinstance(one, Known)]

    assert await found("以前的住处") == ["住在武汉"]
    assert await found("明年三月的住处") == ["住在上海"]
    assert await found("下周的住处") == ["住在武汉"]
    assert await found("去年的住处") == ["住在武汉"]  # nobody knows; what holds now is told with its day


@pytest.mark.parametrize(
    ("query", "words", "found"),
    [
        ("我的座位偏好", "", {"优先二楼"}),
        ("以前的座位偏好", "", {"优先二楼", "优先三楼"}),
        ("2026-11-29 的座位偏好", "", {"优先三楼"}),
        ("上个月的座位偏好", "", {"优先三楼"}),
        ("座位偏好 in November", "", {"优先三楼"}),
        ("明天的座位偏好", "", {"优先二楼"}),
        ("今年的座位偏好", "", {"优先二楼"}),
        ("where did I use to sit: 座位偏好", "", {"优先二楼"}),
        ("what I used to like, 座位偏好", "", {"优先二楼", "优先三楼"}),
        # a model may leave out what the person said of the time
        ("座位偏好", "我以前喜欢坐哪来着", {"优先二楼", "优先三楼"}),
        ("座位偏好", "11月的时候我喜欢坐哪？", {"优先三楼"}),
        ("座位偏好", "我昨天搬家了，帮我订个座", {"优先二楼"}),
    ],
)
async def test_history_is_searched_only_when_asked(world: World, query: str, words: str, found: set[str]) -> None:
    await world.say("优先三楼", **SEAT, value="三楼")
    world.clock.advance(timedelta(days=9))
    await world.say("优先二楼", **SEAT, value="二楼")
    question = Question(query, world.clock.now().astimezone(ZONE), words=words)
    hits = await world.recall.search(sight(world.reader()), question, 5)
    assert {one.belief.statement for one in hits if isinstance(one, Known)} == found


# Why


def why(world: World, known: Known, person: str = "owner", space: Space | None = None) -> str:
    view = event_sight(world.reader(person, space), [ACCOUNTS[person]])
    return world.recall.why(known, view, Listener(ZONE, "zh"))


async def test_the_story_of_an_entry(world: World) -> None:
    await world.say("优先二楼", world.by("我以后优先坐二楼"), **SEAT, value="二楼")
    world.clock.advance(timedelta(days=1))
    await world.say("优先二楼", world.by("说过了，优先二楼"), **SEAT, value="二楼")
    await world.editing.edit("1", "优先二楼靠窗", world.by("/memory edit"))
    await world.editing.retire("1", world.by("/memory del"))
    assert why(world, world.editing.named("1", world.by(""))).splitlines() == [
        "#1 2026-11-29~2026-11-30：曾优先二楼靠窗（本人删除）",
        "在 users/owner/preferences/图书馆.md",
        "2026-11-29 10:01，cli:local 说：「我以后优先坐二楼」",
        "- 2026-11-29 10:01 写成：优先二楼",
        "- 2026-11-30 10:02 又说了一次",
        "- 2026-11-30 10:03 写成：优先二楼靠窗",
        "- 2026-11-30 10:04 移到历史",
    ]


async def test_who_may_not_read_the_sentence_is_told_only_that_there_was_one(world: World) -> None:
    by = world.by("记住周五例会取消，我妈住院了")
    await world.say("周五例会取消，因为我妈住院", by, kind="event", topic="例会")
    await world.editing.edit("1", "周五例会取消", world.by(""))
    shared = await world.editing.share("1", "all", world.by(""))
    assert "住院" in why(world, shared)
    for person, space in (("li", None), ("owner", GROUP), ("li", GROUP)):
        told = why(world, shared, person, space)
        assert "周五例会取消" in told
        assert "住院" not in told
        assert "cli:local" not in told


async def test_in_the_group_its_sentences_are_told(world: World) -> None:
    by = world.by("记住本群周五聚餐", "ming", GROUP)
    known = (await world.say("周五聚餐", by, subject="本群", kind="event", topic="聚餐")).known
    assert known
    assert "记住本群周五聚餐" in why(world, known, "li", GROUP)
    assert "记住本群周五聚餐" not in why(world, known, "li", OTHER)


async def test_what_was_written_by_hand_or_erased_says_so(world: World) -> None:
    world.wiki.edit("users/owner/profile.md", "# 我\n## 当前\n- 手写的\n")
    await world.memory.edited(["users"])
    await world.editing.number(Scope.of_person("owner"), world.by(""))
    known = world.library.known(Scope.of_person("owner"), 1)
    assert known
    assert "手写" in why(world, known)
    gone = replace(known, belief=replace(known.belief, data=replace(known.belief.data, source="evt_gone")))
    assert "cli:local" not in why(world, gone)


async def test_a_sentence_that_was_confirmed_first(world: World) -> None:
    asked: By = world.by("记住我优先二楼", turn="turn_1")
    world.log.append(Kind.TURN_STARTED, asked.place, {}, cause=asked.cause)
    answered = world.log.append(Kind.CONFIRMATION_ANSWERED, asked.place, {"answer": "yes"})
    known = (await world.say("优先二楼", replace(asked, cause=answered.id))).known
    assert known
    assert "记住我优先二楼" in why(world, known)


async def test_of_thousands_few_are_put_into_words_and_none_is_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for page in range(20):
        bullets = "\n".join(f"- 第{page}-{line}条 ^{page * 100 + line + 1}" for line in range(100))
        world.wiki.edit(f"users/owner/preferences/{page}.md", f"# 通用\n## 当前\n{bullets}\n")
    await world.memory.edited(["users"])
    first = await world.recall.injection(world.reader(), "第3-7条")
    told, parsed = list[Known](), list[bytes]()

    def line(known: Known, sources: Any) -> str:
        told.append(known)
        return line_of(known, sources)

    monkeypatch.setattr(injection, "line_of", line)
    monkeypatch.setattr(library, "parse", lambda data: parsed.append(data))
    again = await world.recall.injection(world.reader(), "第3-7条")
    assert again.text == first.text
    assert again.left_out == 2000 - len(again.entries)
    assert len(told) < 600
    assert parsed == []
