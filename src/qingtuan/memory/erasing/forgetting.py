"""Erasing a person from the record: what they said and were told, what was made for them, and copies that programs made
of it for others.

What others said themselves stays, also about this person; so does what they were answered. Of what the person wrote for
a group or for all, what is about themselves goes; the rest belongs to those who read it, and names nobody any more.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from qingtuan.events.erasing import erase, of_person, unfinished
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.accounts import derived_person
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Scope
from qingtuan.memory.erasing.copies import Shown, shown_of
from qingtuan.memory.erasing.plan import Plan
from qingtuan.memory.erasing.record import (
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
from qingtuan.memory.erasing.words import strings_in, strings_of, telling
from qingtuan.memory.likeness import SELF, fold, normalise_subject, normalise_text, normalise_value
from qingtuan.memory.story import story_of
from qingtuan.memory.summaries import Summaries, Summary

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
_SHORTEST_NAME = 2
"""Characters of a nickname that is taken for a name where it stands in what they wrote for others."""
_SHORTEST_NUMBER = 5
"""Characters of an account without its platform that is taken for a name."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A person as the record knows them."""

    id: str
    """Of today."""
    ids: frozenset[str]
    """All that they ever had."""
    accounts: frozenset[str]
    names: tuple[str, ...]
    """What names them: ids, accounts, names that the owner or a platform gave them."""
    chats: frozenset[str]
    """Private spaces that are theirs or were."""
    strange: frozenset[str]
    """Sessions in these that somebody else began, who had the account then or has it now."""

    @property
    def scopes(self) -> frozenset[str]:
        """What is their own in the memory."""
        return frozenset(str(Scope.of_person(one)) for one in self.ids)

    def had(self, place: Place) -> bool:
        """Whether what nobody is named for was done for them: in a private chat while it was theirs."""
        if place.person is not None or str(place.space) not in self.chats or place.space is None:
            return False
        return place.space.id in self.accounts if place.session is None else place.session not in self.strange


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
    pages: int
    """Of their own."""
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
            "pages": self.pages,
            "entries": sum(one.goes for one in self.written),
            "nameless": sum(not one.goes for one in self.written),
        }


