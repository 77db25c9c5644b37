"""Erasing one entry from the record: its own events, the message in which it was said, and whatever repeats it.

What may go is bounded by whose entry it is: with a person's own entry their events; with a group's entry what programs
said in that group; with what is for all, what programs said anywhere. A message of somebody else goes only if the
entry comes from it. And nothing goes that stood in the record before the entry was first said: it cannot repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qingtuan.events.erasing import erase, unfinished
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.overheard import delete_overheard
from qingtuan.events.turns import SAYING
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Scope
from qingtuan.memory.acts import By
from qingtuan.memory.erasing.plan import Plan
from qingtuan.memory.erasing.record import (
    ABOUT,
    MADE,
    NAMING_PARTS,
    delete_parts,
    each,
    lines_of,
    media_only_of,
    of_summaries,
    part_holds,
    parts_of,
    parts_that,
    said_by,
    talk_of,
    with_their_calls,
)
from qingtuan.memory.erasing.words import Needles, telling
from qingtuan.memory.known import Known
from qingtuan.memory.likeness import contains, normalise_text, normalise_value
from qingtuan.memory.story import Story, story_of
from qingtuan.memory.summaries import Summaries, Summary
from qingtuan.storage.sqlite import marks

_SAID = frozenset({Kind.MESSAGE_RECEIVED, Kind.STATEMENT_IMPORTED, Kind.PROGRAM_CALLED})
_SHORTEST = 2
"""Characters that a value has at least, to be looked for in the turn in which it was said."""


@dataclass(frozen=True, slots=True)
class Trail:
    """An entry, and by what it is known in the record."""

    known: Known
    story: Story
    texts: tuple[str, ...]
    """All that it ever said."""
    waiting: tuple[Event, ...]
    """What was proposed for review and says the same."""
    said: tuple[Event, ...]
    """The messages in which it was said."""
    needles: Needles
    """What betrays it anywhere in reach."""
    loose: Needles
    """What betrays it in the turn in which it was said."""

    @property
    def since(self) -> int:
        """Position in the log before which nothing can repeat it."""
        return min((event.seq for event in (*self.said, *self.story.events)), default=0)


@dataclass(frozen=True, slots=True)
class Found:
    """What goes with an entry."""

    trail: Trail
    events: dict[str, Event]
    summaries: tuple[Summary, ...]
    told: frozenset[str]
    """The pieces of requests that hold the summaries' texts."""
    near: frozenset[str]
    """The pieces of requests of the turns in which it was said."""

    @property
    def messages(self) -> int:
        """How many messages of people go."""
        return sum(event.kind is Kind.MESSAGE_RECEIVED for event in self.events.values())

    @property
    def repeated(self) -> int:
        """How many replies, results and the like go."""
        return sum(event.kind in MADE for event in self.events.values())


