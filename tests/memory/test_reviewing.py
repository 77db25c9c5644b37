"""What waits for a person's word: whose it is, what a yes and a no do, and that it can be taken back."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.errors import LimitReached, NotAllowed, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.privacy import event_sight
from qingtuan.identity.scopes import SHARED, Scope
from qingtuan.language import Words
from qingtuan.memory import candidates
from qingtuan.memory.acts import By
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.candidates import Item
from qingtuan.memory.reviewing import Settled
from qingtuan.messages import Space
from tests.memory.world import GROUP, World

OWN, OF_GROUP = Scope.of_person("owner"), Scope.of_group("qq:777")
WHY = Words("看出来的", "concluded")
PROFILE = "users/owner/profile.md"


def candidate(value: str, by: By, predicate: str = "口味", **fields: Any) -> Candidate:
    said = {"said_at": by.said_at, "source": by.cause, "how": "inferred"}
    return Candidate("", predicate=predicate, value=value, kind="preference", topic="饮食", **{**said, **fields})


def propose(world: World, value: str, by: By | None = None, scope: Scope = OWN, **fields: Any) -> Item | None:
    """Something concluded from what somebody said; the item that its person sees of it."""
    by = by or world.by(f"最近老吃{value}")
    before = {item.event for item in waiting(world, by.reader.person)}
    world.memory.propose(candidate(value, by, **fields), scope, by, WHY)
    return next((item for item in waiting(world, by.reader.person) if item.event not in before), None)


def waiting(world: World, person: str = "owner", space: Space | None = None) -> list[Item]:
    return world.reviewing.waiting(world.reader(person, space))


def numbers(world: World, person: str = "owner") -> list[int]:
    return [item.number for item in waiting(world, person)]


async def accept(world: World, *wanted: int, person: str = "owner") -> list[Settled]:
    items = [item for item in waiting(world, person) if item.number in wanted]
    return await world.reviewing.accept(items, world.by("/review accept", person))


# Who sees what


async def test_numbers_are_each_person_s_own_and_stay(world: World) -> None:
    propose(world, "川菜")
    propose(world, "粤菜", predicate="别的口味")
    propose(world, "火锅", world.by("火锅", "ming"), Scope.of_person("ming"))
    assert [(item.number, item.text) for item in waiting(world)] == [(1, "口味：川菜"), (2, "别的口味：粤菜")]
    assert numbers(world, "ming") == [1]
    await world.reviewing.reject(waiting(world)[:1], world.by("/review"))
    propose(world, "面", predicate="主食")
    assert numbers(world) == [2, 3]


async def test_nobody_sees_what_is_another_s_and_in_a_group_nobody_sees_anything(world: World) -> None:
    by = world.by("这个群周五开会", "ming", GROUP)
    propose(world, "周五", by, OF_GROUP, predicate="例会", subject="本群")
    propose(world, "火锅", world.by("火锅", "ming"), Scope.of_person("ming"))
    propose(world, "茶", world.by("茶", "li", GROUP), OF_GROUP, predicate="茶", subject="本群")
    assert [item.text for item in waiting(world)] == ["本群的例会：周五", "本群的茶：茶"]
    assert [item.text for item in waiting(world, "ming")] == ["本群的例会：周五", "口味：火锅"]
    assert waiting(world, "li") == []  # who may not write the group
    assert waiting(world, "qq-9") == []
    assert waiting(world, "ming", GROUP) == waiting(world, "owner", GROUP) == []


async def test_the_sentence_is_told_where_its_reader_may_read_it(world: World) -> None:
    item = propose(world, "川菜", world.by("最近老吃川菜"))
    assert item
    found = world.reviewing.sentence(item, event_sight(world.reader(), ["cli:local"]))
    assert found
    assert found.payload["text"] == "最近老吃川菜"
    elsewhere = replace(world.reader("li"), person="li")
    assert world.reviewing.sentence(item, event_sight(elsewhere, ["qq:10002"])) is None
    assert world.reviewing.sentence(replace(item, source=None), event_sight(world.reader(), ["cli:local"])) is None


# Yes


async def test_accepted_is_the_person_s_word_of_the_day_it_was_said(world: World) -> None:
    said = world.by("最近老吃川菜")
    propose(world, "川菜", said)
    world.clock.advance(timedelta(days=3))
    (done,) = await accept(world, 1)
    assert done.how == "accepted"
    assert done.known
    data = done.known.belief.data
    assert (data.how, data.source, data.since) == ("explicit", said.cause, said.said_at.date())
    assert waiting(world) == []


async def test_several_are_one_commit_and_wait_again_once_it_is_taken_back(world: World) -> None:
    propose(world, "川菜")
    propose(world, "早睡", predicate="作息")
    propose(world, "茶", predicate="饮料")
    before = len(world.commits())
    assert [done.how for done in await accept(world, 1, 3)] == ["accepted", "accepted"]
    assert len(world.commits()) == before + 1
    assert world.current() == ["#1 口味：川菜", "#2 饮料：茶"]
    assert numbers(world) == [2]
    await world.undoing.last(world.by("/undo"))
    assert world.current() == []
    assert numbers(world) == [1, 2, 3]
    assert [done.how for done in await accept(world, 1)] == ["accepted"]
    # That was taken back counts from then on.
    assert numbers(world) == [2, 3]


async def test_two_that_contradict_each_other_leave_the_later_one(world: World) -> None:
    propose(world, "川菜")
    propose(world, "粤菜")
    done = await accept(world, 1, 2)
    assert [one.how for one in done] == ["accepted", "accepted"]
    assert world.current() == ["#2 口味：粤菜"]


async def test_what_is_known_already_is_not_written_again(world: World) -> None:
    propose(world, "川菜")
    await world.say("口味：川菜", predicate="口味", value="川菜", kind="preference", topic="饮食")
    before = world.commits()
    (done,) = await accept(world, 1)
    assert (done.how, done.known and done.known.name) == ("known", "1")
    assert world.commits() == before
    assert waiting(world) == []


@pytest.mark.parametrize("later", ["another value", "taken back"])
async def test_what_was_said_otherwise_since_is_not_written(world: World, later: str) -> None:
    propose(world, "川菜")
    await world.say("口味：粤菜" if later == "another value" else "口味：川菜", predicate="口味", kind="preference")
    if later == "taken back":
        await world.editing.retire("1", world.by("别记"))
    before, current = world.commits(), world.current()
    (done,) = await accept(world, 1)
    assert (done.how, done.write) == ("outdated", None)
    assert (world.commits(), world.current()) == (before, current)
    assert waiting(world) == []


async def test_a_number_is_not_mixed_up_when_one_of_several_is_not_written(world: World) -> None:
    propose(world, "川菜")
    await world.say("口味：粤菜", predicate="口味", value="粤菜", kind="preference", topic="饮食")
    propose(world, "茶", predicate="饮料")
    done = await accept(world, 1, 2)
    assert [(one.how, one.known and one.known.belief.text) for one in done] == [
        ("outdated", None),
        ("accepted", "饮料：茶"),
    ]


async def test_what_was_over_when_it_was_accepted_is_history(world: World) -> None:
    today = world.by("").said_at.date()
    propose(world, "去上海", predicate="行程", until=today)
    world.clock.advance(timedelta(days=3))
    (done,) = await accept(world, 1)
    assert done.how == "accepted"
    assert done.known
    assert not done.known.belief.current


async def test_what_the_owner_accepts_for_a_group_is_the_group_s(world: World) -> None:
    by = world.by("我们群周五开会", "ming", GROUP)
    propose(world, "周五", by, OF_GROUP, predicate="例会", subject="本群")
    (done,) = await accept(world, 1)
    assert done.how == "accepted"
    assert done.known
    assert done.known.name == "群1"
    assert done.known.belief.data.source == by.cause
    assert waiting(world, "ming") == []  # one word is enough


async def test_in_other_words_it_is_written_as_by_hand(world: World) -> None:
    item = propose(world, "川菜")
    assert item
    done = await world.reviewing.edit(item, "喜欢川菜，但不要太辣", world.by("/review edit"))
    assert (done.how, done.known and done.known.belief.data.how) == ("edited", "manual")
    assert world.current() == ["#1 喜欢川菜，但不要太辣"]
    await world.undoing.last(world.by("/undo"))
    assert numbers(world) == [1]


@pytest.mark.parametrize(("text", "error"), [("  \u200b ", ToolFailed), ("长" * 2000, LimitReached)])
async def test_what_cannot_be_an_entry_leaves_the_item(world: World, text: str, error: type[Exception]) -> None:
    item = propose(world, "川菜")
    assert item
    with pytest.raises(error):
        await world.reviewing.edit(item, text, world.by("/review edit"))
    assert numbers(world) == [1]


# No, and again


async def test_rejected_is_not_put_up_again_unless_it_is_said_in_so_many_words(world: World) -> None:
    propose(world, "川菜")
    await world.reviewing.reject(waiting(world), world.by("/review reject"))
    assert propose(world, "川菜") is None
    # In the very words of what was said before the no it is not put up again, either.
    late = world.by("以前说的")
    old = replace(late, said_at=late.said_at - timedelta(days=1))
    assert propose(world, "川菜", old, how="explicit") is None
    assert propose(world, "川菜", how="explicit")


async def test_what_waits_already_is_known_or_is_overtaken_is_not_put_up(world: World) -> None:
    propose(world, "川菜")
    assert propose(world, "川菜") is None
    await world.say("饮料：茶", predicate="饮料", value="茶", kind="preference", topic="饮食")
    assert propose(world, "茶", predicate="饮料") is None
    before = world.by("早些时候")
    await world.say("作息：早睡", predicate="作息", value="早睡", kind="preference", topic="饮食")
    assert propose(world, "晚睡", before, predicate="作息") is None
    assert numbers(world) == [1]


async def test_what_nobody_touches_for_a_month_is_dropped_without_a_word(world: World) -> None:
    propose(world, "川菜")
    world.clock.advance(timedelta(days=29))
    propose(world, "茶", predicate="饮料")
    assert world.reviewing.lapse(timedelta(days=30)) == 0
    world.clock.advance(timedelta(days=2))
    assert world.reviewing.lapse(timedelta(days=30)) == 1
    assert numbers(world) == [2]
    assert [event.payload["verdict"] for event in world.events(Kind.BELIEF_REVIEWED)] == ["dropped"]
    assert world.events(Kind.MESSAGE_SENT) == []
    assert propose(world, "川菜")  # it was no no


# Other parts


@dataclass
class Pulled:
    """Stands for the part that pulls pages."""

    done: list[str] = field(default_factory=list)
    fault: Exception | None = None

    async def accept(self, item: Item, by: By) -> Settled:
        if self.fault is not None:
            raise self.fault
        self.done.append(f"merged {item.payload['commit']}")
        return Settled(item, "accepted", words=Words("合进来了。", "It is merged."))

    async def reject(self, item: Item, by: By) -> None:
        self.done.append(f"left {item.payload['commit']}")


def pull(world: World, commit: str = "c1") -> None:
    payload = {"what": "pull", "scope": "shared", "text": f"远端改了 3 页（{commit}）", "commit": commit}
    world.log.append(Kind.BELIEF_PROPOSED, Place(), {**payload, "reason": {"zh": "远端没有担保", "en": "untrusted"}})


async def test_another_part_does_what_was_decided_about_its_items(world: World) -> None:
    part = world.handlers["pull"] = Pulled()
    pull(world)
    pull(world, "c2")
    assert [(item.what, item.text, item.reason.zh, item.scope) for item in waiting(world)] == [
        ("pull", "远端改了 3 页（c1）", "远端没有担保", SHARED),
        ("pull", "远端改了 3 页（c2）", "远端没有担保", SHARED),
    ]
    assert waiting(world, "ming") == []
    (done,) = await accept(world, 1)
    assert (done.how, done.words and done.words.en) == ("accepted", "It is merged.")
    await world.reviewing.reject(waiting(world), world.by("/review reject"))
    assert part.done == ["merged c1", "left c2"]
    assert waiting(world) == []


async def test_what_another_part_cannot_do_waits_on_with_its_sentence(world: World) -> None:
    pull(world)
    (done,) = await accept(world, 1)
    assert done.how == "stays"
    assert done.words
    world.handlers["pull"] = Pulled(fault=NotAllowed(Words("远端又变了。", "The remote has changed again.")))
    (done,) = await accept(world, 1)
    assert done.words == Words("远端又变了。", "The remote has changed again.")
    assert numbers(world) == [1]
    with pytest.raises(NotAllowed):
        await world.reviewing.edit(waiting(world)[0], "别的", world.by("/review edit"))
    world.clock.advance(timedelta(days=90))
    assert world.reviewing.lapse(timedelta(days=30)) == 0


# A hand edit that came first


async def dies(world: World, writing: Awaitable[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends between an intention and its page."""
    monkeypatch.setattr(world.wiki.store._disk, "place", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        await writing
    monkeypatch.undo()


async def overtaken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, before: str, by_hand: str) -> World:
    """The next process after one that died in the middle of remembering 优先二楼, on a page that a person edited."""
    world = await World(tmp_path).start()
    if before:
        await world.add(before)
    await dies(world, world.add("优先二楼"), monkeypatch)
    world.close()
    page = world.wiki.on_disk(PROFILE) or ""
    world.wiki.edit(PROFILE, by_hand if "## 当前" in by_hand else page.replace(before, by_hand))
    return await World(tmp_path, clock=world.clock).start()


