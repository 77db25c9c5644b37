"""Recollection shows nothing beyond `EventSight`, and nothing beyond it has any part in what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.privacy import EventSight, Stretch, event_sight
from qingtuan.identity.scopes import Reader, Role, Visibility
from qingtuan.messages import Space
from tests.fakes.embedder import CountingEmbedder
from tests.fakes.talks import GROUP, OTHER_GROUP, OWNER, STRANGER, XIAOLI, Talks, private, talks

ACCOUNTS = (OWNER, XIAOLI, STRANGER, "qq:4")
GROUPS = (GROUP, OTHER_GROUP)
WORDS = ("火锅", "图书馆", "周末", "下雨")


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a random log."""

    account: str
    group: Space | None
    session: int
    """A space can have several at a time."""
    word: str
    reply: bool

    @property
    def space(self) -> Space:
        return self.group or private(self.account)


SAID = st.builds(
    Said,
    st.sampled_from(ACCOUNTS),
    st.sampled_from((None, *GROUPS)),
    st.integers(0, 1),
    st.sampled_from(WORDS),
    st.booleans(),
)
PLACES = st.tuples(st.sampled_from(ACCOUNTS), st.sampled_from((None, *GROUPS)))


@contextmanager
def world_of(story: list[Said]) -> Iterator[Talks]:
    with TemporaryDirectory() as folder, talks(Path(folder), _clock(), embedder=CountingEmbedder()) as world:
        for number, said in enumerate(story):
            text = f"{said.word} {number}"
            reply = f"答{said.word} {number}" if said.reply else ""
            world.says(said.account, text, said.space, session=f"s{said.session}_{said.space}", reply=reply)
        yield world


def seen_by(world: Talks, reader: Reader) -> list[Event]:
    """What the filter lets through, asked event by event."""
    person = world.people.person(reader.person)
    assert person is not None
    view = event_sight(reader, person.accounts)
    sql, values = view.own_stretches()
    own = {
        row["session"]: Stretch(row["session"], row["first"], row["last"]) for row in world.database.rows(sql, values)
    }
    events = world.log.of_kind(Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT)
    return [event for event in events if view.sees(event, own.get(event.place.session or ""))]


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(story=st.lists(SAID, max_size=25), place=PLACES, limit=st.integers(1, 30))
async def test_all_that_is_recalled_is_in_sight_and_no_contact_is_lost(
    story: list[Said], place: tuple[str, Space | None], limit: int
) -> None:
    with world_of(story) as world:
        account, space = place
        reader = world.reader(account, space)
        seen = seen_by(world, reader)
        found = await world.recollection.recall(reader, limit=limit)
        newest: dict[str | None, Event] = {}
        for event in seen:
            if event.kind is Kind.MESSAGE_RECEIVED:
                newest[event.place.person] = event
        first = sorted(newest.values(), key=lambda event: -event.seq)
        rest = [event for event in reversed(seen) if event not in first]
        expected = [event.id for event in (*first, *rest)]
        assert [line.event for line in found] == expected[:limit]
        assert found.missing == max(0, len(first) - limit)
        assert [contact.newest for contact in found.contacts] == [event.id for event in first]

        for query in WORDS[:2]:
            by_meaning = await world.recollection.recall(reader, query=query, limit=limit)
            assert {line.event for line in by_meaning} <= {event.id for event in seen}
        for contact in ACCOUNTS:
            of_one = await world.recollection.recall(reader, query=WORDS[0], contact=contact, limit=1)
            assert {line.event for line in of_one} <= {event.id for event in seen}


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(story=st.lists(SAID, min_size=5, max_size=25), place=PLACES, limit=st.integers(1, 8))
async def test_what_is_out_of_sight_changes_nothing(
    story: list[Said], place: tuple[str, Space | None], limit: int
) -> None:
    """The same answers, in the same order and with the same numbers, as if the rest had never been said."""
    account, space = place
    with world_of(story) as world, TemporaryDirectory() as folder:
        reader = world.reader(account, space)
        visible = seen_by(world, reader)
        with talks(Path(folder), _clock(), embedder=CountingEmbedder()) as smaller:
            for event in visible:
                smaller.clock.advance(event.time - smaller.clock.now())
                smaller.log.append(event.kind, event.place, event.payload, origin=event.origin)
            smaller.database.execute("UPDATE inbox SET state = 'done'")
            smaller.clock.advance(world.clock.now() - smaller.clock.now())
            # Until then the newest entries have vectors, and they may be ones that this reader does not see.
            await world.recollection.episodes.catch_up()
            await smaller.recollection.episodes.catch_up()
            for query, contact in (("", ""), ("", XIAOLI), ("火锅", ""), ("周末下雨", ""), ("火锅", OWNER)):
                one = await world.recollection.recall(reader, query=query, contact=contact, limit=limit)
                other = await smaller.recollection.recall(reader, query=query, contact=contact, limit=limit)
                assert [(line.text, line.time, line.person) for line in one] == [
                    (line.text, line.time, line.person) for line in other
                ]
                assert world.recollection.told(one, world.clock.now(), "zh") == smaller.recollection.told(
                    other, world.clock.now(), "zh"
                )


