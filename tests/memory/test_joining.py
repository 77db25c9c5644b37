"""Joining folders on a real wiki: one write, one commit, and back to what was, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.memory import joining as of_joining
from qingtuan.memory.acts import By
from qingtuan.memory.joining import Joining, Parted
from qingtuan.memory.union import Basis, Folder, United, united
from tests.memory.wiki.nasty import PAGES, PLAIN
from tests.memory.world import World

MING, LI = "users/ming", "users/li"
LIBRARY = "preferences/图书馆.md"


@pytest.fixture
def joining(world: World) -> Joining:
    return Joining(world.memory)


def linked(world: World, kept: str = "ming") -> By:
    """On behalf of somebody, because of a link."""
    by = world.by("确认", kept)
    event = world.log.append(Kind.PERSON_LINKED, by.place, {"kept": kept, "gone": "li"}, cause=by.cause)
    return replace(by, cause=event.id)


def put(world: World, pages: Mapping[str, str]) -> None:
    for path, text in pages.items():
        file = world.root / "wiki" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def on_disk(world: World) -> dict[str, bytes]:
    wiki = world.root / "wiki"
    return {str(path.relative_to(wiki)): path.read_bytes() for path in sorted(wiki.glob("users/**/*.md"))}


async def like(world: World, person: str, value: str) -> None:
    wish = {"kind": "preference", "topic": "图书馆", "predicate": "座位偏好", "value": value}
    await world.say(f"优先{value}", world.by(f"记住优先{value}", person), **wish)


async def test_a_join_is_one_write_and_one_commit(world: World, joining: Joining) -> None:
    await like(world, "ming", "二楼")
    await like(world, "li", "三楼")
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    await world.notes.write("菜谱", "番茄炒蛋", world.by("记下", "li"))
    before, commits = on_disk(world), len(world.commits())
    by = linked(world)
    done = await joining.join("ming", "li", by)
    assert (done.entries, done.known, done.settled, done.left) == (2, 0, 1, ())
    assert len(world.commits()) == commits + 1
    assert world.commits()[0] == "关联：li 并入 ming"
    assert not [path for path in on_disk(world) if path.startswith(LI)]
    assert world.current("ming") == ["#2 优先三楼", "#3 养了一只猫"]
    assert "曾优先二楼" in world.page(f"{MING}/{LIBRARY}")
    assert "番茄炒蛋" in world.page(f"{MING}/notes/菜谱.md")
    assert len(world.wiki.store.ledger.of(by.cause)) == 6
    parted = await joining.part(by.cause, world.by("解除", "ming"))
    assert parted == Parted()
    assert on_disk(world) == before
    assert len(world.commits()) == commits + 2
    assert not joining.joined(by.cause)


async def test_whatever_stands_there_comes_back_byte_for_byte(world: World, joining: Joining) -> None:
    texts = sorted(PAGES.values())
    put(world, {f"{MING}/preferences/{number}.md": text for number, text in enumerate(texts)})
    put(world, {f"{LI}/preferences/{number}.md": text for number, text in enumerate(reversed(texts))})
    put(world, {f"{LI}/notes/{number}.md": text for number, text in enumerate(texts)})
    put(world, {f"{LI}/records/broken.md": "---\nid: [\n---\n", f"{LI}/profile.md": PLAIN.replace("\n", "\r\n")})
    await world.memory.edited(["users"])
    before = on_disk(world)
    by = linked(world)
    await joining.join("ming", "li", by)
    assert world.page(f"{MING}/records/broken.md") == "---\nid: [\n---\n"
    assert len(on_disk(world)) == len(before)
    assert await joining.part(by.cause, world.by("解除", "ming")) == Parted()
    assert on_disk(world) == before


async def test_what_was_remembered_since_stays_and_is_named(world: World, joining: Joining) -> None:
    await like(world, "ming", "二楼")
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    before = on_disk(world)
    by = linked(world)
    await joining.join("ming", "li", by)
    await world.say("不吃香菜", world.by("记住不吃香菜", "ming"))
    await world.say("提前十分钟到", world.by("记住", "ming"), kind="preference", topic="图书馆")
    parted = await joining.part(by.cause, world.by("解除", "ming"))
    assert parted.stayed == (f"{MING}/profile.md",)
    assert world.current("li") == ["#1 养了一只猫"]
    assert world.current("ming") == ["#1 优先二楼", "#4 提前十分钟到", "#3 不吃香菜"]
    assert on_disk(world)[f"{LI}/profile.md"] == before[f"{LI}/profile.md"]


async def test_what_was_changed_since_is_not_lost(world: World, joining: Joining) -> None:
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    await world.say("住在武汉", world.by("记住住在武汉", "li"))
    await world.say("喜欢茶", world.by("记住喜欢茶", "ming"))
    by = linked(world)
    await joining.join("ming", "li", by)
    ming = world.by("改", "ming")
    await world.editing.edit("2", "养了两只猫", ming)
    parted = await joining.part(by.cause, world.by("解除", "ming"))
    assert parted.stayed == (f"{MING}/profile.md",)
    assert world.current("ming") == ["#1 喜欢茶", "#2 养了两只猫"]
    assert world.current("li") == ["#1 养了一只猫", "#2 住在武汉"]


async def test_a_folder_that_somebody_made_anew_is_not_written_over(world: World, joining: Joining) -> None:
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    before = world.page(f"{LI}/profile.md")
    by = linked(world)
    await joining.join("ming", "li", by)
    put(world, {f"{LI}/profile.md": "# mine\n"})
    await joining.part(by.cause, world.by("解除", "ming"))
    assert world.page(f"{LI}/profile.md") == "# mine\n"
    assert world.page(f"{LI}/profile-2.md") == before


async def test_numbers_are_never_given_twice(world: World, joining: Joining) -> None:
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    await world.say("喜欢茶", world.by("记住喜欢茶", "ming"))
    by = linked(world)
    await joining.join("ming", "li", by)
    await joining.part(by.cause, world.by("解除", "ming"))
    await world.say("喜欢奶", world.by("记住喜欢奶", "ming"))
    assert world.current("ming") == ["#1 喜欢茶", "#3 喜欢奶"]


async def test_the_story_of_an_entry_goes_on(world: World, joining: Joining) -> None:
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    await world.say("喜欢茶", world.by("记住喜欢茶", "ming"))
    by = linked(world)
    await joining.join("ming", "li", by)
    events = [event for event in world.log.caused_by(by.cause) if "number" in event.payload]
    told = [(event.kind, event.payload["scope"], event.payload["number"]) for event in events]
    assert told == [(Kind.BELIEF_RETRACTED, "user:li", 1), (Kind.BELIEF_WRITTEN, "user:ming", 2)]


async def test_there_may_be_nothing_to_join(world: World, joining: Joining) -> None:
    by = linked(world)
    assert (await joining.join("ming", "li", by)).entries == 0
    assert await joining.part(by.cause, world.by("解除", "ming")) == Parted()
    assert on_disk(world) == {}


async def test_what_cannot_be_opened_stays_where_it_is_and_is_named(world: World, joining: Joining) -> None:
    await world.say("养了一只猫", world.by("记住养了一只猫", "li"))
    (world.root / "wiki" / LI / "rules").mkdir()
    (world.root / "wiki" / LI / "rules" / "x.md").symlink_to(Path("/etc/hostname"))
    await world.wiki.store.scan()
    done = await joining.join("ming", "li", linked(world))
    assert done.left == (f"{LI}/rules/x.md",)
    assert world.current("ming") == ["#1 养了一只猫"]


async def test_what_is_saved_while_folders_are_joined_stays(
    world: World, joining: Joining, monkeypatch: pytest.MonkeyPatch
) -> None:
    await like(world, "ming", "二楼")
    await like(world, "li", "三楼")
    path, saved = f"{MING}/{LIBRARY}", list[str]()

    def slow(kept: Folder, gone: Folder, basis: Basis) -> United:
        if not saved:
            page = world.root / "wiki" / path
            page.write_text(page.read_text("utf-8").replace("## 当前", "刚写的一句。\n\n## 当前"), "utf-8")
            saved.append(path)
            # Noticed by the watch, which does not wait for the join.
            asyncio.run_coroutine_threadsafe(world.memory.edited([path]), loop).result()
        return united(kept, gone, basis)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(of_joining, "united", slow)
    await joining.join("ming", "li", linked(world))
    assert saved
    assert "刚写的一句。" in world.page(path)
    assert world.current("ming") == ["#2 优先三楼"]
