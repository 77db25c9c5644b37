"""Erasing a person from the record: what they said and were told, what was made for them, and copies that programs made
of it for others.

What others said themselves stays, also about this person; so does what they were answered. Of what the person wrote for
a group or for all, what is about themselves goes; the rest belongs to those who read it, and names nobody any more.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from qingtuan.events.erasing import erase, of_person, unfinished
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.turns import messages_in
from qingtuan.identity.scopes import Scope
from qingtuan.memory.erasing.copies import Shown, shown_of
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
    parts_of,
    parts_that,
    said_by,
    talk_of,
    with_their_calls,
)
from qingtuan.memory.erasing.rules import naming
from qingtuan.memory.erasing.whole import Whole
from qingtuan.memory.erasing.words import strings_in, strings_of, telling
from qingtuan.memory.likeness import SELF, fold, normalise_subject, normalise_text, normalise_value
from qingtuan.memory.story import story_of
from qingtuan.memory.summaries import Summaries, Summary
from qingtuan.storage.sqlite import marks

_BELIEFS = frozenset(
    {
        Kind.BELIEF_WRITTEN,
        Kind.BELIEF_RETRACTED,
        Kind.BELIEF_PROPOSED,
        Kind.BELIEF_REVIEWED,
        Kind.NOTE_WRITTEN,
        Kind.STATEMENT_IMPORTED,
    }
)
_LINKS = frozenset({Kind.PERSON_LINKED, Kind.PERSON_CLAIMED, Kind.PERSON_PARTED})
_SAYING = (Kind.MESSAGE_RECEIVED, Kind.TALK_OVERHEARD, Kind.MESSAGE_SENT, Kind.MODEL_ANSWERED)
_MADE_OF = sorted(
    {
        *MADE,
        *ABOUT,
        *_BELIEFS,
        *_LINKS,
        Kind.CODE_GIVEN,
        Kind.CODE_TRIED,
        Kind.SETTINGS_CHANGED,
        Kind.REVIEW_ASKED,
        Kind.MODEL_REQUESTED,
    }
)
"""What may hold something of somebody's while it is not theirs, or lead on to it."""