async def test_a_write_that_was_overtaken_is_done_again_beside_the_hand_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await overtaken(tmp_path, monkeypatch, before="不吃香菜", by_hand="一点香菜都不吃")
    (item,) = waiting(world)
    assert (item.text, item.what) == ("记住：优先二楼", "overtaken")
    (done,) = await accept(world, 1)
    assert done.how == "accepted"
    assert world.current() == ["#1 一点香菜都不吃", "#2 优先二楼"]
    await world.undoing.last(world.by("/undo"))
    assert (world.current(), numbers(world)) == (["#1 一点香菜都不吃"], [1])
    world.close()


@pytest.mark.parametrize("taken", [False, True])
async def test_where_its_lines_have_no_place_its_entry_is_decided_upon_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    world = await overtaken(tmp_path, monkeypatch, before="", by_hand="# 我\n## 当前\n- 手写的\n")
    if taken:
        await world.add("后来的")  # which takes the number that the write had wanted
    (done,) = await accept(world, 1)
    assert done.how == "accepted"
    assert {line.split(" ", 1)[1] for line in world.current()} >= {"手写的", "优先二楼"}
    names = [line.split()[0] for line in world.current() if line[1].isdigit()]
    assert len(set(names)) == len(names)
    world.close()


async def test_an_overtaken_write_of_what_stands_there_by_hand_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await overtaken(tmp_path, monkeypatch, before="", by_hand="# 我\n## 当前\n- 优先二楼\n")
    (done,) = await accept(world, 1)
    assert done.how == "known"
    world.close()