class Forgetting:
    """Clears the record of persons."""

    def __init__(self, log: Log, people: People, summaries: Summaries) -> None:
        self._log = log
        self._people = people
        self._summaries = summaries

    def whole(self, person_id: str) -> Whole:
        """All by which a person is known."""
        person, ids = self._people.person(person_id), self._people.ids(person_id)
        spoke = self._log.database.rows(
            "SELECT DISTINCT json_extract(payload, '$.account') AS account, json_extract(payload, '$.nickname') AS name"
            " FROM events WHERE kind = ? AND person IN (SELECT value FROM json_each(?))",
            (Kind.MESSAGE_RECEIVED, json.dumps(sorted(ids))),
        )
        used = frozenset(row["account"] for row in spoke if row["account"])
        if person is None:  # not in the file any more: what they spoke through is theirs unless somebody has it
            nobodys = {one for one in used if self._people.find(one) == derived_person(one)}
            accounts, ids = frozenset(nobodys), ids | {derived_person(one).id for one in nobodys}
        else:
            accounts = frozenset(person.accounts)
        nicknames = {row["name"] for row in spoke if row["name"] and len(row["name"].strip()) >= _SHORTEST_NAME}
        given = {person.name} if person and person.name else set()
        bare = {bare for one in accounts if len(bare := one.partition(":")[2]) >= _SHORTEST_NUMBER}
        chats = frozenset(f"private:{account}" for account in accounts | used)
        return Whole(
            id=person_id,
            ids=ids,
            accounts=accounts,
            names=tuple(sorted({*ids, *accounts, *bare, *nicknames, *given})),
            chats=chats,
            strange=self._strange(chats, ids),
        )

    def _strange(self, chats: Iterable[str], ids: Iterable[str]) -> frozenset[str]:
        rows = self._log.database.rows(
            "SELECT DISTINCT session FROM events WHERE kind = ? AND space IN (SELECT value FROM json_each(?))"
            " AND +person NOT IN (SELECT value FROM json_each(?))",
            (Kind.SESSION_STARTED, json.dumps(sorted(chats)), json.dumps(sorted(ids))),
        )
        return frozenset(row["session"] for row in rows)

    def leaving(self, whole: Whole, pages: Iterable[str]) -> Leaving:
        """What goes with a person. `pages`: the paths of all pages that there are."""
        own = self._own(whole)
        written = self._written_for_others(whole)
        shown = shown_of(own.values(), whole.accounts, whole.ids, _told(written, whole))
        pieces = self._pieces(whole, own, shown)
        named = self._named(whole, own, shown, pieces)
        named |= {event.id: event for one in written if one.goes for event in one.story if event.id not in own}
        summaries = self._covering(whole)
        answers, told = of_summaries(self._log, summaries)
        gone = {**own, **named, **{name: event for name, event in answers.items() if name not in own}}
        folders = tuple(f"{Scope.parse(scope).folder}/" for scope in whole.scopes)
        return Leaving(
            whole=whole,
            events=len(gone),
            messages=sum(event.kind is Kind.MESSAGE_RECEIVED for event in own.values()),
            replies=sum(event.kind is Kind.MESSAGE_SENT for event in own.values()),
            named=frozenset(gone.keys() - own.keys()),
            parts=frozenset(pieces.all | told),
            summaries=tuple(summaries),
            media=tuple(media_only_of(self._log, gone.keys(), gone.values())),
            pages=sum(path.startswith(folders) for path in pages),
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
        row = self._log.database.row("SELECT coalesce(max(seq), 0) + 1 AS next FROM events")
        found: dict[str, Event] = {}
        for one in sorted(whole.ids):
            which, values = of_person(one, row["next"] if row else 1)
            found |= {event.id: event for event in each(self._log, f"id IN ({which})", values)}
        return found

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

    def _pieces(self, whole: Whole, own: Collection[str], shown: Shown) -> Pieces:
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
        said, named = self._said_by_nobody_else(own), naming(whole.accounts)
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

    def _said_by_nobody_else(self, own: Collection[str]) -> set[str]:
        """What they said and were told, folded, without what somebody else said or was told in the same words."""
        kinds = (Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT, Kind.MODEL_ANSWERED)
        mine: set[str] = set()
        others: set[str] = set()
        for event in each(self._log, f"kind IN ({','.join('?' * len(kinds))})", kinds):
            (mine if event.id in own else others).update(map(fold, said_by(event)))
        return {text for text in mine - others if text}

    def _named(self, whole: Whole, own: Mapping[str, Event], shown: Shown, pieces: Pieces) -> dict[str, Event]:
        """Events of others, or of nobody, that programs made of theirs."""
        found: dict[str, Event] = {}
        gone = ChainMap(found, dict(own))
        sources: set[str] = set()
        told: set[str] = set()
        read: set[str] = set()
        not_theirs = "person IS NULL OR person NOT IN (SELECT value FROM json_each(?))"
        for event in each(self._log, not_theirs, [json.dumps(sorted(whole.ids))]):
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
        names = [name for event in turn if event.kind is Kind.TURN_STARTED for name in event.payload["messages"]]
        said = filter(None, map(self._log.get, names))
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
            names=whole.names,
            commits=sorted({row["revision"] for row in rows if row["revision"]}),
            within=[text for text in gone if telling(text)],
            told=[text for text in gone if not telling(text)],
            paths=sorted({row["path"] for row in rows}),
            logged=[*sorted(whole.accounts), *filter(telling, said)],
            talk=leaving.talk,
            media=leaving.media,
            people=sorted(whole.ids),
        )


def _told(written: Iterable[Written], whole: Whole) -> dict[Scope, list[str]]:
    """By scope, what goes or names them of what they wrote for others."""
    found: dict[Scope, list[str]] = {}
    named = naming(whole.names)
    for one in written:
        texts = [text for text in one.texts if one.goes or (named is not None and named.search(text))]
        found.setdefault(one.scope, []).extend(texts)
    return found
