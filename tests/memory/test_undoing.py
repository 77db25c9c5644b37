"""Taking back one's own last write: each once, the newest first, and never what somebody did since."""

from __future__ import annotations

import pytest

from qingtuan.errors import CannotUndo, NotThere
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Visibility
from tests.memory.world import GROUP, World

PROFILE = "users/owner/profile.md"


async def test_writes_of_every_kind_one_after_the_other_and_then_no_more(world: World) -> None:
    await world.add("不吃香菜")
    first = world.page(PROFILE)
    await world.editing.pin("1", world.by(""))
    await world.editing.share("1", Visibility.OWN, world.by(""))
    await world.editing.edit("1", "不吃葱", world.by(""))
    await world.notes.write("笔记", "内容", world.by(""))
    await world.editing.share("1", "all", world.by(""))
    await world.editing.retire("G1", world.by(""))
    told = [await world.undoing.last(world.by("/undo")) for _ in range(6)]
    assert told == [
        "移到历史：不吃葱", "全局：不吃葱", "笔记：笔记", "改成：不吃葱", "可见范围 own：不吃香菜", "置顶：不吃香菜",
    ]  # fmt: skip
    assert world.page(PROFILE) == first
    assert await world.undoing.last(world.by("/undo")) == "记住：不吃香菜"
    assert world.wiki.on_disk(PROFILE) is None
    with pytest.raises(NotThere):
        await world.undoing.last(world.by("/undo"))
    assert world.wiki.is_clean()
    assert world.wiki.ledger_matches_replay()


async def test_what_was_taken_back_is_gone_from_the_index_too(world: World) -> None:
    await world.add("不吃香菜")
    await world.notes.write("食谱", "香菜做汤", world.by(""))
    for _ in range(2):
        await world.undoing.last(world.by("/undo"))
    assert list(world.library.entries()) == []
    assert world.index.verify(world.library.entries()) == []


async def test_nobody_takes_back_what_somebody_else_wrote(world: World) -> None:
    await world.add("主人的", world.by(""))
    await world.add("小明的", world.by("", "ming"))
    by = world.by("记住本群周五聚餐", "ming", GROUP)
    await world.say("周五聚餐", by, subject="本群", kind="event", topic="聚餐")
    with pytest.raises(NotThere):
        await world.undoing.last(world.by("/undo", "li", GROUP))
    assert await world.undoing.last(world.by("/undo")) == "记住：主人的"
    with pytest.raises(NotThere):
        await world.undoing.last(world.by("/undo"))
    assert await world.undoing.last(world.by("/undo", "ming")) == "记住：周五聚餐"
    assert world.current("ming") == ["#1 小明的"]


async def test_numbering_what_was_written_by_hand_is_nobodys_write(world: World) -> None:
    await world.add("不吃香菜")
    world.wiki.edit(PROFILE, world.page(PROFILE).replace("## 当前\n", "## 当前\n- 手写的\n"))
    await world.memory.edited([PROFILE])
    await world.editing.clear(world.by(""))
    assert await world.undoing.last(world.by("/undo")) == "清空 2 条"
    assert await world.undoing.last(world.by("/undo")) == "记住：不吃香菜"
    assert world.current() == ["#2 手写的"]


async def test_a_hand_edit_elsewhere_on_the_page_stays(world: World) -> None:
    await world.add("不吃香菜")
    await world.add("不吃葱")
    world.wiki.edit(PROFILE, world.page(PROFILE).replace("# 基本情况\n", "# 基本情况\n\n我写的。\n"))
    assert await world.undoing.last(world.by("/undo")) == "记住：不吃葱"
    assert "我写的。" in world.page(PROFILE)
    assert world.current() == ["#1 不吃香菜"]


async def test_a_line_that_was_changed_since_is_not_taken_back(world: World) -> None:
    await world.add("不吃香菜")
    world.wiki.edit(PROFILE, world.page(PROFILE).replace("- 不吃香菜 ^1", "- 不吃香菜，葱也不吃 ^1"))
    await world.memory.edited([PROFILE])
    with pytest.raises(CannotUndo):
        await world.undoing.last(world.by("/undo"))
    assert world.current() == ["#1 不吃香菜，葱也不吃"]


async def test_a_later_write_of_another_on_the_page_stays(world: World) -> None:
    by = world.by("记住本群周五聚餐", space=GROUP)
    await world.say("周五聚餐", by, subject="本群", kind="event", topic="聚餐")
    by = world.by("记住本群周六聚餐", "ming", GROUP)
    await world.say("周六也聚餐", by, subject="本群", kind="event", topic="聚餐")
    assert await world.undoing.last(world.by("/undo")) == "记住：周五聚餐"
    assert world.current("li", GROUP) == ["#群2 周六也聚餐"]


async def test_the_last_write_of_a_turn_before_its_commit(world: World) -> None:
    for content in ("不吃香菜", "不吃葱"):
        await world.say(content, world.by(f"记住{content}", turn="turn_1"))
    assert await world.undoing.last(world.by("/undo", turn="turn_2")) == "记住：不吃葱"
    await world.memory.commit("turn_1")
    await world.memory.commit("turn_2")
    assert world.current() == ["#1 不吃香菜"]
    assert world.wiki.is_clean()
    assert len(world.events(Kind.WRITE_UNDONE)) == 1
