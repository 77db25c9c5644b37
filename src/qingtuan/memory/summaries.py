"""Session summaries: the older part of a session, compressed, and where the raw text goes on behind it.

A summary is never memory of a person, and it replaces nothing: the raw text stays in `events`, and a deleted
summary is read raw again. Every message is either in the raw window or in a summary in context: a session's
summaries follow one another without a gap, and `covered` says where the last one ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.clock import day_of
from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session
from qingtuan.events.turns import SAYING, messages_in
from qingtuan.identity.privacy import EventSight
from qingtuan.identity.trust import inherit
from qingtuan.language import Language, Words
from qingtuan.memory import extractive
from qingtuan.memory.asking import Ask, Customs, Question
from qingtuan.memory.compressing import (
    KINDS,
    MAX_CHARS,
    Cut,
    Line,
    SummaryRules,
    count,
    due,
    lines,
    missing,
    origin_of,
    plan,
    source_text,
    tidy,
)
from qingtuan.memory.summary_table import Summary, from_row, project
from qingtuan.messages import Origin

__all__ = ["Compressed", "Summaries", "Summary", "SummaryRules", "SummaryStatus", "SummaryText", "project"]


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A summary of an older part of the session, as it stands in the context."""

    text: str
    foreign: bool
    """Whether it was made from material: it then is material, too."""


@dataclass(frozen=True, slots=True)
class SummaryStatus:
    """What `/摘要状态` tells."""

    on: bool
    messages: int
    """In the raw window."""
    trigger: int
    """A raw window that has grown beyond this is compressed."""
    missing: int
    """Messages until then."""
    summaries: int
    """In context, rolled-up ones counted once."""
    covered_messages: int
    """That these stand for."""
    rules: SummaryRules


@dataclass(frozen=True, slots=True)
class Compressed:
    """What became of an attempt."""

    outcome: Literal["written", "nothing_due", "under_way", "failed"]
    """`under_way`: the session is being compressed already."""
    messages: int = 0
    """That the new summary covers."""
    summary: str | None = None
    """Id of the new summary."""
    by_code: bool = False
    """Whether it had to be picked by code, since no model would write it."""


_PATIENCE = 10
"""Messages after which a summary that failed or came back empty is tried again: not after every turn."""
_LONGEST_JOINED = 4 * MAX_CHARS
"""Characters of summaries that stand as one text where no model rolls them up. Beyond that, code does."""


_NOTHING_LEFT = Words("- 这一段没有可留的内容。", "- Nothing of this part can be kept.")
"""Where all that was said has been forgotten, or was refused by a provider."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many messages the raw window behind a position in the log held, as far as another position."""

    behind: int
    upto: int
    messages: int


