"""Finding beliefs: for a question, for a request, and for the person who asks why something is believed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from operator import is_

from qingtuan.clock import Clock, day_of
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.privacy import EventSight, Sight, may_write, sight
from qingtuan.identity.scopes import Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.entries import has_held, held_in, is_current
from qingtuan.memory.injection import Budget, Front, Injection, Sources, front_of, inject
from qingtuan.memory.known import Known, Note, name_for
from qingtuan.memory.library import Library
from qingtuan.memory.likeness import fold, normalise_subject
from qingtuan.memory.periods import periods
from qingtuan.memory.story import story_of

_CALLED_FOR = 24
"""As many short entries as the recalled part of a request holds."""
_MOST_FRONTS = 64
"""Readers for whom what stands in front is kept at hand."""
_PAST = re.compile(
    r"以前|曾经|之前|过去|原来|从前|那时|当时|\bused to\b|\bformerly\b|\bpreviously\b|\bin the past\b|\bback then\b",
    re.IGNORECASE,
)
"""Words that ask for history (memory.md, Recall)."""
_ASKS = re.compile(
    r"[?？]|[吗呢么]|哪|什么|谁|多少|[几怎]|\b(?:what|where|who|whom|when|which|how|did|was|were)\b", re.IGNORECASE
)
"""Words of a question: days that are named beside it are those that it is about."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Where and when a person listens."""

    zone: tzinfo
    language: Language


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for, and of which days."""

    query: str
    now: datetime
    """When it is asked, aware, in the person's zone."""
    as_of: tuple[date, date] | None = None
    """The first and the last of the days that are asked about, if somebody named them."""
    words: str = ""
    """The person's own words: a query need not have all of them."""

    @property
    def today(self) -> date:
        return self.now.date()

    @property
    def about(self) -> tuple[date, date] | None:
        """The days that its words are about: the one time in them that is over or to come."""
        asked = [self.query, *([self.words] if _ASKS.search(self.words) else [])]
        for text in asked:
            named = periods(text, self.now, self.now.tzinfo or UTC)
            if len(named) == 1 and not named[0].first <= self.today <= named[0].last:
                return named[0].first, named[0].last
        return None

    @property
    def past(self) -> bool:
        """Whether it is about what was believed once."""
        days = self.as_of or self.about
        return bool(_PAST.search(self.query) or _PAST.search(self.words)) or (days is not None and days[0] < self.today)


@dataclass(frozen=True, slots=True)
class Injected:
    """The memory of one request, as a turn takes it."""

    pinned: str
    recalled: str
    of_others: bool
    in_front: tuple[str, ...] = ()
    """Names of the entries that stand in the first part; empty for one without a number."""
    behind: tuple[str, ...] = ()
    """Of those in the second."""
    left_out: int = 0
    """How many more hold today, that the reader may see."""
    pins_left_out: tuple[str, ...] = ()
    """Pinned ones among these that the reader may unpin."""