async def test_who_came_lately_depends_on_who_asks_where(world: Talks) -> None:
    world.says(OWNER, "群里开头", GROUP)
    world.says(XIAOLI, "小李进来", GROUP)
    world.says(STRANGER, "说给大家", GROUP, reply="好")
    world.says(XIAOLI, "小李最后", GROUP)
    world.says(STRANGER, "小李走后", GROUP)
    world.says(STRANGER, "悄悄话", reply="知道了")
    world.says(XIAOLI, "小李的私事")
    world.says(OWNER, "主人的私事")
    recall = world.recollection.recall

    async def heard(account: str, space: Space | None = None) -> set[str]:
        reader = world.reader(account, space)
        by_time = {line.text for line in await recall(reader, limit=50)}
        by_meaning = {line.text for line in await recall(reader, query="小李", limit=50)}
        assert by_meaning == by_time
        return by_time

    in_group = {"群里开头", "小李进来", "说给大家", "好", "小李最后", "小李走后"}
    assert await heard(OWNER) == in_group | {"悄悄话", "知道了", "小李的私事", "主人的私事"}
    assert await heard(XIAOLI) == {"小李进来", "说给大家", "好", "小李最后", "小李的私事"}
    assert await heard(STRANGER) == {"说给大家", "好", "小李最后", "小李走后", "悄悄话", "知道了"}
    assert await heard("qq:4") == set()
    for account in (OWNER, XIAOLI, STRANGER, "qq:4"):
        assert await heard(account, GROUP) == in_group
        assert await heard(account, OTHER_GROUP) == set()


async def test_somebody_elses_chat_shows_nothing(world: Talks) -> None:
    world.says(OWNER, "主人的私事")
    world.says(XIAOLI, "小李的私事")
    for reader in (Reader("qq-2", Role.MEMBER, private(OWNER)), Reader("owner", Role.OWNER, private(XIAOLI))):
        for query in ("", "私事"):
            found = await world.recollection.recall(reader, query=query)
            assert not found.lines
            assert not found.contacts


async def test_the_sight_that_the_instance_gives_counts(world: Talks) -> None:
    """A group that somebody left, and a key that may know little, are the instance's knowledge."""
    world.says(XIAOLI, "在群里", GROUP)
    world.says(OWNER, "主人的私事")
    world.says(XIAOLI, "小李的私事")

    def sees(reader: Reader) -> EventSight:
        narrow = reader.role is Role.OWNER
        accounts = [OWNER] if narrow else [XIAOLI]
        ceiling = Visibility.PUBLIC if narrow else Visibility.PRIVATE
        return event_sight(replace(reader, ceiling=ceiling), accounts, left=[GROUP.id])

    world.sees = sees
    strict = world.fresh()
    for query in ("", "小李"):
        assert [line.text for line in await strict.recall(world.reader(XIAOLI), query=query)] == ["小李的私事"]
        assert [line.text for line in await strict.recall(world.reader(OWNER), query=query)] == ["主人的私事"]


async def test_a_stale_index_widens_nothing(world: Talks) -> None:
    """Text that was indexed under a wrong scope is stopped by the log's own word on where it was said."""
    secret = world.says(STRANGER, "悄悄话")
    world.says(XIAOLI, "小李的私事")
    index = world.indexes.open("episodes")
    (entry,) = [entry for entry in world.recollection.episodes.entries() if entry.id == secret.id]
    place = str(private(XIAOLI))
    index.add(place, [replace(entry, scope=place, document=f"s_{place}")])
    found = await world.recollection.recall(world.reader(XIAOLI), query="悄悄话")
    assert [line.text for line in found] == ["小李的私事"]


def _clock() -> ManualClock:
    return ManualClock(datetime(2026, 11, 29, 2, tzinfo=UTC))


@pytest.fixture
def world() -> Iterator[Talks]:
    with world_of([]) as world:
        yield world