@dataclass(frozen=True, slots=True)
class Written:
    """An entry of a group or of all that they wrote first."""

    scope: Scope
    number: int
    story: tuple[Event, ...]
    goes: bool
    """It is about themselves; else it stays and names them no more."""

    @property
    def texts(self) -> tuple[str, ...]:
        """All that it ever said."""
        return tuple(dict.fromkeys(filter(None, (str(event.payload.get("text", "")) for event in self.story))))


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of requests that go."""

    all: Set[str]
    telling: Set[str]
    """That tell something as theirs."""
    words: Set[str]
    """That are their words, or a reply to them."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """What goes with a person, counted for whoever decides."""

    whole: Whole
    events: int
    """All that goes, theirs and copies of it."""
    messages: int
    replies: int
    named: frozenset[str]
    """Events of others that hold theirs."""
    parts: frozenset[str]
    summaries: tuple[Summary, ...]
    media: tuple[str, ...]
    own: Mapping[str, Event] = field(repr=False)
    """Theirs, by id."""
    written: tuple[Written, ...]
    talk: Mapping[str, list[str]]

    def counts(self) -> dict[str, int]:
        """The numbers, for a person to look at."""
        return {
            "events": self.events,
            "messages": self.messages,
            "replies": self.replies,
            "requests": len(self.parts),
            "summaries": len(self.summaries),
            "media": len(self.media),
            "entries": sum(one.goes for one in self.written),
            "nameless": sum(not one.goes for one in self.written),
        }


class Forgetting:
    """Clears the record of persons."""

    def __init__(self, log: Log, summaries: Summaries) -> None:
        self._log = log
        self._summaries = summaries

    def knows(self, whole: Whole) -> bool:
        """Whether the record has anything of theirs."""
        return any(next(self._theirs(one), None) is not None for one in whole.ids)

    def leaving(self, whole: Whole) -> Leaving:
        """What goes with a person."""
        own = self._own(whole)
        written = self._written_for_others(whole)
        shown = shown_of(own.values(), whole.accounts, whole.ids, _told(written, whole))
        pieces = self._pieces(whole, own, shown)
        named = self._named(whole, own, shown, pieces)
        named |= {event.id: event for one in written if one.goes for event in one.story if event.id not in own}
        summaries = self._covering(whole)
        answers, told = of_summaries(self._log, summaries)
        gone = {**own, **named, **{name: event for name, event in answers.items() if name not in own}}
        return Leaving(
            whole=whole,
            events=len(gone),
            messages=sum(event.kind is Kind.MESSAGE_RECEIVED for event in own.values()),
            replies=sum(event.kind is Kind.MESSAGE_SENT for event in own.values()),
            named=frozenset(gone.keys() - own.keys()),
            parts=frozenset(pieces.all | told),
            summaries=tuple(summaries),
            media=tuple(media_only_of(self._log, gone.keys(), gone.values())),
            own=own,
            written=written,
            talk=talk_of(gone.values()),
        )

    def erase(self, leaving: Leaving, place: Place) -> Event:
        """Clear the record: at once and altogether. The event that says so; what is left to do stands in the plan that
        it names. `place`: of whoever decided."""
        whole, plan = leaving.whole, self._plan(leaving)
        first, *others = [whole.id, *sorted(whole.ids - {whole.id})]
        payload: dict[str, Any] = {"events": sorted(leaving.named), "by": place.person, "numbers": self._numbers(whole)}
        with self._log.transaction(durable=True):
            self._summaries.erase(leaving.summaries)
            payload["plan"] = self._log.keep_parts([plan.to_bytes()])[0]
            event = self._log.append(Kind.PERSON_FORGOTTEN, Place(person=first), payload)
            erase(self._log, event)
            for other in others:
                erase(self._log, self._log.append(Kind.PERSON_FORGOTTEN, Place(person=other), cause=event.id))
            plans = {one.payload["plan"] for one in unfinished(self._log)}
            delete_parts(self._log, leaving.parts - plans)
        return event

    # What is theirs

    def _own(self, whole: Whole) -> dict[str, Event]:
        """Their events whose payloads go, by id."""
        return {event.id: event for one in sorted(whole.ids) for event in self._theirs(one)}

    def _theirs(self, person: str) -> Iterator[Event]:
        row = self._log.database.row("SELECT coalesce(max(seq), 0) + 1 AS next FROM events")
        which, values = of_person(person, row["next"] if row else 1)
        ids = {row["id"] for row in self._log.database.rows(which, values)}
        return (event for event in each(self._log, "person = ?", [person]) if event.id in ids)

    def _covering(self, whole: Whole) -> list[Summary]:
        found = [summary for one in sorted(whole.ids) for summary in self._summaries.of_person(one)]
        return self._summaries.with_later(found)

    def _written_for_others(self, whole: Whole) -> tuple[Written, ...]:
        """What they wrote first for a group or for all."""
        rows = self._log.database.rows(
            "SELECT DISTINCT json_extract(payload, '$.scope') AS scope, json_extract(payload, '$.number') AS number"
            " FROM events WHERE kind = ? AND person IN (SELECT value FROM json_each(?))"
            " AND json_extract(payload, '$.scope') NOT GLOB 'user:*' ORDER BY seq",
            (Kind.BELIEF_WRITTEN, json.dumps(sorted(whole.ids))),
        )
        found: list[Written] = []
        for row in rows:
            if row["number"] is None:
                continue
            scope, number = Scope.parse(row["scope"]), int(row["number"])
            story = story_of(self._log, scope, number).events
            if story and story[0].place.person in whole.ids:
                found.append(Written(scope, number, story, self._about_themselves(story, whole)))
        return tuple(found)

    def _about_themselves(self, story: Iterable[Event], whole: Whole) -> bool:
        """Whether what they wrote says something of them: by its subject, or by what it begins with."""
        names = {fold(name) for name in whole.names}
        begins = naming(whole.names)
        for event in story:
            if event.place.person not in whole.ids:
                continue
            subject, text = event.payload.get("subject"), str(event.payload.get("text", ""))
            if subject and (normalise_subject(subject) == SELF or fold(subject) in names):
                return True
            if normalise_text(text) != normalise_value(text) or (begins is not None and begins.match(text)):
                return True
        return False

    def _numbers(self, whole: Whole) -> dict[str, int]:
        """By scope, the highest number that an event of theirs knows: it is not given again."""
        rows = self._log.database.rows(
            "SELECT json_extract(payload, '$.scope') AS scope, max(json_extract(payload, '$.number')) AS number"
            " FROM events WHERE kind IN (?, ?) AND person IN (SELECT value FROM json_each(?))"
            " AND json_extract(payload, '$.scope') NOT GLOB 'user:*' GROUP BY 1",
            (Kind.BELIEF_WRITTEN, Kind.BELIEF_RETRACTED, json.dumps(sorted(whole.ids))),
        )
        return {row["scope"]: row["number"] for row in rows if row["number"] is not None}

    # What holds theirs

    def _pieces(self, whole: Whole, own: Mapping[str, Event], shown: Shown) -> Pieces:
        """Pieces that only their requests have, that name them, that are word for word what they said or were told
        and nobody else did, or that tell something of theirs."""
        theirs: set[str] = set()
        others: set[str] = set()
        kept_pages: set[str] = set()
        near: dict[str, set[str]] = {}
        for event in each(self._log, f"kind IN ({','.join('?' * len(NAMING_PARTS))})", NAMING_PARTS):
            mine = event.id in own or event.place.person in whole.ids or whole.had(event.place)
            (theirs if mine else others).update(parts_of(event))
            if event.kind is Kind.PAGE_INTENDED and not mine:
                kept_pages.update(parts_of(event))
            elif not mine and (keys := shown.keys(event)):
                for name in parts_of(event):
                    near.setdefault(name, set()).update(keys)
        said, named = self._said_by_nobody_else(whole, own), naming(whole.accounts)
        telling: set[str] = set()
        words: set[str] = set()

        def holds(name: str, body: bytes) -> bool:
            if name in theirs and name not in others:
                return True
            if name in kept_pages:
                return False
            strings = list(strings_in(body))
            telling.update({name} if any(map(shown.tells, strings)) else ())
            words.update({name} if any(fold(text) in said for text in strings) else ())
            needles = [shown.near[key] for key in near.get(name, ())]
            return (
                name in telling
                or name in words
                or any(named is not None and named.search(text) for text in strings)
                or any(needle.in_text(text) for needle in needles for text in strings)
            )

        return Pieces(parts_that(self._log, holds), telling, words)

    def _said_by_nobody_else(self, whole: Whole, own: Mapping[str, Event]) -> set[str]:
        """What they said and were told, folded, without what somebody else said or was told in the same words."""
        mine = {fold(text) for event in own.values() if event.kind in _SAYING for text in said_by(event)}
        ids = json.dumps(sorted(whole.ids))
        theirs = "kind = ? AND (person IS NULL OR person NOT IN (SELECT value FROM json_each(?)))"
        for kind in _SAYING:
            rows = self._log.database.rows(
                f"SELECT json_extract(payload, '$.text') AS text FROM events WHERE {theirs}",  # noqa: S608 (our words)
                (kind, ids),
            )
            mine.difference_update(fold(row["text"]) for row in rows if row["text"])
        rows = self._log.database.rows(
            "SELECT json_extract(c.value, '$.arguments') AS text FROM events, json_each(payload, '$.calls') AS c"  # noqa: S608
            f" WHERE {theirs}",
            (Kind.MODEL_ANSWERED, ids),
        )
        mine.difference_update(fold(row["text"]) for row in rows if row["text"])
        return mine - {""}

    def _named(self, whole: Whole, own: Mapping[str, Event], shown: Shown, pieces: Pieces) -> dict[str, Event]:
        """Events of others, or of nobody, that programs made of theirs."""
        found: dict[str, Event] = {}
        gone = ChainMap(found, dict(own))
        sources: set[str] = set()
        told: set[str] = set()
        read: set[str] = set()
        condition, values = _others_of(whole)
        for event in each(self._log, condition, values):
            if event.id in own:
                continue
            turn = {event.place.turn} if event.place.turn else set()
            made_of = event.kind in MADE and (event.cause in found or event.cause in sources)
            if made_of or self._is_made_of(event, whole, own) or shown.made(event):
                found[event.id] = event
            elif self._leads_on(event, gone, pieces):
                sources.add(event.id)
            elif event.kind is Kind.MODEL_REQUESTED:
                told |= set() if pieces.telling.isdisjoint(parts_of(event)) else turn
                read |= set() if pieces.words.isdisjoint(parts_of(event)) else turn
            elif event.kind is Kind.TOOL_FINISHED and any(map(shown.tells, strings_of(dict(event.payload)))):
                found[event.id] = event
                told |= turn
        for name in told | read:
            events = [event for event in self._log.of_turn(name) if not event.forgotten]
            message = self._answered(events)
            found |= {one.id: one for one in events if shown.repeated(one, message, told=name in told)}
        return with_their_calls(self._log, found.values())

    @staticmethod
    def _leads_on(event: Event, gone: Container[str], pieces: Pieces) -> bool:
        """Whether what this causes is made of theirs, while it holds nothing of it itself."""
        match event.kind:
            case Kind.REVIEW_ASKED:
                return any(item in gone for item in event.payload["items"])
            case Kind.CODE_TRIED:
                return event.payload["code"] in gone
            case Kind.MODEL_REQUESTED:
                return event.place.person is None and not pieces.all.isdisjoint(parts_of(event))
        return False

    def _answered(self, turn: Iterable[Event]) -> str:
        """What was said that a turn answers."""
        said = filter(None, map(self._log.get, messages_in(turn)))
        return "\n".join(text for event in said for text in said_by(event))

    def _is_made_of(self, event: Event, whole: Whole, own: Mapping[str, Event]) -> bool:
        payload, place = event.payload, event.place
        if whole.had(place):
            return event.kind is not Kind.SUMMARY_DELETED
        if event.kind in _LINKS:
            return bool({payload.get("kept"), payload.get("gone")} & whole.ids)
        if event.kind is Kind.CODE_GIVEN:
            return payload.get("account") in whole.accounts
        if event.kind in _BELIEFS:
            return payload.get("scope") in whole.scopes or payload.get("item") in own
        if event.kind is Kind.SETTINGS_CHANGED:
            return payload.get("space") in whole.chats
        if event.kind is Kind.PAGE_INTENDED:
            folders = tuple(f"{Scope.parse(scope).folder}/" for scope in whole.scopes)
            paths = [page["path"] for page in payload.get("pages", ())]
            undone = any(one in own for one in payload.get("undoes", ()))
            return undone or (bool(paths) and all(path.startswith(folders) for path in paths))
        return event.kind in MADE and event.cause in own

    # The rest

    def _plan(self, leaving: Leaving) -> Plan:
        whole, own = leaving.whole, leaving.own.values()
        ids = [*leaving.named, *leaving.own]
        rows = self._log.database.rows(
            "SELECT DISTINCT path, revision FROM wiki_writes WHERE event IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        said = lines_of(event for event in own if event.kind is Kind.MESSAGE_RECEIVED)
        said += [str(event.payload.get("text", "")) for event in own if event.kind is Kind.BELIEF_WRITTEN]
        entries: dict[str, list[tuple[int, Sequence[str]]]] = {}
        nameless: dict[str, list[int]] = {}
        gone: list[str] = []
        for one in leaving.written:
            if one.goes:
                entries.setdefault(one.scope.folder, []).append((one.number, one.texts))
                gone += one.texts
            else:
                nameless.setdefault(one.scope.folder, []).append(one.number)
        return Plan(
            gone=sorted(Scope.parse(scope).folder for scope in whole.scopes),
            entries=entries,
            nameless=nameless,
            called=sorted(whole.called),
            names=whole.named,
            commits=sorted({row["revision"] for row in rows if row["revision"]}),
            within=[text for text in gone if telling(text)],
            told=[text for text in gone if not telling(text)],
            paths=sorted({row["path"] for row in rows}),
            logged=[*sorted(whole.accounts), *filter(telling, said)],
            talk=leaving.talk,
            media=leaving.media,
            people=sorted(whole.ids),
        )


def _others_of(whole: Whole) -> tuple[str, list[str]]:
    """SQL, with its values, that leaves out most of what can have nothing of somebody's."""
    kinds, chats = marks(_MADE_OF), marks(whole.chats)
    return f"kind IN ({kinds}) OR person IS NULL AND space IN ({chats})", [*_MADE_OF, *sorted(whole.chats)]


def _told(written: Iterable[Written], whole: Whole) -> dict[Scope, list[str]]:
    """By scope, what goes or names them of what they wrote for others."""
    found: dict[Scope, list[str]] = {}
    named = naming(whole.names)
    for one in written:
        texts = [text for text in one.texts if one.goes or (named is not None and named.search(text))]
        found.setdefault(one.scope, []).extend(texts)
    return found
