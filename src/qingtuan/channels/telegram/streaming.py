"""An answer that can be read while it is written: one message, edited at a pace that Telegram takes.

The outbox stays the truth. What is shown meanwhile is no answer; when the answer comes out of the outbox, its first
part is put in that message's place (`TelegramChannel`). What stands in a chat is written down, so that a process that
dies leaves no second answer: the next one makes it the answer, or removes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from qingtuan.channels.telegram.api import Answer, Api
from qingtuan.channels.telegram.ids import Ref, cut, units
from qingtuan.channels.telegram.inbound import CHANNEL
from qingtuan.channels.telegram.moves import Moves
from qingtuan.clock import Clock
from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.previews import Preview, Previews
from qingtuan.messages import Outbound, Space
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.progress import MessageOut, Progress, Stage, ToolRuns, TurnEnded

_T = TypeVar("_T")

PRIVATE_SECONDS = 1.0
GROUP_SECONDS = 4.0
"""Between two edits. They count as messages: one a second in a chat, twenty a minute in a group."""
_LONGEST = 4000
"""UTF-16 units that are shown before the whole is there; what is more comes with the answer."""
_MORE = " …"


@dataclass(slots=True)
class _Stream:
    """One answer that is being written."""

    place: Place
    answers: Ref | None
    """The message that it answers."""
    text: str = ""
    over: bool = False
    """Whether nothing is shown of it any more."""
    calling: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Streams:
    """Shows the answers of all turns of this channel while they are written."""

    def __init__(self, api: Api, moves: Moves, log: Log, stage: Stage, clock: Clock) -> None:
        self._api = api
        self._moves = moves
        self._log = log
        self._stage = stage
        self._clock = clock
        self._previews = Previews(log, CHANNEL)
        self._streams: dict[str, _Stream] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._following: set[asyncio.Task[None]] = set()
        self._unlisten: Callable[[], None] = lambda: None

    def start(self, *, shows: bool) -> None:
        """Begin. What an earlier process left in a chat, and nothing will become of, is removed. With `shows`, answers
        are shown from now on."""
        self._unlisten = self._log.listen(self._heard if shows else self._heard_ended)
        for preview in self._previews.open():
            if any(event.kind is Kind.TURN_FINISHED for event in self._log.of_turn(preview.turn)):
                self._settle(preview)

    async def close(self) -> None:
        """Show nothing more. What stands in a chat waits for its answer."""
        self._unlisten()
        for stream in self._streams.values():
            stream.over = True
        for follower in self._following:
            follower.cancel()
        await asyncio.gather(*self._following, *self._tasks, return_exceptions=True)

    def shows(self, space: Space) -> bool:
        """Whether the beginnings of an answer stand in a chat."""
        return any(preview.space == space for preview in self._previews.open())

    # For the channel

    async def take(self, message: Outbound) -> Ref | None:
        """The message that shows the beginnings of this one. From now on nothing else is shown in it."""
        event = self._log.get(message.id)
        if event is None or event.place.turn is None or message.kind != "reply":
            return None
        if (stream := self._streams.get(event.place.turn)) is not None:
            stream.over = True
            async with stream.calling:  # what is on its way has arrived by then
                pass
        preview = self._previews.of(event.place.turn)
        return Ref.parse(preview.platform_id) if preview else None

    def became(self, message: Outbound) -> None:
        """It is the first part of the message now, for good."""
        event = self._log.get(message.id)
        if event is not None and (preview := self._previews.of(event.place.turn or "")) is not None:
            self._over(preview)

    async def remove(self, message: Outbound) -> None:
        """It is no part of the message."""
        event = self._log.get(message.id)
        if event is not None and (preview := self._previews.of(event.place.turn or "")) is not None:
            await self._remove(preview)

    # Turns

    def _heard(self, event: Event) -> None:
        turn, session = event.place.turn, event.place.session
        mine = event.kind is Kind.TURN_STARTED and event.payload.get("channel") == CHANNEL
        if mine and turn is not None and session is not None and event.place.space is not None:
            watching = ExitStack()
            progress = watching.enter_context(self._stage.watch(session, streaming=True))
            stream = self._streams[turn] = _Stream(event.place, self._answered(event))
            following = asyncio.create_task(self._follow(stream, progress, watching))
            self._following.add(following)
            following.add_done_callback(self._following.discard)
        self._heard_ended(event)

    def _heard_ended(self, event: Event) -> None:
        if event.kind is Kind.TURN_FINISHED and event.place.turn is not None:
            if (stream := self._streams.get(event.place.turn)) is not None:
                stream.over = True
                self._spawn(self._end(event.place.turn, stream))
            elif (preview := self._previews.of(event.place.turn)) is not None:
                self._settle(preview)

    def _answered(self, started: Event) -> Ref | None:
        said = self._log.get(started.cause) if started.cause else None
        if said is None or said.kind is not Kind.MESSAGE_RECEIVED or said.place.space != started.place.space:
            return None
        return Ref.parse(str(said.payload["message_id"]))

    async def _follow(self, stream: _Stream, progress: AsyncIterator[Progress], watching: ExitStack) -> None:
        """Keep the text as it stands, until the answer is in the outbox."""
        showing = asyncio.create_task(self._show(stream))
        begins = False
        try:
            async for piece in progress:
                match piece:
                    case TextDelta(text):
                        stream.text = text if begins else stream.text + text
                        begins = False
                        stream.changed.set()
                    case TakenBack():
                        begins = True
                    case ToolRuns():
                        begins = True  # what is said behind it is another answer
                    case MessageOut(message):
                        if message.payload["kind"] == "reply":
                            return
                    case TurnEnded(turn) if turn == stream.place.turn:
                        return
        finally:
            watching.close()
            showing.cancel()
            stream.over = True

    async def _show(self, stream: _Stream) -> None:
        """Show what is new, at most once in each interval."""
        space = _space(stream)
        seconds = GROUP_SECONDS if space.is_group else PRIVATE_SECONDS
        shown = ""
        while not stream.over:
            await stream.changed.wait()
            stream.changed.clear()
            # The first words are kept back as long: a short answer comes whole.
            await self._clock.sleep(seconds)
            text = _shown(stream.text)
            if stream.over or not text.strip() or text == shown:
                continue
            # What was begun is finished: cut off, nobody would know what stands in the chat.
            said = await asyncio.shield(self._spawn(self._put(stream, text)))
            if said.done or said.says("message is not modified"):
                shown = text
            elif said.code == 429:
                stream.changed.set()
                await self._clock.sleep(said.retry_after or seconds)
            elif said.state == "unreached":
                stream.changed.set()
            else:
                return  # it is not shown then; the answer comes all the same

    async def _put(self, stream: _Stream, text: str) -> Answer:
        async with stream.calling:
            return Answer("done") if stream.over else await self._call(stream, text)

    async def _call(self, stream: _Stream, text: str) -> Answer:
        space = _space(stream)
        chat, plain = self._moves.chat(space), {"text": text, "link_preview_options": {"is_disabled": True}}
        preview = self._previews.of(stream.place.turn or "")
        if preview is not None and (ref := Ref.parse(preview.platform_id)) is not None:
            return await self._api.call("editMessageText", chat_id=chat, message_id=ref.message, **plain)
        where: dict[str, Any] = {"message_thread_id": stream.answers.topic if stream.answers else None}
        if space.is_group and stream.answers is not None and self._moves.stands(stream.answers, space):
            where["reply_parameters"] = {"message_id": stream.answers.message, "allow_sending_without_reply": True}
        said = await self._api.call("sendMessage", chat_id=chat, **where, **plain)
        if said.done:
            ref = self._moves.ref(space, said.result)
            try:
                self._previews.shown(stream.place, str(ref))
            except StorageFailed:
                await self._api.call("deleteMessage", chat_id=chat, message_id=ref.message)
                return Answer("unanswered", description="it could not be written down")
        return said

    async def _end(self, turn: str, stream: _Stream) -> None:
        async with stream.calling:
            self._streams.pop(turn, None)
            if (preview := self._previews.of(turn)) is not None:
                self._settle(preview)

    def _settle(self, preview: Preview) -> None:
        """The turn is over: what it showed becomes its answer, or goes if there is none."""
        replies = [event for event in self._log.of_turn(preview.turn) if _is_reply(event)]
        became = {event.kind for reply in replies for event in self._log.caused_by(reply.id)}
        if Kind.DELIVERY_STARTED in became and not became.isdisjoint(_ENDS):
            self._over(preview)  # of a process that died before it could write that down
        elif not replies or not became.isdisjoint(_ENDS):
            self._spawn(self._remove(preview))

    async def _remove(self, preview: Preview) -> None:
        ref = Ref.parse(preview.platform_id)
        if ref is not None:
            chat = ref.chat or self._moves.chat(preview.space)
            said = await self._api.call("deleteMessage", chat_id=chat, message_id=ref.message)
            if said.state == "unreached" or said.code == 429:
                return  # the next start tries again
        self._over(preview)

    def _over(self, preview: Preview) -> None:
        with suppress(StorageFailed):  # the next start looks again
            self._previews.over(preview)

    def _spawn(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


_ENDS = (Kind.DELIVERY_SENT, Kind.DELIVERY_REFUSED, Kind.DELIVERY_UNKNOWN)


def _space(stream: _Stream) -> Space:
    if stream.place.space is None:
        raise ValueError("a turn has a space")
    return stream.place.space


def _is_reply(event: Event) -> bool:
    return event.kind is Kind.MESSAGE_SENT and not event.forgotten and event.payload.get("kind") == "reply"


def _shown(text: str) -> str:
    """As much of a text as fits into one message, whole characters only."""
    if units(text) <= _LONGEST:
        return text
    return cut(text, 0, _LONGEST).rstrip("\ufffd") + _MORE