class Recall:
    """Reads the memory for somebody."""

    def __init__(
        self, library: Library, log: Log, clock: Clock, budget: Budget, listener: Callable[[Reader], Listener]
    ) -> None:
        self._library = library
        self._log = log
        self._clock = clock
        self._budget = budget
        self._listener = listener
        self._fronts: dict[Reader, tuple[Sources, Budget, Front]] = {}

    @property
    def budget(self) -> int:
        """Characters of memory that a request may carry."""
        return self._budget.whole

    async def search(self, view: Sight, question: Question, limit: int) -> list[Known | Note]:
        """What is believed now and answers a query, best first. History only if the question is about the past.

        With `as_of` what held on those days, and nothing else. Where only the words are about some days, they may
        also tell what an entry is about (去年搬的家): then what answers a question without having held on them makes
        way for what did.
        """

        def wanted(one: Known | Note) -> bool:
            return _wanted(one, question)

        about = question.about if question.as_of is None else None
        most = limit if about is None else 2 * limit
        found = await self._library.search(view, question.query, most, past=question.past, wanted=wanted)
        return found if about is None else _of_days(found, *about)[:limit]

    async def injection(self, reader: Reader, words: str) -> Injection:
        """The memory text for a turn of `reader` that says `words`: what a turn gets and what a preview shows."""
        listener, view = self._listener(reader), sight(reader)
        today = day_of(self._clock.now(), listener.zone)

        def sources(called_for: Sequence[Known]) -> Sources:
            current = self._library.current(view, today)
            return Sources(reader, current, called_for, today, listener.zone, listener.language)

        every = sources(())
        front = self._front(every)
        if not words.strip() or not every.current:
            return inject(every, self._budget, front)
        if front.whole:
            # There is nothing to search for, unless somebody has just edited a page by hand, and it has grown.
            pages = {known.path for current in every.current for known in current.entries}
            if not self._library.changed(pages):
                return inject(every, self._budget, front)
        found = await self._library.search(view, words, _CALLED_FOR, wanted=lambda one: isinstance(one, Known))
        # Read after the search has ended: pages may have changed meanwhile, and all of this is of one moment.
        now = sources([one for one in found if isinstance(one, Known)])
        return inject(now, self._budget, self._front(now))

    def _front(self, sources: Sources) -> Front:
        """What stands in front of every message, made anew when anything that it is made from is another."""
        made = self._fronts.get(sources.reader)
        if made is None or made[1] != self._budget or not _same(made[0], sources):
            if len(self._fronts) >= _MOST_FRONTS:
                self._fronts.clear()
            made = self._fronts[sources.reader] = sources, self._budget, front_of(sources, self._budget)
        return made[2]

    async def inject(self, reader: Reader, words: str) -> Injected:
        """The same, in the two parts that a request has."""
        injection = await self.injection(reader, words)
        of_others = any(self.is_of_others(known, reader) for known in injection.entries)
        names = [name_for(known, reader) for known in injection.entries]
        return Injected(
            pinned=injection.pinned,
            recalled=injection.recalled,
            of_others=of_others,
            in_front=tuple(names[: injection.in_front]),
            behind=tuple(names[injection.in_front :]),
            left_out=injection.left_out,
            pins_left_out=tuple(
                known.name for known in injection.pinned_left_out if may_write(reader, known.scope) and known.name
            ),
        )

    def is_of_others(self, found: Known | Note, reader: Reader) -> bool:
        """Whether somebody else said it: then it is material for this reader's turn. Rules of a group and what is for
        all are the owner's, who alone writes them."""
        match found.scope.kind:
            case "user":
                return found.scope != Scope.of_person(reader.person)
            case "group" if isinstance(found, Known) and found.type != "rule":
                said = self._log.get(found.belief.data.source or "")
                return said is None or not reader.is_(said.place.person)
            case "group":
                return isinstance(found, Note)
        return False

    def why(self, known: Known, view: EventSight, listener: Listener) -> str:
        """The story of an entry: the sentence it comes from, when and by whom it was said, and what changed since.

        The sentence is told where the reader may read it; elsewhere only that it was said.
        """
        language, story = listener.language, self._about(known)
        lines = [f"#{known.name} {known.belief.text}", _WHERE.say(language).format(path=known.path)]
        if (said := self._said(known, story)) is None:
            lines.append((_ERASED if known.belief.data.source else _BY_HAND).say(language))
        elif self._shown(said, view):
            lines.append(_told(said, listener))
        else:
            lines.append(_SAID_ELSEWHERE.say(language))
        for event in story:
            words = _AGAIN if "again" in event.payload else _WRITTEN
            if event.kind is Kind.BELIEF_RETRACTED:
                words = _GONE if event.payload.get("gone") else _RETRACTED
            # What it said before may have been for fewer people than what it says now.
            text = event.payload.get("text", "") if self._shown(event, view) else "…"
            lines.append(words.say(language).format(when=_moment(event, listener), text=text))
        if story and story[-1].kind is Kind.BELIEF_WRITTEN and story[-1].payload.get("text") != known.belief.statement:
            lines.append(_REWORDED.say(language))
        return "\n".join(lines)

    def _said(self, known: Known, story: Sequence[Event]) -> Event | None:
        """The message that an entry goes back to: of the one that it names and the one that it was first written for,
        the earlier. An edit by command names itself; what was written by hand was noticed, not said."""
        first = [event.cause for event in story[:1] if event.payload.get("how") != "hand"]
        causes = [known.belief.data.source, *first]
        messages = [self._message(cause) for cause in causes if cause]
        return min((message for message in messages if message), key=lambda message: message.seq, default=None)

    def _message(self, event_id: str) -> Event | None:
        """The message behind an event: itself, or what was said in the turn whose question got its yes."""
        event = self._log.get(event_id)
        if event is not None and event.kind is Kind.CONFIRMATION_ANSWERED and event.place.turn:
            begun = next((e for e in self._log.of_turn(event.place.turn) if e.kind is Kind.TURN_STARTED), None)
            event = self._log.get(begun.cause) if begun is not None and begun.cause else None
        said = event is not None and event.kind in (Kind.MESSAGE_RECEIVED, Kind.STATEMENT_IMPORTED)
        return event if said and event is not None and not event.forgotten else None

    def _shown(self, event: Event, view: EventSight) -> bool:
        condition, values = view.where()
        return bool(self._log.where(f"id = ? AND {condition}", [event.id, *values]))

    def _about(self, known: Known) -> list[Event]:
        """What happened to an entry, in order; to one that was moved, also where it was before."""
        if known.belief.number is None:
            return []
        told = story_of(self._log, known.scope, known.belief.number).events
        # That it is gone where it was before says only that it moved; here, that it was away for a while.
        return [event for event in told if not event.payload.get("gone") or event.payload["scope"] == str(known.scope)]


