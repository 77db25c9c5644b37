"""People's own hand on entries: by number and by words, wherever a bullet was moved, and never somebody else's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.errors import NotAllowed, NotThere, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.memory.acts import By
from qingtuan.memory.known import Known
from tests.memory.world import GROUP, World, told

PROFILE = "users/owner/profile.md"
SEATS = "users/owner/preferences/图书馆.md"
SEAT: dict[str, Any] = {"kind": "preference", "topic": "图书馆", "predicate": "座位偏好"}
BELIEFS = (Kind.BELIEF_WRITTEN, Kind.BELIEF_RETRACTED)


# Forgetting


async def test_forget_by_number_and_by_words(world: World) -> None:
    for content in ("喜欢坐地铁", "对花生过敏", "喜欢坐二楼"):
        await world.add(content)
    assert (await world.editing.forget("#2", world.by(""))).belief.statement == "对花生过敏"
    assert (await world.editing.forget("忘掉我坐地铁的事", world.by(""))).belief.statement == "喜欢坐地铁"
    assert world.current() == ["#3 喜欢坐二楼"]
    retracted = world.events(Kind.BELIEF_RETRACTED)
    assert [event.payload["text"] for event in retracted] == ["对花生过敏", "喜欢坐地铁"]
    assert all(event.cause for event in retracted)


async def test_what_is_taken_back_moves_to_history_with_the_reason(world: World) -> None:
    for content in ("不吃香菜", "不吃葱", "不吃蒜"):
        await world.add(content)
    await world.editing.forget("忘掉香菜", world.by(""))
    await world.editing.retire("2", world.by(""))
    await world.editing.clear(world.by(""))
    history = world.page(PROFILE).partition("## 历史\n")[2].splitlines()
    day = "2026-11-29~2026-11-29"
    assert history[:3] == [
        f"- {day}：曾不吃蒜（清空） ^3", f"- {day}：曾不吃葱（本人删除） ^2", f"- {day}：曾不吃香菜（本人要求忘掉） ^1",
    ]  # fmt: skip
    world.clock.advance(timedelta(days=1))
    assert (await world.add("不吃香菜")).name == "4"


async def test_what_is_not_clearly_meant_is_not_forgotten(world: World) -> None:
    await world.add("喜欢坐二楼靠窗的位子")
    await world.add("喜欢坐二楼靠门的位子")
    with pytest.raises(ToolFailed) as several:
        await world.editing.forget("忘掉二楼的位子", world.by(""))
    assert "#1 " in several.value.words.zh
    assert "#2 " in several.value.words.zh
    with pytest.raises(ToolFailed) as faint:
        await world.editing.forget("忘掉我昨天说想坐飞机去巴黎看二楼展览的计划", world.by(""))
    assert "最接近" in faint.value.words.zh
    for query in ("粤菜", "", "²", "G", "群", "#"):
        with pytest.raises((NotThere, ToolFailed)):
            await world.editing.forget(query, world.by(""))
    assert len(world.current()) == 2


async def test_nobody_forgets_what_they_cannot_see_or_change(world: World) -> None:
    await world.add("存折在抽屉")
    await world.add("不吃香菜", world.by("", "li"))
    await world.editing.share("1", Visibility.PUBLIC, world.by("", "li"))
    with pytest.raises(NotThere):
        await world.editing.forget("存折", world.by("", "li"))
    with pytest.raises(NotThere):
        await world.editing.forget("香菜", world.by(""))
    for query in ("存折", "1"):
        with pytest.raises(NotThere):
            await world.editing.forget(query, world.by("", space=GROUP))
    assert len(world.current()) == 2


async def test_in_a_group_its_memory_is_forgotten_by_who_may_write_it(world: World) -> None:
    by = world.by("记住本群周五聚餐", space=GROUP)
    await world.say("周五聚餐", by, subject="本群", kind="event", topic="聚餐")
    with pytest.raises(NotThere):
        await world.editing.forget("聚餐", world.by("", "li", GROUP))
    with pytest.raises(NotAllowed):
        await world.editing.forget("群1", world.by("", "li", GROUP))
    assert (await world.editing.forget("忘掉聚餐的事", world.by("", "ming", GROUP))).name == "群1"


async def test_a_hand_written_bullet_is_forgotten_by_its_words(world: World) -> None:
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 不吃香菜\n- 不吃葱\n")
    await world.memory.edited([PROFILE])
    assert (await world.editing.forget("香菜", world.by(""))).name == "1"
    assert world.current() == ["#2 不吃葱"]


async def test_what_is_history_is_not_changed_again(world: World) -> None:
    await world.add("不吃香菜")
    await world.editing.retire("1", world.by(""))
    changes: list[Callable[[By], Awaitable[Known]]] = [
        lambda by: world.editing.retire("1", by),
        lambda by: world.editing.edit("1", "x", by),
        lambda by: world.editing.pin("1", by),
        lambda by: world.editing.share("1", Visibility.PUBLIC, by),
    ]
    for change in changes:
        with pytest.raises(NotThere):
            await change(world.by(""))


# Moved and copied by hand


async def test_a_line_copied_on_its_page_is_a_new_entry_and_either_can_be_changed(world: World) -> None:
    await world.add("不吃香菜")
    world.wiki.edit(PROFILE, world.page(PROFILE).replace("- 不吃香菜 ^1\n", "- 不吃香菜 ^1\n- 不吃香菜 ^1\n"))
    await world.memory.edited([PROFILE])
    await world.editing.retire("1", world.by(""))
    assert world.current() == ["#2 不吃香菜"]


async def test_a_line_that_was_moved_and_copied_can_still_be_changed(world: World) -> None:
    await world.say("优先二楼", **SEAT, value="二楼")
    world.wiki.edit(SEATS, world.page(SEATS).replace("- 优先二楼 ^1\n", ""))
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 优先二楼 ^1\n- 优先二楼 ^1\n- 手写的\n")
    await world.memory.edited([SEATS, PROFILE])
    pinned = await world.editing.pin("1", world.by(""))
    assert (pinned.belief.data.value, pinned.belief.data.pinned) == ("二楼", True)
    assert world.current() == ["#1 优先二楼", "#2 优先二楼", "#3 手写的"]


async def test_a_moved_bullet_takes_its_data_with_it_when_it_is_changed(world: World) -> None:
    await world.say("优先二楼", world.by("记住优先二楼"), **SEAT, value="二楼")
    world.wiki.edit(SEATS, world.page(SEATS).replace("- 优先二楼 ^1\n", ""))
    world.wiki.edit(PROFILE, "---\nvisibility: public\n---\n# 我\n## 当前\n- 优先二楼 ^1\n")
    await world.memory.edited([SEATS, PROFILE])
    assert world.current("li") == []
    await world.editing.retire("1", world.by(""))
    gone = world.editing.named("1", world.by(""))
    assert not gone.belief.current
    assert gone.belief.visibility is Visibility.PRIVATE
    assert gone.belief.data.value == "二楼"
    assert gone.belief.data.source
    assert world.current("li") == []


async def test_a_moved_bullet_is_shared_pinned_and_edited_with_its_data(world: World) -> None:
    for content in ("一", "二", "三"):
        await world.say(content, kind="preference", topic="数")
    page = "users/owner/preferences/数.md"
    bullets = "- 一 ^1\n- 二 ^2\n- 三 ^3\n"
    world.wiki.edit(page, world.page(page).replace(bullets, ""))
    world.wiki.edit(PROFILE, f"# 我\n## 当前\n{bullets}")
    await world.memory.edited([page, PROFILE])
    sources = {event.payload["number"]: event.cause for event in world.events(Kind.BELIEF_WRITTEN)}
    pinned = await world.editing.pin("1", world.by(""))
    shared = await world.editing.share("2", "all", world.by(""))
    edited = await world.editing.edit("3", "三个", world.by(""))
    assert (pinned.belief.data.source, shared.belief.data.source) == (sources[1], sources[2])
    assert (edited.belief.visibility, edited.belief.data.how) == (Visibility.PRIVATE, "manual")


# Sharing


async def test_to_all_and_back_with_numbers_that_are_never_used_again(world: World) -> None:
    await world.say("优先二楼", **SEAT, value="二楼")
    shared = await world.editing.share("1", "all", world.by(""))
    assert (shared.name, shared.path) == ("G1", "shared/preferences/图书馆.md")
    assert world.current("li") == ["#G1 优先二楼"]
    back = await world.editing.share("G1", Visibility.PRIVATE, world.by(""))
    assert (back.name, back.path) == ("2", SEATS)
    assert back.belief.data.predicate == "座位偏好"
    assert world.current("li") == []
    assert (await world.editing.share("2", "all", world.by(""))).name == "G2"
    assert (await world.add("不吃香菜")).name == "3"
    assert told(world.events(*BELIEFS))[:4] == [
        ("written", "user:owner", 1),
        ("written", "shared", 1),
        ("retracted", "user:owner", 1),
        ("retracted", "shared", 1),
    ]
    assert world.memory.writer.floor(SHARED) == 2


async def test_numbers_survive_a_restart_a_deletion_by_hand_and_an_undo(tmp_path: Path) -> None:
    world = await World(tmp_path).start()
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 手写的\n")
    await world.memory.edited([PROFILE])
    await world.editing.number(Scope.of_person("owner"), world.by(""))
    await world.add("不吃香菜")
    await world.undoing.last(world.by(""))
    world.wiki.edit(PROFILE, "# 我\n## 当前\n")
    await world.memory.edited([PROFILE])
    world.close()
    world = await World(tmp_path, clock=world.clock).start()
    assert (await world.add("不吃葱")).name == "3"
    world.close()


async def test_only_the_owner_writes_for_all(world: World) -> None:
    await world.add("都听我的", world.by("", "li"))
    with pytest.raises(NotAllowed):
        await world.editing.share("1", "all", world.by("", "li"))
    await world.add("大家好")
    await world.editing.share("1", "all", world.by(""))
    for change in (world.editing.retire, world.editing.pin):
        with pytest.raises(NotAllowed):
            await change("G1", world.by("", "li"))
    with pytest.raises(NotAllowed):
        await world.editing.share("G1", Visibility.PRIVATE, world.by("", "li"))


async def test_what_a_group_remembers_stays_there(world: World) -> None:
    by = world.by("记住本群周五聚餐", space=GROUP)
    await world.say("周五聚餐", by, subject="本群", kind="event", topic="聚餐")
    with pytest.raises(NotAllowed):
        await world.editing.share("群1", Visibility.PUBLIC, world.by("", space=GROUP))
    with pytest.raises(NotThere):
        world.editing.named("群1", world.by(""))


# Clearing


async def test_clear_takes_ones_own_and_tells_of_each(world: World) -> None:
    await world.say("优先二楼", **SEAT)
    await world.add("大家好")
    await world.editing.share("2", "all", world.by(""))
    await world.add("别人的", world.by("", "li"))
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 手写的\n- 手写的\n")
    await world.memory.edited([PROFILE])
    before = len(world.events(Kind.BELIEF_RETRACTED))
    assert await world.editing.clear(world.by("")) == 3
    assert world.current() == ["#G1 大家好"]
    assert sorted(world.current("li")) == ["#1 别人的", "#G1 大家好"]
    assert len(world.events(Kind.BELIEF_RETRACTED)) == before + 3
    assert await world.editing.clear(world.by("")) == 0
    assert "清空" in await world.undoing.last(world.by(""))
    assert len(world.current()) == 4
