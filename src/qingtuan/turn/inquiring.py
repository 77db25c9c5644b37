"""Questions that programs put to people: asked in the chat, answered there, and closed when nobody waits any more.

An answer goes to the program that asked. It is a command in the record: it enters no history and allows nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from qingtuan.confirmations import responses
from qingtuan.confirmations.inquiry import MAX_CHOICES, MAX_OPEN, Asked, Inquiry, Recipient, Reply
from qingtuan.confirmations.inquiry_words import summary_of, who
from qingtuan.confirmations.responses import Response, Spoken
from qingtuan.errors import StorageFailed
from qingtuan.events.erasing import ERASING
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import Draft, notice
from qingtuan.identity.accounts import OWNER, is_key
from qingtuan.identity.scopes import Reader
from qingtuan.language import Language, Words
from qingtuan.messages import Inbound, Origin
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut
from qingtuan.turn.questions import chat_of, owner_chat, place_in
from qingtuan.turn.turn import progressed

MAX_WRONG = 3
"""Answers that fit none of the choices, or must not be handed on, after which nobody is asked any more."""

Given = Literal["answered", "skipped", "declined"]
Why = Literal["expired", "gone", "restarted"]


@dataclass(frozen=True, slots=True)
class _Where:
    """Where somebody is asked."""

    channel: str
    place: Place


@dataclass(slots=True)
class _Waiting:
    """Somebody waits for an answer."""

    asked: Asked
    reply: asyncio.Future[Reply]
    wrong: int = 0


@dataclass(slots=True)
class _Room:
    """What one turn asks, one question at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    inside: int = 0
    """Those who ask or wait to. A lock that is free says nothing of them: whoever waits takes it a moment later."""