def _same(made: Sources, now: Sources) -> bool:
    """Whether what stands in front is made from the very same. What holds today is one object until a page changes."""
    same = (made.today, made.zone, made.language) == (now.today, now.zone, now.language)
    return same and len(made.current) == len(now.current) and all(map(is_, made.current, now.current))


def _wanted(one: Known | Note, question: Question) -> bool:
    if isinstance(one, Note):
        return question.as_of is None
    if question.as_of is not None:
        return held_in(one.belief, *question.as_of)
    about, today = question.about, question.today
    planned = about is not None and about[0] > today and held_in(one.belief, *about)
    return planned or is_current(one.belief, today) or (question.past and has_held(one.belief, today))


def _of_days(found: Sequence[Known | Note], first: date, last: date) -> list[Known | Note]:
    """Without what answers the same question as something that held on these days, and did not hold then."""
    held = [isinstance(one, Known) and held_in(one.belief, first, last) for one in found]
    told = {_asked(one) for one, then in zip(found, held, strict=True) if then} - {None}
    return [one for one, then in zip(found, held, strict=True) if then or _asked(one) not in told]


def _asked(one: Known | Note) -> tuple[Scope, str, str] | None:
    """What an entry is an answer to: whose it is, its subject and its predicate."""
    if isinstance(one, Note) or one.belief.data.predicate is None or one.belief.data.many:
        return None
    data = one.belief.data
    return one.scope, fold(normalise_subject(data.subject)), fold(data.predicate or "")


def _moment(event: Event, listener: Listener) -> str:
    return f"{event.time.astimezone(listener.zone):%Y-%m-%d %H:%M}"


def _told(said: Event, listener: Listener) -> str:
    """What an entry goes back to: who said it, or from which file it was taken."""
    payload, language = said.payload, listener.language
    text, when = payload.get("text", ""), _moment(said, listener)
    if said.kind is Kind.STATEMENT_IMPORTED:
        place = f"{payload.get('file', '?')}:{payload['line']}" if payload.get("line") else payload.get("file", "?")
        first, last = payload["written"]
        day = first if first == last else f"{first}~{last}"
        written = (_WRITTEN_THERE if first else _UNDATED).say(language).format(day=day)
        return _IMPORTED.say(language).format(when=when, place=place, written=written, text=text)
    return _SAID.say(language).format(when=when, who=payload.get("account", "?"), text=text)


_WHERE = Words("在 {path}", "stands in {path}")
_SAID = Words("{when}，{who} 说：「{text}」", "{when}, {who} said: “{text}”")
_IMPORTED = Words(
    "{when} 从 {place} 导入，{written}：「{text}」",
    "{when}, imported from {place}, {written}: “{text}”",
)
_WRITTEN_THERE = Words("那里写于 {day}", "written there on {day}")
_UNDATED = Words("那里没有日期", "undated there")
_SAID_ELSEWHERE = Words("原话不是在这里说的。", "It was not said where you can read it.")
_BY_HAND = Words("是手写在页面里的，没有对应的话。", "It was written into the page by hand; nothing was said.")
_ERASED = Words("原话不在这里的记录里。", "What was said is not in the record here.")
_WRITTEN = Words("- {when} 写成：{text}", "- {when} written as: {text}")
_AGAIN = Words("- {when} 又说了一次", "- {when} said again")
_GONE = Words("- {when} 拿掉了", "- {when} taken away")
_REWORDED = Words("- 后来在页面里手改成现在的样子", "- reworded by hand in the page since")
_RETRACTED = Words("- {when} 移到历史", "- {when} moved to history")
