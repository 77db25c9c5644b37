"""Once a week at most: asking a person in private which of the things that wait for their word they want to keep.

Each thing is asked about once; what nobody answers waits in `/review` until it is dropped. The question and the event
that it was asked are one transaction, so that no crash lets it be asked twice. An answer of nothing but numbers stands
for `/review`, if the question was the last that was said there, or is quoted; everything else is talk.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from qingtuan.confirmations.confirmation import Chat
from qingtuan.errors import QingtuanError
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.outbox import notice
from qingtuan.identity.accounts import Person
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.memory.candidates import Item
from qingtuan.memory.reviewing import Reviewing
from qingtuan.messages import Inbound, Space
from qingtuan.turn.commands.picks import Picks, wanted
from qingtuan.turn.questions import chat_of, place_in
from qingtuan.turn.work import Work

_EVERY = 600.0
"""Seconds between two looks."""
_GATHERING = timedelta(days=1)
"""How long the first of several things waits for others to be asked about along with it."""
_LULL = timedelta(minutes=10)
"""Nobody is interrupted: so long nothing was said in the chat."""
_HOURS = range(9, 21)
"""Of the person's day, in which they may be asked."""
MOST = 5
"""Things of one question."""


@dataclass(frozen=True, slots=True)
class DigestRules:
    """How often people are asked, and how long what waits is kept."""

    on: bool = True
    every: timedelta = timedelta(days=7)
    patience: timedelta = timedelta(days=30)
    """After so long what waits untouched is dropped, without a word."""