class Inquiring:
    """Puts questions of programs to people, and recognises what they answer."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._book = kit.record.inquiries
        self._waiting: dict[str, _Waiting] = {}
        self._rooms: dict[str, _Room] = {}
        """By turn: what one turn waits for is asked one after the other."""
        self.alone = False
        """Whether nobody could answer here, since the process hears nothing more: then nobody is asked."""
        kit.record.log.listen(self._heard)

    # Asking

    async def ask(self, inquiry: Inquiry, to: Recipient) -> Reply:
        """See `Asks`."""
        where = None if self.alone else self._where(to)
        if where is None:
            return Reply("cancelled", why=_NOBODY)
        if len(inquiry.choices) > MAX_CHOICES:
            return Reply("cancelled", why=_TOO_MANY_CHOICES)
        if where.place.turn is None:
            return await self._ask(inquiry, where)
        room = self._rooms.setdefault(where.place.turn, _Room())
        room.inside += 1
        try:
            async with room.lock:
                return await self._ask(inquiry, where)
        finally:
            room.inside -= 1
            if not room.inside:
                del self._rooms[where.place.turn]

    async def _ask(self, inquiry: Inquiry, where: _Where) -> Reply:
        persons = self._kit.people.ids(where.place.person or "")
        if len(self._book.open_of(persons)) >= MAX_OPEN:
            return Reply("cancelled", why=_TOO_MANY)
        waiting = _Waiting(self._put(inquiry, where), asyncio.get_running_loop().create_future())
        event = waiting.asked.event
        self._waiting[event] = waiting
        clock = self._kit.record.clock
        expiry = asyncio.ensure_future(clock.sleep(inquiry.lasts.total_seconds()))
        try:
            either: list[asyncio.Future[Any]] = [waiting.reply, expiry]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if waiting.reply.done():
                reply = waiting.reply.result()
                if reply.kind == "cancelled":
                    self._close(event, "gone", told=True)
                return reply
            self._close(event, "expired")
            return Reply("expired")
        finally:
            expiry.cancel()
            self._waiting.pop(event, None)
            with suppress(StorageFailed):  # the next start closes it
                self._close(event, "gone")

    def _put(self, inquiry: Inquiry, where: _Where) -> Asked:
        record = self._kit.record
        language = self._language(where.place.person or "")
        with record.log.transaction(durable=True):
            asked = self._book.ask(inquiry, where.place, language)
            draft = Draft(where.channel, asked.text, "question", Origin.SYSTEM, by_code=True)
            sent = record.outbox.put(draft, where.place, cause=asked.event)
        self._show(sent)
        return asked

    def _where(self, to: Recipient) -> _Where | None:
        """Where to ask: in the chat of the turn that waits; where a program's key speaks there, or no turn waits, in
        the private chat in which the person last wrote."""
        if to.turn is not None:
            begun = progressed(self._kit.record.log.of_turn(to.turn)).begun
            if begun is None or not self._same(begun.place.person, to.person):
                return None
            if not is_key(begun.payload["account"]):
                return _Where(begun.payload["channel"], begun.place)
        person = self._kit.people.person(to.person)
        if person is None:
            return None
        chat = owner_chat(self._kit) if person.id == OWNER else chat_of(self._kit, person)
        return _Where(chat.channel, place_in(self._kit, chat, person.id)) if chat is not None else None

    def _same(self, one: str | None, other: str) -> bool:
        return one is not None and one in {other, *self._kit.people.ids(other)}

    # Hearing

    def recognise(self, message: Inbound | Received, reader: Reader, *, named: bool = False) -> Response | None:
        """The answer that a message is, stored or not; None if it is none. `named`: only what itself says which
        question it is to."""
        if is_key(message.account) or message.edited or message.spoken or not self._concerns(message):
            return None
        if any(material.origin is Origin.FORWARD for material in message.materials) and not message.quotes:
            return None
        opened = self._open_to(reader)
        said = self._spoken(message, reader)
        if named:
            return responses.named(said, opened)
        if not opened:
            return None
        answerable = self._kit.book.answerable(reader, message=self._id_of(message))
        others = bool(answerable.open or answerable.others)
        here = [asked for asked in opened if asked.space == reader.space]
        return responses.unnamed(said, here, self._session(message, reader), others=others or len(opened) > len(here))

    def _concerns(self, message: Inbound | Received) -> bool:
        """Whether a message may be an answer at all, without a look at the record: nearly none is."""
        return bool(self._waiting) or message.quotes is not None

    def _open_to(self, reader: Reader) -> list[Asked]:
        """The open questions that somebody may answer from where they are: what was asked there, and in private all
        that they were asked in private."""
        if not self._waiting:
            return []
        private = not reader.space.is_group
        opened = (asked for asked in self._book.open_of(reader.ids) if asked.event in self._waiting)
        return [asked for asked in opened if asked.space == reader.space or (private and not asked.space.is_group)]

    def _spoken(self, message: Inbound | Received, reader: Reader) -> Spoken:
        stored = message.event if isinstance(message, Received) else None
        quoted = self._kit.book.of_message(reader.space, message.quotes) if message.quotes else None
        asked = self._book.asked_in(quoted) if quoted else None
        return Spoken(
            text=message.text,
            said_at=message.time if isinstance(message, Inbound) else message.said_at,
            received_at=stored.time if stored else self._kit.record.clock.now(),
            quoted=asked if asked is not None and reader.is_(asked.person) else None,
            addressed=message.addressed if isinstance(message, Inbound) else True,
            plain=not (message.attachments or message.remotes) and (asked is not None or not message.quotes),
        )

    def _session(self, message: Inbound | Received, reader: Reader) -> str:
        if isinstance(message, Received):
            return message.event.place.session or ""
        sessions = self._kit.record.sessions
        if message.session is not None:
            return sessions.named(message.space, message.session, reader.person).id
        return sessions.running(message.space, reader.person).id

    @staticmethod
    def _id_of(message: Inbound | Received) -> str:
        return message.event.id if isinstance(message, Received) else ""

    def take(self, response: Response, received: Received, place: Place) -> None:
        """Do what an answer says: hand it to whoever waits for it, or say what is wrong with it."""
        record, asked = self._kit.record, response.asked
        language = self._language(place.person or "")
        waiting = self._waiting.get(asked.event) if asked is not None else None
        reply, words = self._judge(response, waiting, place, received)
        sent: list[Event] = []
        with record.log.transaction(durable=True):
            command = {"command": "cancel" if response.verdict == "declined" else "answer"}
            record.log.append(Kind.COMMAND_RUN, place, command, cause=received.event.id)
            if words is not None:
                text = self._words(words, response, asked, language)
                sent.append(record.outbox.put(notice(received.channel, text), place, cause=received.event.id))
        for message in sent:
            self._show(message)
        if reply is not None and waiting is not None and not waiting.reply.done():
            waiting.reply.set_result(reply)

    def _judge(
        self, response: Response, waiting: _Waiting | None, place: Place, received: Received
    ) -> tuple[Reply | None, Words | None]:
        """What whoever waits gets, if anything, and what the person is told."""
        asked, verdict = response.asked, response.verdict
        if verdict == "which":
            return None, _WHICH
        if asked is None or waiting is None or verdict == "closed":
            return None, _CLOSED
        if verdict == "misfit" or verdict == "secret":
            waiting.wrong += 1
            if waiting.wrong >= MAX_WRONG:
                return Reply("cancelled", why=_WRONG_TOO_OFTEN), _GIVEN_UP
            return None, _MISFIT if verdict == "misfit" else _HELD_BACK
        kind: Given = verdict
        if not self._book.take(asked.event, kind, by=place.person or "", message=received.event.id):
            return None, _CLOSED
        words = _DECLINED if kind == "declined" else None if asked.place.turn is not None else _HANDED_ON
        first = response.picks[0] if response.picks else None
        return Reply(kind, response.text, first, response.picks), words

    def _words(self, words: Words, response: Response, asked: Asked | None, language: Language) -> str:
        name = who(asked.kind, asked.asker, language) if asked is not None else ""
        line = _WHICH_LINE.say(language)
        lines = [
            line.format(code=one.code, summary=summary_of(one.kind, one.asker, one.question, language))
            for one in response.which
        ]
        return "\n".join((words.say(language).format(who=name), *lines))

    # Closing

    def close_left(self) -> None:
        """At the start: close what an earlier process left open, with a word to whoever was asked."""
        for asked in self._book.open():
            if asked.event not in self._waiting:
                self._close(asked.event, "restarted")

    def _close(self, event: str, why: Why, *, told: bool = False) -> None:
        """Close a question, if it is open still, with a word to whoever was asked unless they were `told`. What had not
        even gone out is not sent any more."""
        record = self._kit.record
        with record.log.transaction():
            asked = self._book.close(event, why)
            if asked is None or told:
                return
            unsent = record.outbox.withdraw(lambda message: message.id == asked.message, "nobody waits for the answer")
            if unsent:
                return
            message = record.log.get(asked.message or "")
            if message is None or message.forgotten:
                return
            language = self._language(asked.person)
            text = _OVER[why].say(language).format(who=who(asked.kind, asked.asker, language))
            sent = record.outbox.put(notice(message.payload["channel"], text), asked.place, cause=event)
        self._show(sent)

    def _heard(self, event: Event) -> None:
        """When somebody is forgotten, nobody waits for them any more."""
        if event.kind in ERASING:
            for waiting in list(self._waiting.values()):
                if not waiting.reply.done() and self._book.get(waiting.asked.event) is None:
                    waiting.reply.set_result(Reply("cancelled", why=_NOBODY))

    # Looking

    def open_to(self, reader: Reader) -> list[Asked]:
        """The questions that wait for an answer of somebody, oldest first."""
        return self._open_to(reader)

    def _show(self, message: Event) -> None:
        if message.place.session:
            self._kit.stage.show(message.place.session, MessageOut(message))

    def _language(self, person: str) -> Language:
        known = self._kit.people.person(person)
        return (known.language if known else None) or self._kit.texts.language


_NOBODY = Words("没有人可问。", "There is nobody to ask.")
_TOO_MANY = Words("对方已经有几个问题没回答了。", "Several questions wait for that person already.")
_TOO_MANY_CHOICES = Words(f"选项太多，最多 {MAX_CHOICES} 个。", f"Too many choices; at most {MAX_CHOICES}.")
_WRONG_TOO_OFTEN = Words("对方几次都没有答对格式。", "The person's answers did not fit.")
_WHICH = Words("有几个问题在等回答，带上代码说是哪一个：", "Several questions are open; give the code:")
_WHICH_LINE = Words("- 「/回答 {code} …」：{summary}", "- “/answer {code} …”: {summary}")
_CLOSED = Words("这个问题已经不用回答了。", "This question needs no answer any more.")
_MISFIT = Words(
    "这不是它能要的回答。有选项就回编号或原文，不想回答就回「取消」。",
    "That is no answer to it. Reply with one of its labels, if it has any, or “cancel”.",
)
_HELD_BACK = Words(
    "这里面好像有密码、密钥或证件号，没有交给{who}。换个说法再答，或回「取消」。",
    "That seems to hold a password, key or card number, and was not given to {who}. Answer otherwise, or “cancel”.",
)
_GIVEN_UP = Words("几次都没对上，这个问题先算了。", "None of that fitted; the question is dropped.")
_DECLINED = Words("好，不回答{who}。", "All right; {who} gets no answer.")
_HANDED_ON = Words("好，已经交给{who}。", "Handed to {who}.")
_OVER: dict[Why, Words] = {
    "expired": Words("{who} 的问题过了时限，不用回答了。", "{who}: the question has expired and needs no answer."),
    "gone": Words("{who} 不等回答了，它的问题不用管了。", "{who} waits no more; its question needs no answer."),
    "restarted": Words(
        "我重新启动过，{who} 的问题不用回答了。", "I was restarted; the question of {who} needs no answer any more."
    ),
}