class Purging:
    """Clears the record of single entries."""

    def __init__(self, log: Log, people: People, summaries: Summaries) -> None:
        self._log = log
        self._people = people
        self._summaries = summaries
        self._inbox = Inbox(log)

    def found(self, known: Known, by: By) -> Found:
        """All that goes with an entry, if `by` erases it."""
        trail = self._trail(known)
        events = {event.id: event for event in (*trail.said, *trail.story.events, *trail.waiting)}
        turns = [event for said in trail.said for event in self._around(said)]
        events |= {event.id: event for event in turns if event.kind in MADE and trail.loose.in_value(event.payload)}
        condition, values = self._reach(known.scope, by)
        for event in each(self._log, f"seq >= ? AND ({condition})", [trail.since, *values]):
            if trail.needles.in_value(event.payload):
                events[event.id] = event
        erased = with_their_calls(self._log, events.values())
        summaries = self._summaries_of(trail, erased.values())
        answers, told = of_summaries(self._log, summaries)
        erased |= answers
        near = frozenset(name for event in turns for name in parts_of(event))
        return Found(trail, erased, tuple(summaries), frozenset(told), near)

    def texts(self, known: Known) -> tuple[str, ...]:
        """All that an entry ever said."""
        return self._trail(known).texts

    def erase(self, known: Known, by: By) -> Event:
        """Clear the record of an entry: at once and altogether. The event that says so; what is left to do
        stands in the plan that it names."""
        found = self.found(known, by)
        plan, parts = self._plan(found), self._parts(found)
        messages = [event for event in found.events.values() if event.kind is Kind.MESSAGE_RECEIVED]
        (scope, number), *_ = found.trail.story.names
        payload: dict[str, Any] = {
            "scope": str(scope),
            "number": number,
            "events": sorted(found.events),
            "known": [
                {"event": event.id, **{name: event.payload[name] for name in ("channel", "message_id")}}
                for event in messages
                if "message_id" in event.payload
            ],
        }
        with self._log.transaction(durable=True):
            self._summaries.erase(found.summaries)
            payload["plan"] = self._log.keep_parts([plan.to_bytes()])[0]
            event = self._log.append(Kind.BELIEF_PURGED, by.place, payload, origin=by.origin, cause=by.cause)
            erase(self._log, event)
            delete_overheard(self._log, found.trail.needles.in_text)
            plans = {other.payload["plan"] for other in unfinished(self._log)}
            delete_parts(self._log, parts - plans)
        return event

    # What betrays it

    def _trail(self, known: Known) -> Trail:
        belief, number = known.belief, known.belief.number
        story = story_of(self._log, known.scope, number) if number is not None else Story((), ())
        told = [str(event.payload.get("text", "")) for event in story.events]
        texts = tuple(dict.fromkeys(filter(None, (belief.statement, *told))))
        values = [belief.data.value, *(event.payload.get("value") for event in story.events)]
        waiting = self._waiting(story, texts)
        said = self._said(known, story, waiting)
        words = [str(event.payload.get("text", "")) for event in said]
        short = [text for text in texts if not telling(text)]
        needles = Needles.of([text for text in texts if telling(text)], told=short)
        loose = [*texts, *(value for value in values if value and len(value) >= _SHORTEST), *words]
        return Trail(known, story, texts, waiting, said, needles, Needles.of(loose))

    def _waiting(self, story: Story, texts: Iterable[str]) -> tuple[Event, ...]:
        scopes, said = {str(scope) for scope, _ in story.names}, [normalise_text(text) for text in texts]

        def same(proposed: Event) -> bool:
            claims = (proposed.payload.get("text") or "", proposed.payload.get("value") or "")
            values = [normalise_value(claim) for claim in claims if claim]
            return any(contains(text, value) for text in said for value in values)

        proposed = each(self._log, "kind = ?", [Kind.BELIEF_PROPOSED])
        return tuple(event for event in proposed if event.payload.get("scope") in scopes and same(event))

    def _said(self, known: Known, story: Story, waiting: Iterable[Event]) -> tuple[Event, ...]:
        """The messages in which it was said: the one that the entry names, and those for which it was first written,
        seen again or proposed. What else changed it (a pin, a share) did not say it."""
        causes = [known.belief.data.source, *(event.cause for event in story.events[:1])]
        causes += [event.cause for event in story.events if event.payload.get("again")]
        causes += [event.cause for event in waiting]
        found: dict[str, Event] = {}
        for event in map(self._log.get, filter(None, causes)):
            message = self._message(event) if event is not None else None
            if message is not None:
                # With what it was before it was edited.
                found |= {one.id: one for one in self._inbox.versions(message) if not one.forgotten}
        return tuple(found.values())

    def _message(self, event: Event) -> Event | None:
        """The message behind an event: itself, or what was said in the turn whose question got its yes."""
        if event.kind is Kind.CONFIRMATION_ANSWERED and event.place.turn:
            begun = next((e for e in self._log.of_turn(event.place.turn) if e.kind is Kind.TURN_STARTED), None)
            event = (self._log.get(begun.cause) if begun is not None and begun.cause else None) or event
        return event if event.kind in _SAID and not event.forgotten else None

    # What repeats it

    def _around(self, said: Event) -> list[Event]:
        """What happened because a message was said: its turn, or the answer to it as a command; and what was asked
        beside the conversation in that session since."""
        caused = [event for event in self._log.caused_by(said.id) if not event.forgotten]
        turns = {event.place.turn for event in caused if event.kind in SAYING and event.place.turn}
        turns |= {turn for turn in (self._inbox.turn_of(said.id),) if turn}  # it may have gone along with another one
        of_turns = [event for turn in turns for event in self._log.of_turn(turn) if not event.forgotten]
        beside = each(
            self._log,
            "session = ? AND seq > ? AND turn IS NULL AND person IS NULL AND kind IN (?, ?)",
            [said.place.session, said.seq, Kind.MODEL_REQUESTED, Kind.MODEL_ANSWERED],
        )
        return [*caused, *of_turns, *beside]

    def _reach(self, scope: Scope, by: By) -> tuple[str, list[Any]]:
        """Whose events may go if they repeat an entry of this scope."""
        person = self._people.person(by.reader.person)
        ids = sorted(self._people.ids(by.reader.person))
        own = f"person IN ({marks(ids)})"
        made = sorted(MADE | ABOUT)
        match scope.kind:
            case "user":
                chats = sorted(str(space) for space in self._people.private_spaces(person)) if person else []
                return f"{own} OR person IS NULL AND space IN ({marks(chats)})", [*ids, *chats]
            case "group":
                here = f"space = ? AND (kind IN ({marks(made)}) OR {own})"
                return here, [f"group:{scope.id}", *made, *ids]
            case _:
                return f"kind IN ({marks(made)}) OR {own}", [*made, *ids]

    def _parts(self, found: Found) -> set[str]:
        """The pieces of requests that hold it, or are what an erased event said. Pages of which the record still
        tells are looked after with their history. Reads every piece there is: nothing for a mere question."""
        trail, erased = found.trail, found.events.values()
        told = Needles.of((), [text for event in erased for text in said_by(event)])
        strict, loose = part_holds(replace(trail.needles, whole=told.whole)), part_holds(trail.loose)
        wanted = parts_that(
            self._log, lambda name, body: strict(name, body) or (name in found.near and loose(name, body))
        )
        for event in each(self._log, f"kind IN ({marks(NAMING_PARTS)})", NAMING_PARTS):
            if not wanted:
                break
            if event.seq < trail.since or event.kind in (Kind.PAGE_INTENDED, Kind.SUMMARY_WRITTEN):
                wanted.difference_update(parts_of(event))
        pages = (event for event in erased if event.kind is Kind.PAGE_INTENDED)
        return wanted | found.told | {name for event in pages for name in parts_of(event)}

    # The rest

    def _summaries_of(self, trail: Trail, erased: Iterable[Event]) -> list[Summary]:
        """The summaries that cover what goes, or say it."""
        positions: dict[str, list[int]] = {}
        for event in erased:
            if event.place.session:
                positions.setdefault(event.place.session, []).append(event.seq)
        covering = self._summaries.covering(positions)
        return self._summaries.with_later([*covering, *self._summaries.saying(trail.needles.in_text, positions)])

    def _plan(self, found: Found) -> Plan:
        trail, events = found.trail, found.events.values()
        intended = [event for event in events if event.kind is Kind.PAGE_INTENDED]
        entries: dict[str, list[tuple[int, Sequence[str]]]] = {}
        for scope, number in trail.story.names:
            entries.setdefault(scope.folder, []).append((number, trail.texts))
        return Plan(
            entries=entries,
            commits=_commits_of(self._log, intended),
            within=trail.needles.within,
            told=trail.needles.told,
            logged=list(filter(telling, [*trail.loose.within, *lines_of(trail.said)])),
            paths=sorted({page["path"] for event in intended for page in event.payload["pages"]}),
            talk=talk_of(events),
            media=media_only_of(self._log, found.events.keys(), events),
        )


def _commits_of(log: Log, intended: Iterable[Event]) -> list[str]:
    """The commits of writes."""
    names = [event.id for event in intended]
    rows = log.database.rows(
        f"SELECT DISTINCT revision FROM wiki_writes WHERE revision IS NOT NULL AND event IN ({marks(names)})",  # noqa: S608
        names,
    )
    return [row["revision"] for row in rows]
