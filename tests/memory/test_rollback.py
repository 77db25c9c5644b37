"""Going back to what pages were: told of each entry, so that its story, its number and the way forward stay right."""

from __future__ import annotations

from datetime import timedelta

from qingtuan.events.kinds import Kind
from qingtuan.identity.privacy import event_sight
from qingtuan.memory.recall import Listener
from tests.memory.world import ZONE, World, told

PROFILE = "users/owner/profile.md"


def why(world: World, name: str) -> list[str]:
    by = world.by("")
    view = event_sight(by.reader, ["cli:local"])
    return world.recall.why(world.editing.named(name, by), view, Listener(ZONE, "zh")).splitlines()


def told_since(world: World, seq: int) -> list[tuple[str, str, object]]:
    return told([event for event in world.events(Kind.BELIEF_WRITTEN, Kind.BELIEF_RETRACTED) if event.seq > seq])


def last(world: World) -> int:
    return list(world.log.replay())[-1].seq


async def test_a_page_that_goes_back_tells_of_every_entry_on_it(world: World) -> None:
    await world.add("不吃香菜")
    commit = world.wiki.git("rev-parse", "HEAD").strip()
    await world.add("不吃葱")
    await world.editing.edit("1", "少吃香菜", world.by(""))
    seq = last(world)
    assert await world.undoing.page_to(PROFILE, commit, world.by("")) == (PROFILE,)
    assert told_since(world, seq) == [("written", "user:owner", 1), ("retracted", "user:owner", 2)]
    assert world.current() == ["#1 不吃香菜"]
    assert [line.split("：")[-1] for line in why(world, "1")[3:]] == ["不吃香菜", "少吃香菜", "不吃香菜"]


async def test_a_number_that_went_with_a_rollback_is_never_given_again(world: World) -> None:
    await world.add("不吃香菜")
    commit = world.wiki.git("rev-parse", "HEAD").strip()
    world.wiki.edit(PROFILE, world.page(PROFILE).replace("不吃香菜 ^1", "不吃香菜 ^1\n- 手写的 ^7"))
    await world.memory.edited([PROFILE])
    await world.undoing.page_to(PROFILE, commit, world.by(""))
    assert (await world.add("不吃葱")).name == "8"


async def test_everything_back_to_a_day_and_forward_again(world: World) -> None:
    await world.add("不吃香菜")
    evening = world.clock.now()
    world.clock.advance(timedelta(days=1))
    await world.add("不吃葱")
    await world.say("图书馆坐二楼", kind="preference", topic="图书馆")
    seq = last(world)
    changed = await world.undoing.all_to(evening, world.by(""))
    assert sorted(changed) == ["users/owner/preferences/图书馆.md", PROFILE]
    assert world.current() == ["#1 不吃香菜"]
    assert told_since(world, seq) == [("retracted", "user:owner", 2), ("retracted", "user:owner", 3)]
    assert world.index.verify(world.library.entries()) == []
    seq = last(world)
    assert "回到" in await world.undoing.last(world.by("/undo"))
    assert sorted(world.current()) == ["#1 不吃香菜", "#2 不吃葱", "#3 图书馆坐二楼"]
    assert told_since(world, seq) == [("written", "user:owner", 2), ("written", "user:owner", 3)]
    assert world.wiki.ledger_matches_replay()
    assert world.wiki.is_clean()


async def test_one_write_is_taken_back_by_its_event(world: World) -> None:
    await world.add("不吃香菜")
    await world.add("不吃葱")
    first = world.events(Kind.PAGE_INTENDED)[0].cause
    seq = last(world)
    await world.undoing.write(str(first), world.by(""))
    assert told_since(world, seq) == [("retracted", "user:owner", 1)]
    assert world.current() == ["#2 不吃葱"]
    assert await world.undoing.last(world.by("/undo")) == "记住：不吃葱"


async def test_a_page_that_is_as_asked_for_already_tells_nothing(world: World) -> None:
    await world.add("不吃香菜")
    seq = last(world)
    by = world.by("")
    assert await world.undoing.page_to(PROFILE, "HEAD", by) == ()
    assert told_since(world, seq) == []


async def test_an_entry_that_was_reworded_by_hand_says_so(world: World) -> None:
    await world.add("不吃香菜")
    assert "手改" not in why(world, "1")[-1]
    world.wiki.edit(PROFILE, world.page(PROFILE).replace("不吃香菜 ^1", "少吃香菜 ^1"))
    await world.memory.edited([PROFILE])
    assert why(world, "1")[0] == "#1 少吃香菜"
    assert "手改" in why(world, "1")[-1]