class Summaries:
    """The summaries of all sessions."""

    def __init__(self, log: Log, rules: SummaryRules, customs: Customs) -> None:
        self._log = log
        self._rules = rules
        self._customs = customs
        self._at_work: set[str] = set()
        self._failed: dict[str, int] = {}
        """By session: how many messages its raw window had when no summary came of it."""
        self._counted: dict[str, _Counted] = {}

    # What a request is made of

    def covered(self, session: Session) -> int:
        """`seq` up to which the session's events are compressed; 0 for none."""
        return max((summary.last for summary in self._in_force(session)), default=0)

    def in_context(self, session: Session) -> tuple[SummaryText, ...]:
        """The summaries that stand in a request in this session's space, oldest first; together they cover
        everything before the raw window. Where more are in force than may stand there, the oldest stand as one."""
        found = self._in_force(session)
        surplus = max(0, len(found) - self._rules.max_in_context)
        groups = [found[: surplus + 1], *([summary] for summary in found[surplus + 1 :])] if found else []
        return tuple(
            SummaryText("\n".join(summary.shown for summary in group), any(summary.foreign for summary in group))
            for group in groups
        )

    def window(self, session: Session, kinds: Iterable[Kind]) -> list[Event]:
        """The raw part of the context: events of these kinds behind the last summary and the last `/clear`, and
        the messages that came before but were taken up by a turn behind it. While compression is off, the turns
        of the newest `max_context_messages` messages."""
        after = self._behind(session)
        if not self._rules.on:
            after = max(after, self._beyond_newest(session, after))
        return self._raw(session, after, kinds)

    def _raw(self, session: Session, after: int, kinds: Iterable[Kind]) -> list[Event]:
        events = self._log.of_session(session.id, after=after, kinds=kinds)
        return [*self._carried_over(events), *events]

    def _behind(self, session: Session) -> int:
        cleared = self._cleared(session)
        return max((summary.last for summary in self._in_force(session, cleared)), default=cleared)

    def _cleared(self, session: Session) -> int:
        """Read afresh: the caller's value may be older than the last `/clear`."""
        row = self._log.database.row("SELECT cleared FROM sessions WHERE id = ?", (session.id,))
        return max(session.cleared, row["cleared"] if row else 0)

    def _carried_over(self, events: Sequence[Event]) -> list[Event]:
        """Messages that arrived while an earlier turn ran, and so stand before the window that their turn is in."""
        present = {event.id for event in events}
        wanted = (
            name
            for event in events
            if event.kind in (Kind.TURN_STARTED, Kind.TURN_JOINED)
            for name in event.payload.get("messages", ())
            if name not in present
        )
        found = (self._log.get(name) for name in wanted)
        return sorted((event for event in found if event is not None), key=lambda event: event.seq)

    def _beyond_newest(self, session: Session, after: int) -> int:
        """The position right before the turns that hold the newest `max_context_messages` messages."""
        rows = self._log.database.execute(
            "SELECT seq, kind, turn, CASE kind WHEN ? THEN json_extract(payload, '$.kind') = 'reply'"
            " ELSE json_array_length(payload, '$.messages') END AS messages FROM events"
            " WHERE session = ? AND seq > ? AND kind IN (?, ?, ?, ?) ORDER BY seq DESC",
            (Kind.MESSAGE_SENT, session.id, after, *_COUNTED),
        )
        begin, messages, under_way = after, 0, set()
        for row in rows:
            if row["kind"] == Kind.TURN_FINISHED:
                under_way.add(row["turn"])
                continue
            messages += row["messages"] or 0
            if messages > self._rules.max_context_messages and begin > after:
                return begin
            if row["kind"] == Kind.TURN_STARTED:
                under_way.discard(row["turn"])
                begin = begin if under_way else row["seq"] - 1
        return after

    # Compressing

    def is_due(self, session: Session) -> bool:
        """Whether the raw window has grown so far that it is to be compressed. Quick: asked after every turn."""
        if not due(self._at_most(session), self._rules):
            return False
        messages = self._messages(session)
        failed = self._failed.get(session.id)
        patient = failed is not None and failed <= messages < failed + _PATIENCE
        return due(messages, self._rules) and not patient

    async def compress(self, session: Session, ask: Ask, *, manual: bool = False) -> Compressed:
        """Compress the oldest part of the raw window, if that is due, and roll up older summaries if there are
        too many. Runs after the reply. A failed or empty summary changes nothing; so does one that something
        overtook (a `/clear`). Only where the raw window has outgrown `rules.longest`, code picks what a model would
        not write. `manual` does not wait for the trigger, but leaves `keep_recent` too.

        Raises:
            StorageFailed: nothing was written.
        """
        if session.id in self._at_work:
            return Compressed("under_way")
        if not (manual or self.is_due(session)):
            return Compressed("nothing_due")
        self._at_work.add(session.id)
        try:
            done = await self._compress(session, ask, manual=manual)
            if done.outcome == "written":
                self._failed.pop(session.id, None)
                await self._roll_up(session, ask)
            elif done.outcome == "failed":
                self._failed[session.id] = self._messages(session)
            return done
        finally:
            self._at_work.discard(session.id)

    async def _compress(self, session: Session, ask: Ask, *, manual: bool) -> Compressed:
        after = self._behind(session)
        events = self._raw(session, after, KINDS)
        cut = plan(events, self._rules, manual=manual)
        if cut is None:
            return Compressed("nothing_due")
        person = _person_of(session, events)
        # A repair further down may be about what stands before the cut, so all of it is read.
        found = lines(events, session.space, self._customs.language(person))
        read = tuple(line for line in found if line.place <= cut.seq)
        text = await self._written(read, person, ask)
        by_code = not text and count(events) > self._rules.longest
        if by_code:
            text = extractive.extract(read, self._customs.zone(person), self._customs.language(person))
        if not text or self._behind(session) != after or self._erased(read):
            return Compressed("failed")
        return Compressed("written", cut.messages, self._write(session, read, events, cut, text), by_code)

    def _erased(self, read: Iterable[Line]) -> bool:
        """Whether anything that was read has been erased since: a summary of it would bring it back."""
        return any(event is None or event.forgotten for event in map(self._log.get, {line.event for line in read}))

    async def _written(self, read: Sequence[Line], person: str | None, ask: Ask) -> str:
        language, zone = self._customs.language(person), self._customs.zone(person)
        if not read:
            return _NOTHING_LEFT.say(language)
        if self._rules.extractive:
            return extractive.extract(read, zone, language)
        return await self._asked(source_text(read, zone, language), language, ask)

    async def _asked(self, source: str, language: Language, ask: Ask) -> str:
        question = Question("summary", self._customs.text("summary", language), source)
        try:
            return tidy(await ask(question), language)
        except (ModelUnreachable, ModelRefused):
            return ""

    def _write(self, session: Session, read: Sequence[Line], events: Sequence[Event], cut: Cut, text: str) -> str:
        person = _person_of(session, events)
        zone = self._customs.zone(person)
        (first, start, began), (_, end, ended) = _ends(read, events, cut)
        payload: dict[str, object] = {
            "first": first,
            "last": cut.seq,
            "start": start,
            "end": end,
            "messages": cut.messages,
            "days": [day_of(began, zone).isoformat(), day_of(ended, zone).isoformat()],
            "level": 1,
        }
        return self._append(session, payload, text, origin_of(read), person)

    async def _roll_up(self, session: Session, ask: Ask) -> None:
        """Make one of the oldest summaries when more are in force than may stand in a request."""
        before = self._in_force(session)
        if len(before) <= self._rules.max_in_context:
            return
        oldest = before[: len(before) - self._rules.max_in_context + 1]
        event = self._log.get(oldest[-1].id)
        person = event.place.person if event else None
        language = self._customs.language(person)
        if self._rules.extractive:
            text = extractive.roll_up((summary.text for summary in oldest), language)
        else:
            source = source_text((), self._customs.zone(person), language, [summary.shown for summary in oldest])
            text = await self._asked(source, language, ask)
            if not text and sum(len(summary.text) for summary in oldest) > _LONGEST_JOINED:
                text = extractive.roll_up((summary.text for summary in oldest), language)
        if not text or self._in_force(session) != before:
            return
        payload: dict[str, object] = {
            "first": min(summary.first for summary in oldest),
            "last": oldest[-1].last,
            "start": oldest[0].start,
            "end": oldest[-1].end,
            "messages": sum(summary.messages for summary in oldest),
            "days": [oldest[0].days[0], oldest[-1].days[1]],
            "level": 1 + max(summary.level for summary in oldest),
            "absorbs": [summary.id for summary in oldest],
        }
        written = (self._log.get(summary.id) for summary in oldest)
        origin = inherit([Origin.ASSISTANT, *(event.origin for event in written if event)])
        self._append(session, payload, text, origin, person)

    def _append(
        self, session: Session, payload: dict[str, object], text: str, origin: Origin, person: str | None
    ) -> str:
        place = Place(session.id, session.space, None, person)
        with self._log.transaction():
            payload = {"text": self._log.keep_parts([text.encode()])[0], **payload}
            return self._log.append(Kind.SUMMARY_WRITTEN, place, payload, origin=origin, cause=str(payload["end"])).id

    # Looking, deleting

    def status(self, session: Session) -> SummaryStatus:
        """How far a session is from being compressed, and what has been."""
        messages, found = self._messages(session), self._in_force(session)
        return SummaryStatus(
            on=self._rules.on,
            messages=messages,
            trigger=self._rules.max_stored,
            missing=missing(messages, self._rules),
            summaries=len(found),
            covered_messages=sum(summary.messages for summary in found),
            rules=self._rules,
        )

    def newest(self, sight: EventSight, limit: int = 5, *, session: str | None = None) -> list[Summary]:
        """The newest summaries in force that this reader may see, newest first; of one session, if it is given."""
        clause, values = sight.where_stretch(
            "(message_type || ':' || COALESCE(user_id, group_id))", "session_key", "first_seq", "last_seq"
        )
        if session is not None:
            clause, values = f"{clause} AND session_key = ?", [*values, session]
        rows = self._log.database.rows(
            f"SELECT s.* FROM session_summaries AS s JOIN sessions ON sessions.id = session_key"  # noqa: S608
            f" WHERE absorbed_by IS NULL AND deleted IS NULL AND last_seq > cleared AND {clause}"
            " ORDER BY last_seq DESC LIMIT ?",
            [*values, limit],
        )
        return [from_row(row) for row in rows]

    def delete(self, session: Session, summary: str, person: str, *, cause: str | None = None) -> list[str]:
        """Delete a summary and those that come after it: what they cover is read raw again, in one piece. The ids
        of what was deleted; empty if the session has no such summary in force."""
        found = self._in_force(session)
        names = [one.id for one in found]
        if summary not in names:
            return []
        gone = names[names.index(summary) :]
        place = Place(session.id, session.space, None, person)
        self._log.append(Kind.SUMMARY_DELETED, place, {"summaries": gone}, cause=cause)
        return gone

    # Erasing

    def of_person(self, person: str) -> list[Summary]:
        """Every summary, in force or not, that covers anything that a person said."""
        rows = self._log.database.rows(
            "SELECT session, seq FROM events WHERE person = ? AND kind = ? AND session IS NOT NULL",
            (person, Kind.MESSAGE_RECEIVED),
        )
        positions: dict[str, list[int]] = {}
        for row in rows:
            positions.setdefault(row["session"], []).append(row["seq"])
        return self.covering(positions)

    def covering(self, positions: Mapping[str, Sequence[int]]) -> list[Summary]:
        """Every summary, in force or not, that covers any of these positions of the log, by session."""
        found: list[Summary] = []
        for session, seqs in positions.items():
            rows = self._log.database.rows(
                "SELECT s.* FROM session_summaries AS s WHERE s.session_key = ? AND EXISTS"
                " (SELECT 1 FROM json_each(?) WHERE value BETWEEN s.first_seq AND s.last_seq) ORDER BY s.first_seq",
                (session, json.dumps(list(seqs))),
            )
            found += map(from_row, rows)
        return found

    def saying(self, holds: Callable[[str], bool], sessions: Iterable[str]) -> list[Summary]:
        """Every summary of these sessions, in force or not, whose text holds something."""
        rows = self._log.database.rows(
            "SELECT * FROM session_summaries WHERE session_key IN (SELECT value FROM json_each(?)) ORDER BY first_seq",
            (json.dumps(list(sessions)),),
        )
        return [summary for summary in map(from_row, rows) if holds(summary.text)]

    def with_later(self, summaries: Iterable[Summary]) -> list[Summary]:
        """These, and all that come after them in their sessions: one without the other is not erased."""
        first: dict[str, int] = {}
        for summary in summaries:
            first[summary.session] = min(first.get(summary.session, summary.first), summary.first)
        found: list[Summary] = []
        for session, start in first.items():
            rows = self._log.database.rows(
                "SELECT * FROM session_summaries WHERE session_key = ? AND last_seq >= ? ORDER BY first_seq",
                (session, start),
            )
            found += map(from_row, rows)
        return found

    def erase(self, summaries: Iterable[Summary]) -> None:
        """Take summaries away, text and all, before what they cover is erased: all of that is read raw again.
        `summaries`: as `with_later` gives them."""
        by_session: dict[str, list[Summary]] = {}
        for summary in summaries:
            by_session.setdefault(summary.session, []).append(summary)
        with self._log.transaction():
            for session, found in by_session.items():
                self._erase(session, found)

    def _erase(self, session: str, found: Sequence[Summary]) -> None:
        # It is nobody's doing: were it theirs who are forgotten, it would be forgotten with them.
        place, gone = Place(session, found[0].space), [one.id for one in found]
        self._log.append(Kind.SUMMARY_DELETED, place, {"summaries": gone, "erased": True})
        for event in filter(None, map(self._log.get, gone)):
            self._log.database.execute("DELETE FROM parts WHERE hash = ?", (event.payload.get("text"),))

    def _at_most(self, session: Session) -> int:
        """No fewer than the messages that the raw window holds: those of the last count, and all said since."""
        behind, counted = self._behind(session), self._counted.get(session.id)
        if counted is None or counted.behind != behind:
            return self._messages(session)
        events = self._log.of_session(session.id, after=counted.upto, kinds=_SAID)
        since = (len(event.payload["messages"]) if "messages" in event.payload else 1 for event in events)
        return counted.messages + sum(since)

    def _messages(self, session: Session) -> int:
        """How many messages the raw window holds."""
        behind = self._behind(session)
        events = self._log.of_session(session.id, after=behind, kinds=_SAID)
        begun = {event.place.turn for event in events if event.kind is Kind.TURN_STARTED}
        replies = (event for event in events if event.payload.get("kind") == "reply" and event.place.turn in begun)
        said = messages_in(event for event in events if event.place.turn in begun)
        messages = len(said) + sum(1 for _ in replies)
        if len(self._counted) >= _MOST_COUNTED:
            self._counted.clear()
        self._counted[session.id] = _Counted(behind, events[-1].seq if events else behind, messages)
        return messages

    def _in_force(self, session: Session, cleared: int | None = None) -> list[Summary]:
        """The summaries that count for a session, oldest first. `cleared` is what `_cleared` gives, if it was read a
        moment ago."""
        cleared = self._cleared(session) if cleared is None else cleared
        rows = self._log.database.rows(
            "SELECT * FROM session_summaries WHERE session_key = ? AND last_seq > ?"
            " AND absorbed_by IS NULL AND deleted IS NULL ORDER BY last_seq",
            (session.id, cleared),
        )
        return [from_row(row) for row in rows]


def _person_of(session: Session, events: Iterable[Event]) -> str | None:
    """Whose private chat it is; None for a group."""
    people = (event.place.person for event in events if event.kind is Kind.MESSAGE_RECEIVED)
    return None if session.space.is_group else next(people, None)


_SAID = (*SAYING, Kind.MESSAGE_SENT)
_MOST_COUNTED = 1000
_COUNTED = (Kind.TURN_STARTED, Kind.TURN_JOINED, Kind.TURN_FINISHED, Kind.MESSAGE_SENT)
_Mark = tuple[int, str, datetime]


def _ends(read: Sequence[Line], events: Sequence[Event], cut: Cut) -> tuple[_Mark, _Mark]:
    """Position, id and time of the first and the last message that a summary covers: of those that were read, or,
    if nothing could be, of the turns."""
    marks: list[_Mark] = sorted((line.seq, line.event, line.time) for line in read if line.voice != "system")
    if not marks:
        marks = [(one.seq, one.id, one.time) for one in events if one.kind is Kind.TURN_STARTED and one.seq <= cut.seq]
    return marks[0], marks[-1]