async def test_numbering_that_was_overtaken_bothers_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await World(tmp_path).start()
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 手写的\n")
    await world.memory.edited([PROFILE])
    await dies(world, world.editing.number(OWN, world.by("/memory")), monkeypatch)
    world.close()
    world.wiki.edit(PROFILE, "# 我\n## 当前\n- 手写的，又改了\n")
    world = await World(tmp_path, clock=world.clock).start()
    assert waiting(world) == []
    assert world.wiki.store.overtaken() == []
    world.close()


# The table


async def test_the_table_is_a_projection(world: World) -> None:
    propose(world, "川菜")
    propose(world, "早睡", predicate="作息")
    propose(world, "茶", predicate="饮料")
    pull(world)
    propose(world, "周五", world.by("群里", "ming", GROUP), OF_GROUP, predicate="例会", subject="本群")
    await accept(world, 1, 2)
    await world.undoing.last(world.by("/undo"))
    await accept(world, 2)
    await world.reviewing.reject([item for item in waiting(world) if item.number == 3], world.by("/review"))
    world.log.append(Kind.REVIEW_ASKED, Place(person="owner"), {"items": [waiting(world)[0].event]})
    stood = tables(world)
    for name in ("candidate_numbers", "candidates"):
        world.log.database.execute(f"DELETE FROM {name}")
    for event in list(world.log.replay()):
        candidates.project(world.log.database, event)
    assert tables(world) == stood
    assert [item.asked for item in waiting(world)] == [True, False, False]


async def test_a_person_who_is_forgotten_leaves_nothing_there(world: World) -> None:
    propose(world, "火锅", world.by("火锅", "ming"), Scope.of_person("ming"))
    propose(world, "周五", world.by("群里", "ming", GROUP), OF_GROUP, predicate="例会", subject="本群")
    propose(world, "川菜")
    world.log.append(Kind.PERSON_FORGOTTEN, Place(person="ming"))
    assert waiting(world, "ming") == []
    assert [item.text for item in waiting(world)] == ["口味：川菜"]


def tables(world: World) -> list[list[tuple[object, ...]]]:
    rows = (world.log.database.rows(f"SELECT * FROM {name}") for name in ("candidates", "candidate_numbers"))
    return [sorted(map(tuple, found)) for found in rows]
