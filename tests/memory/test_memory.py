"""Writing beliefs: who may, what for, once, and told in events; never over what somebody just changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.errors import LimitReached, NotAllowed, NotThere, PageUnreadable, StorageFailed, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Scope, Visibility
from qingtuan.language import Words
from qingtuan.memory.acts import Remembered
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.candidates import candidate_of
from qingtuan.memory.memory import Policies
from qingtuan.memory.wiki import store as store_module
from qingtuan.messages import Space
from tests.memory.world import GROUP, World, told

PROFILE = "users/owner/profile.md"
SEATS = "users/owner/preferences/图书馆.md"
SEAT: dict[str, Any] = {"kind": "preference", "topic": "图书馆", "predicate": "座位偏好"}
BELIEFS = (Kind.BELIEF_WRITTEN, Kind.BELIEF_RETRACTED)


# Who, and by which policy


@pytest.mark.parametrize(
    ("policy", "words", "outcome"),
    [
        ("auto", "我不吃香菜", "new"),
        ("auto", "记住我不吃香菜", "new"),
        ("review", "我不吃香菜", "review"),
        ("review", "记住我不吃香菜", "new"),
        ("manual", "我不吃香菜", None),
        ("manual", "别记住我不吃香菜", None),
        ("manual", "你还记得我不吃香菜吗？", None),
        ("manual", "记住我不吃香菜", "new"),
        ("manual", "please remember I hate coriander", "new"),
        ("manual", "do you remember I hate coriander?", None),
    ],
)
@pytest.mark.parametrize("space", [None, GROUP])
async def test_policies_of_a_space(
    tmp_path: Path, policy: Any, words: str, outcome: str | None, space: Space | None
) -> None:
    world = await World(tmp_path, policies=Policies(policy, policy)).start()
    by = world.by(words, "li", space)
    if outcome is None:
        with pytest.raises(ToolFailed):
            await world.say("不吃香菜", by)
    else:
        assert (await world.say("不吃香菜", by)).outcome == outcome
    assert bool(world.current("li")) is (outcome == "new")
    assert len(world.events(Kind.BELIEF_PROPOSED)) == (outcome == "review")
    assert await world.add("手动写的", world.by("手动写的", "li"))
    world.close()


async def test_a_proposal_holds_all_that_a_later_yes_needs(tmp_path: Path) -> None:
    world = await World(tmp_path, policies=Policies("review", "review")).start()
    by = world.by("三楼靠窗真不错")
    await world.say("优先三楼靠窗", by, **SEAT, value="三楼靠窗", until=date(2026, 12, 31))
    (event,) = world.events(Kind.BELIEF_PROPOSED)
    assert event.cause == by.cause
    assert event.payload["scope"] == "user:owner"
    assert candidate_of(event.payload, event.cause) == Candidate(
        "优先三楼靠窗", by.said_at, "preference", "图书馆", "我", "座位偏好", "三楼靠窗",
        until=date(2026, 12, 31), source=by.cause, how="explicit",
    )  # fmt: skip
    world.close()


async def test_guests_write_nothing(world: World) -> None:
    with pytest.raises(NotAllowed):
        await world.say("不吃香菜", world.by("记住不吃香菜", "qq-9"))
    assert world.events(*BELIEFS, Kind.PAGE_INTENDED) == []


async def test_the_group_is_written_by_those_who_may_in_words_about_it(world: World) -> None:
    fields = {"subject": "本群", "kind": "event", "topic": "聚餐"}
    for person in ("owner", "ming"):
        by = world.by(f"记住本群{person}组织聚餐", person, GROUP)
        known = (await world.say(f"{person}组织聚餐", by, **fields)).known
        assert known
        assert known.scope == Scope.of_group("qq:777")
    with pytest.raises(NotAllowed):
        await world.say("聚餐", world.by("记住本群周五聚餐", "li", GROUP), **fields)
    # That a model labels it so does not make it the group's.
    known = (await world.say("存折在抽屉", world.by("记住存折在抽屉", "ming", GROUP), **fields)).known
    assert known
    assert known.scope == Scope.of_person("ming")
    # Nor is there a group in private.
    known = (await world.say("周五聚餐", world.by("记住本群周五聚餐"), **fields)).known
    assert known
    assert known.scope == Scope.of_person("owner")


async def test_rules_of_a_group_are_the_owners(world: World) -> None:
    rule = {"subject": "本群", "kind": "rule", "topic": "发言", "predicate": "语言"}
    await world.say("本群只说中文", world.by("记住本群只说中文", space=GROUP), **rule, value="中文")
    before = world.page("groups/qq-777/rules/发言.md")
    for kind, outcome in (("rule", "review"), ("fact", "waiting")):
        by = world.by("记住本群只说英文", "ming", GROUP)
        done = await world.say("本群只说英文", by, **(rule | {"kind": kind}), value="英文")
        assert done.outcome == outcome
    for change in ("retire", "pin"):
        with pytest.raises(NotAllowed):
            await getattr(world.editing, change)("群1", world.by("", "ming", GROUP))
    with pytest.raises(NotThere):
        await world.editing.forget("只说中文", world.by("", "ming", GROUP))
    assert world.page("groups/qq-777/rules/发言.md") == before
    await world.editing.retire("群1", world.by("", space=GROUP))
    assert world.current(space=GROUP) == []


# What may be seen


async def test_labels_are_made_by_code_from_the_persons_own_words(world: World) -> None:
    async def label(content: str, words: str, space: Space | None = None, **fields: Any) -> str:
        known = (await world.say(content, world.by(words, "li", space), **fields)).known
        assert known
        return str(known.belief.visibility)

    assert await label("不吃香菜", "记住我不吃香菜") == "private"
    assert await label("不吃葱", "记住我不吃葱", GROUP) == "own"
    assert await label("叫小李", "以后叫我小李", predicate="称呼", value="小李") == "own"
    assert await label("家在人民路5号", "记住我家在人民路5号", GROUP) == "private"
    assert await label("家在那边", "记住我家在人民路6号", GROUP, predicate="家", value="人民路6号") == "private"


async def test_secrets_are_covered_wherever_a_model_puts_them(world: World) -> None:
    secret = "sk-abcdefghij0123456789"
    await world.say(
        f"密钥是 {secret}", topic=f"钥匙 {secret}", kind="event", subject=secret, predicate=secret, value=secret
    )
    await world.editing.edit("1", f"密钥换成了 {secret}", world.by(""))
    everything = [path.read_bytes() for path in world.wiki.folder.rglob("*") if path.is_file()]
    assert not any(secret.encode() in data for data in everything)
    told = [event for event in world.log.replay() if event.kind is not Kind.MESSAGE_RECEIVED]
    assert not any(secret in json.dumps(event.payload) for event in told)


async def test_a_phone_number_stays_only_where_a_person_enters_it_in_private(world: World) -> None:
    phone = "13812345678"
    assert phone in (await world.add(f"手机 {phone}")).belief.text
    assert phone not in (await world.add(f"张三的手机 {phone}", world.by("", space=GROUP))).belief.text
    done = await world.say(f"李四的手机 {phone}")
    assert done.known
    assert phone not in done.known.belief.text


async def test_an_address_cannot_be_shared_nor_edited_into_what_is_shared(world: World) -> None:
    await world.add("住在人民路5号")
    await world.add("先给结论")
    await world.editing.share("2", Visibility.PUBLIC, world.by(""))
    for wanted in (Visibility.OWN, Visibility.PUBLIC, "all"):
        with pytest.raises(NotAllowed):
            await world.editing.share("1", wanted, world.by(""))
    edited = await world.editing.edit("2", "住在人民路6号", world.by(""))
    assert edited.belief.visibility is Visibility.PRIVATE


# Once


async def test_the_same_by_tool_and_by_command_in_several_wordings_is_one_belief(world: World) -> None:
    await world.say("优先二楼安静区", **SEAT, value="二楼安静区")
    before = world.page(SEATS)
    for content, fields in (
        ("优先二楼安静区。", SEAT | {"value": "二楼安静区"}),
        ("我优先二楼安静区", {}),
        ("座位偏好：二楼安静区", SEAT | {"subject": "用户", "value": "二楼安静区"}),
    ):
        assert (await world.say(content, **fields)).outcome == "same"
    assert (await world.add("优先二楼安静区")).name == "1"
    assert world.page(SEATS) == before
    assert len(world.commits()) == 1
    assert [event.payload.get("again", False) for event in world.events(*BELIEFS)] == [False, *[True] * 4]


async def test_another_value_displaces_and_going_back_does_so_again(world: World) -> None:
    await world.say("优先二楼安静区", **SEAT, value="二楼安静区")
    world.clock.advance(timedelta(days=3))
    done = await world.say("优先三楼靠窗", **SEAT, value="三楼靠窗")
    assert done.outcome == "replaced"
    assert done.old
    assert done.old.belief.statement == "优先二楼安静区"
    assert (await world.say("优先二楼安静区", **SEAT, value="二楼安静区")).outcome == "replaced"
    assert world.current() == ["#3 优先二楼安静区"]
    assert told(world.events(*BELIEFS)) == [
        ("written", "user:owner", 1),
        ("retracted", "user:owner", 1),
        ("written", "user:owner", 2),
        ("retracted", "user:owner", 2),
        ("written", "user:owner", 3),
    ]


async def test_a_displaced_bullet_without_a_number_is_named(world: World) -> None:
    world.wiki.edit(SEATS, "# 图书馆\n\n## 当前\n- 别的\n- 二楼\n\n## 历史\n")
    await world.memory.edited([SEATS])
    await world.say("二楼", **SEAT, value="二楼")
    assert world.current() == ["#1 别的", "#2 二楼"]
    done = await world.say("三楼", **SEAT, value="三楼")
    assert done.outcome == "replaced"
    assert done.old
    assert done.old.belief.statement == "二楼"


async def test_two_writes_in_one_turn_are_one_commit(world: World) -> None:
    for content in ("不吃香菜", "不吃葱"):
        await world.say(content, world.by(f"记住{content}", turn="turn_1"))
    assert world.commits() == []
    await world.memory.commit("turn_1")
    assert world.commits() == ["记住：不吃香菜 (+1)"]
    await world.memory.commit("turn_1")
    assert len(world.commits()) == 1


async def test_what_was_said_later_wins_also_if_it_came_in_earlier(world: World) -> None:
    late = world.by("记住三楼靠窗")
    world.clock.advance(timedelta(days=2))
    await world.say("优先二楼安静区", **SEAT, value="二楼安静区")
    done = await world.say("优先三楼靠窗", late, **SEAT, value="三楼靠窗")
    assert done.outcome == "past"
    assert world.current() == ["#1 优先二楼安静区"]


async def test_what_is_no_entry_any_more_is_refused(world: World) -> None:
    assert await world.add("长" * 1000)
    with pytest.raises(LimitReached):
        await world.add("长" * 1001)
    with pytest.raises(LimitReached):
        await world.editing.edit("1", "长" * 1001, world.by(""))
    for label in ("topic", "subject", "predicate", "value"):
        with pytest.raises(ToolFailed):
            await world.say("不吃香菜", None, **{label: "x" * 301})
    assert world.current() == ["#1 " + "长" * 1000]


async def test_a_number_that_somebody_made_up_is_not_counted_on_from(world: World) -> None:
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 手写的 ^999999999\n- 也是 ^7\n")
    await world.memory.edited([PROFILE])
    assert (await world.add("不吃香菜")).name == "8"
    await world.editing.pin("999999999", world.by(""))
    assert (await world.add("不吃葱")).name == "9"
    await world.editing.retire("999999999", world.by(""))
    assert world.current() == ["#7 也是", "#8 不吃香菜", "#9 不吃葱"]


async def test_nothing_to_see_is_nothing_to_remember(world: World) -> None:
    for content in ("", "  \n ", "\u200b\u202e"):
        with pytest.raises(ToolFailed):
            await world.say(content)
    await world.add("不吃香菜")
    with pytest.raises(ToolFailed):
        await world.editing.edit("1", "\u200b", world.by(""))


# Changed meanwhile


def meddle(world: World, monkeypatch: pytest.MonkeyPatch, *edits: Callable[[], None]) -> None:
    """Edit by hand each time between reading and writing."""
    waiting, check = list(edits), store_module.WikiStore._check

    def checked(self: Any, changes: Any) -> Any:
        if waiting:
            waiting.pop(0)()
        return check(self, changes)

    monkeypatch.setattr(store_module.WikiStore, "_check", checked)


async def test_a_page_saved_between_reading_and_writing_is_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.add("不吃香菜")

    def save() -> None:
        world.wiki.edit(PROFILE, world.page(PROFILE).replace("## 当前\n", "## 当前\n- 手写的\n"))

    meddle(world, monkeypatch, save)
    await world.add("不吃葱")
    text = world.page(PROFILE)
    assert text.index("手写的") < text.index("不吃香菜") < text.index("不吃葱")
    assert "owner (by hand)" in world.wiki.authors()


async def test_an_entry_deleted_by_hand_meanwhile_is_not_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.add("不吃香菜")
    await world.add("不吃葱")
    meddle(world, monkeypatch, lambda: world.wiki.edit(PROFILE, world.page(PROFILE).replace("- 不吃香菜 ^1\n", "")))
    with pytest.raises(NotThere):
        await world.editing.retire("1", world.by(""))
    assert world.current() == ["#2 不吃葱"]


async def test_writes_at_the_same_time_share_no_number(world: World) -> None:
    wishes = [
        world.say(f"第{number}件事", world.by(f"记住第{number}件事"), kind="preference", topic=f"话题{number % 5}")
        for number in range(20)
    ]
    done = await asyncio.gather(*wishes, world.editing.clear(world.by("")))
    names = [one.known.name for one in done if isinstance(one, Remembered) and one.known]
    assert sorted(map(int, names)) == list(range(1, 21))
    assert [
        entry.number for entry in world.library.holdings(Scope.of_person("owner")).entries if not entry.number
    ] == []
    assert world.index.verify(world.library.entries()) == []


async def test_a_page_that_never_stands_still_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.add("不吃香菜")
    lines = iter(range(100))

    def save() -> None:
        world.wiki.edit(PROFILE, world.page(PROFILE) + f"\n{next(lines)}\n")

    meddle(world, monkeypatch, *[save] * 50)
    with pytest.raises(StorageFailed):
        await world.add("不吃葱")


async def test_a_page_that_cannot_be_read_is_left_alone_and_the_wish_waits(world: World) -> None:
    broken = '---\ntitle: a: "b"c\n---\n# x\n## 当前\n- 我的\n'
    world.wiki.edit(PROFILE, broken)
    await world.memory.edited([PROFILE])
    assert (await world.say("不吃香菜")).outcome == "review"
    assert world.page(PROFILE) == broken
    assert (await world.say("优先二楼", **SEAT)).outcome == "new"
    world.wiki.edit("shared/profile.md", broken)
    await world.memory.edited(["shared"])
    await world.say("不吃香菜", kind="preference", topic="基本情况")
    world.wiki.edit("shared/preferences/图书馆.md", broken)
    await world.memory.edited(["shared"])
    with pytest.raises(PageUnreadable):
        await world.editing.share("1", "all", world.by(""))
    assert world.current()[0] == "#1 优先二楼"


async def test_when_the_disk_refuses_nothing_is_half_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.add("不吃香菜")
    place = world.wiki.store._disk.place

    def refuse(path: str, *rest: Any) -> None:
        if path.startswith("shared/"):
            raise StorageFailed(Words("满了", "full"))
        place(path, *rest)

    monkeypatch.setattr(world.wiki.store._disk, "place", refuse)
    with pytest.raises(StorageFailed):
        await world.editing.share("1", "all", world.by(""))
    assert world.current() == ["#1 不吃香菜"]
    monkeypatch.undo()
    assert (await world.editing.share("1", "all", world.by(""))).name == "G1"
    assert world.current() == ["#G1 不吃香菜"]
    assert world.wiki.is_clean()


async def test_a_failing_index_takes_no_write_down(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> bool:
        raise StorageFailed(Words("满了", "full"))

    monkeypatch.setattr(world.index, "replace", full)
    await world.add("不吃香菜")
    monkeypatch.undo()
    view = world.reader()
    assert [one.belief.text for one in (await world.recall.injection(view, "香菜")).entries] == ["不吃香菜"]
    assert world.index.verify(world.library.entries()) == []


# Events


async def test_events_say_enough_to_tell_the_story_and_to_find_nothing_twice(world: World) -> None:
    by = world.by("记住我优先二楼", turn="turn_1")
    await world.say("优先二楼", by, **SEAT, value="二楼")
    (written,) = world.events(Kind.BELIEF_WRITTEN)
    assert (written.cause, written.place) == (by.cause, by.place)
    assert written.payload == {
        "scope": "user:owner", "number": 1, "path": SEATS, "text": "优先二楼", "subject": "我", "predicate": "座位偏好",
        "value": "二楼", "since": "2026-11-29", "how": "explicit", "visibility": "private",
    }  # fmt: skip
    await world.editing.edit("1", "优先三楼", world.by(""))
    await world.editing.pin("1", world.by(""))
    await world.editing.share("1", Visibility.OWN, world.by(""))
    await world.editing.retire("1", world.by(""))
    story = world.events(*BELIEFS)
    assert [(event.kind, event.payload["text"]) for event in story[1:]] == [
        *[(Kind.BELIEF_WRITTEN, "优先三楼")] * 3,
        (Kind.BELIEF_RETRACTED, "优先三楼"),
    ]
    assert story[3].payload["visibility"] == "own"


async def test_an_undone_write_is_told_as_gone_and_an_undone_forgetting_as_back(world: World) -> None:
    await world.add("不吃香菜")
    await world.editing.retire("1", world.by(""))
    await world.undoing.last(world.by(""))
    await world.undoing.last(world.by(""))
    assert told(world.events(*BELIEFS)) == [
        ("written", "user:owner", 1),
        ("retracted", "user:owner", 1),
        ("written", "user:owner", 1),
        ("retracted", "user:owner", 1),
    ]
    assert world.events(*BELIEFS)[-1].payload["gone"] is True


async def test_a_write_overtaken_by_a_hand_edit_waits_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await World(tmp_path).start()
    await world.add("大家好")
    monkeypatch.setattr(world.wiki.store._disk, "place", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        await world.editing.share("1", "all", world.by(""))
    monkeypatch.undo()
    world.close()
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 手写的\n")
    world.wiki.edit("shared/profile.md", "# 全部\n## 当前\n- 手写的\n")
    world = await World(tmp_path, clock=world.clock).start()
    assert len(world.events(Kind.BELIEF_PROPOSED)) == 1
    assert world.wiki.store.overtaken() == []
    world.close()