class Digest:
    """Asks, and knows the answers."""

    def __init__(self, work: Work, reviewing: Reviewing, rules: DigestRules) -> None:
        self._work = work
        self._kit = work.kit
        self._log = work.kit.record.log
        self._reviewing = reviewing
        self._rules = rules

    # Asking

    async def run(self) -> None:
        """Look now and then whether anybody is to be asked, until cancelled."""
        while True:
            await self._kit.record.clock.sleep(_EVERY)
            with suppress(QingtuanError):  # the next look tries again
                self.look()

    def look(self) -> None:
        """Drop what waited too long, and ask whoever is to be asked now. Raises `StorageFailed`."""
        self._reviewing.lapse(self._rules.patience)
        if not self._rules.on:
            return
        for name in sorted({self._kit.people.whose(logged) for logged in self._reviewing.people()}):
            person = self._kit.people.person(name)
            chat = chat_of(self._kit, person) if person is not None else None
            if person is not None and chat is not None:
                self._ask(person, chat)

    def _ask(self, person: Person, chat: Chat) -> None:
        people = self._kit.people
        reader = Reader(person.id, people.role(person), chat.space, people.ids(person.id) - {person.id})
        if reader.role is Role.GUEST or not self._may_speak(reader, chat):
            return
        waiting = self._reviewing.waiting(reader)
        fresh = [item for item in waiting if not item.asked]
        now = self._kit.record.clock.now()
        if not fresh or now - min(item.since for item in fresh) < _GATHERING:
            return
        items = fresh[:MOST]
        text = _question(items, len(waiting) - len(items), self._kit.speaks_to(reader))
        place = place_in(self._kit, chat, person.id)
        payload = {"items": [item.event for item in items], "numbers": [item.number for item in items]}
        with self._work.saying() as say, self._log.transaction(durable=True):
            asked = self._log.append(Kind.REVIEW_ASKED, place, payload)
            say(notice(chat.channel, text), place, asked.id)

    def _may_speak(self, reader: Reader, chat: Chat) -> bool:
        """Whether the person may be asked there now."""
        now = self._kit.record.clock.now()
        if now.astimezone(self._kit.zone_of(reader)).hour not in _HOURS:
            return False
        last = self._last_asked(reader)
        if last is not None and (now - last.time < self._rules.every or self._unread(last)):
            return False
        said = self._said_last(chat.space)
        if said is not None and now - said.time < _LULL:
            return False
        opened = ((asked.owner_at.space if asked.owner_at else asked.space) for asked in self._kit.book.open())
        session = self._kit.record.sessions.running(chat.space, reader.person)
        return chat.space not in opened and not self._work.queues.busy(session.id)

    def _last_asked(self, reader: Reader) -> Event | None:
        found = self._log.where(
            "seq = (SELECT max(seq) FROM events WHERE kind = ? AND person IN (SELECT value FROM json_each(?)))",
            (Kind.REVIEW_ASKED, json.dumps(sorted(reader.ids))),
        )
        return found[0] if found else None

    def _unread(self, asked: Event) -> bool:
        """Whether the last question still waits for its delivery: then another one would only pile up."""
        return any(not self._delivered(event.id) for event in self._log.caused_by(asked.id))

    # Answers

    def recognise(self, message: Inbound | Received, reader: Reader) -> str | None:
        """The command that a message stands for, as an answer to such a question; None if it is none."""
        if not reader.is_alone or message.edited or message.spoken or message.materials or message.attachments:
            return None
        if wanted(message.text, single=True) is None:
            return None
        asked = self._answered(message, reader)
        numbers: list[int] = list(asked.payload["numbers"]) if asked is not None else []
        found = wanted(message.text, single=len(numbers) == 1)
        if found is None or not numbers or not set(found[1].numbers) <= set(numbers):
            return None
        verb, picked = found
        # The numbers are those of the question: since then, accounts may have been linked, and each item has another.
        items = dict(zip(numbers, asked.payload["items"] if asked else (), strict=True))
        known = self._reviewing.numbers_of(reader, items.values())
        meant = tuple(known[items[number]] for number in picked.numbers or numbers if items[number] in known)
        return f"/review {verb} {Picks(meant)}" if meant else None

    def _answered(self, message: Inbound | Received, reader: Reader) -> Event | None:
        """The question that a message of `reader` may answer: the one that it quotes, or what was said last."""
        before = message.event.seq if isinstance(message, Received) else None
        if message.quotes is not None:
            quoted = self._kit.book.of_message(reader.space, message.quotes) or message.quotes
            sent = self._log.get(quoted)
        else:
            sent = self._said_last(reader.space, before=before)
        if sent is None or sent.kind is not Kind.MESSAGE_SENT or not self._delivered(sent.id):
            return None
        asked = self._log.get(sent.cause) if sent.cause else None
        mine = asked is not None and asked.kind is Kind.REVIEW_ASKED and reader.is_(asked.place.person)
        return asked if mine else None

    def _delivered(self, message: str) -> bool:
        row = self._log.database.row("SELECT state FROM outbox WHERE event = ?", (message,))
        return row is not None and row["state"] in ("sent", "unknown")

    def _said_last(self, space: Space, *, before: int | None = None) -> Event | None:
        """What was said last in a chat, by anybody, before a position in the log."""
        # The kinds stand as in the index of talk: else SQLite does not use it.
        row = self._log.database.row(
            "SELECT id FROM events WHERE space = ? AND (kind = 'message.received' OR kind = 'message.sent')"
            " AND seq < coalesce(?, seq + 1) ORDER BY seq DESC LIMIT 1",
            (str(space), before),
        )
        return self._log.get(row["id"]) if row else None


def _question(items: list[Item], more: int, language: Language) -> str:
    head = _ONE.say(language) if len(items) == 1 else _SEVERAL.say(language).format(count=len(items))
    lines = [f"{item.number}. {item.text}" for item in items]
    tail = [_MORE.say(language).format(count=more)] if more > 0 else []
    how = (_HOW_ONE if len(items) == 1 else _HOW).say(language)
    example = " ".join(str(item.number) for item in items[:2])
    return "\n".join([head, *lines, how.format(example=example, number=items[0].number), *tail])


_SEVERAL = Words("想记住这 {count} 条吗？", "Shall I remember these {count}?")
_ONE = Words("想让我记住这一条吗？", "Shall I remember this?")
_HOW = Words(
    "回复要留的编号，例如 {example}；都要、都不要也行。不回就不记。",
    "Reply with the numbers to keep, as in {example}; or all, or none. Without a reply nothing is kept.",
)
_HOW_ONE = Words(
    "记就回 {number}，不记就回不要。不回就不记。", "Reply {number} to keep it, or none. Without a reply it is not kept."
)
_MORE = Words("还有 {count} 条：/review", "{count} more: /review")
