"""Fetches what messages left with their platforms as soon as they are stored, and has it read.

What became of it are events caused by the message; nothing else is kept. So a process that dies in between leaves the
next one what is still to be done, and nothing is fetched twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from qingtuan.clock import Clock
from qingtuan.errors import FetchFailed, NotThere, QingtuanError, StorageFailed
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.ids import first_event_id
from qingtuan.language import Words
from qingtuan.media import happened
from qingtuan.media.remote import Blob, Fetcher
from qingtuan.media.store import MediaStore, megabytes
from qingtuan.messages import Attachment, Material, Origin, Remote


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a file, or why nothing was."""

    how: str = ""
    """`document`, `ocr` or `speech`."""
    text: str = ""
    cut: bool = False
    """Whether there is more in it than `text` holds."""
    why: Words | None = None


class Reader(Protocol):
    """Reads files as text."""

    async def read(self, attachment: Attachment, chars: int) -> Reading | None:
        """At most `chars` characters of what stands in it; None for what a turn looks at itself: a picture, where a
        model sees."""
        ...


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of somebody's is taken."""

    size: int | None
    """Bytes for the rest of the day; None for no limit."""
    chars: int
    """Characters that are read in one file, or taken of one forward."""


class Collector:
    """Knows, by channel, how things are fetched, and does it in the background."""

    def __init__(
        self,
        log: Log,
        store: MediaStore,
        clock: Clock,
        reader: Reader,
        allowance: Callable[[Event], Allowance],
    ) -> None:
        """`allowance` says how much may still be taken of whoever sent a stored message."""
        self._log = log
        self._store = store
        self._clock = clock
        self._reader = reader
        self._allowance = allowance
        self._fetchers: dict[str, Fetcher] = {}
        self._registered = asyncio.Event()
        """Set when one more channel is known."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """By message, what is on its way."""
        self._room, self._room_of_limited = asyncio.Semaphore(_AT_ONCE), asyncio.Semaphore(_AT_ONCE)
        self._unlisten: Callable[[], None] = lambda: None

    def register(self, channel: str, fetcher: Fetcher) -> None:
        """Say how what messages of a channel left with their platform is fetched: before the channel opens."""
        self._fetchers[channel] = fetcher
        self._registered.set()
        self._registered = asyncio.Event()

    def start(self) -> None:
        """From now on, fetch what new messages bring. What an earlier process left open of the last day is taken up
        when `catch_up` is called, or a turn asks for it."""
        self._unlisten = self._log.listen(self._heard)

    def catch_up(self) -> int:
        """Take up what was left open, once the channels are registered. How many messages that are. What came before
        a restore, or long ago, is given up: links do not last, and after a restore it may have been fetched already."""
        restored = self._log.of_kind(Kind.FOLDER_RESTORED)
        since = self._clock.now() - _LONGEST_LINK
        # The plus keeps SQLite from the index by kind, which would lead through all that was ever said.
        left = self._log.where(
            "id >= ? AND +kind = ? AND json_type(payload, '$.remotes') = 'array'",
            [first_event_id(self._clock.now() - _LONGEST_OPEN), Kind.MESSAGE_RECEIVED],
        )
        taken_up = 0
        for event in left:
            message = Received.of(event)
            open_ones = self._open(message)
            if not open_ones:
                continue
            if event.time < since or (restored and event.seq < restored[-1].seq):
                for number in open_ones:
                    self._failed(event, number, _TOO_OLD)
            else:
                self._begin(event)
                taken_up += 1
        return taken_up

    async def ready(self, messages: tuple[Received, ...]) -> tuple[Received, ...]:
        """Wait until all that came with these messages is here and read, or known not to be; gives them with it. May
        be dropped in the middle: what is on its way goes on."""
        waiting = [self._begin(message.event) for message in messages if self._has_work(message)]
        if waiting:
            await asyncio.wait(waiting)
        return tuple(self.completed(message) for message in messages)

    def completed(self, message: Received) -> Received:
        """A message with what is here of it by now."""
        return happened.completed(message, self._about(message.event.id))

    async def settled(self) -> None:
        """Wait until nothing is on its way."""
        while tasks := list(self._tasks.values()):
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop: what is on its way is taken up at the next start."""
        self._unlisten()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # What there is to do

    def _heard(self, event: Event) -> None:
        if event.kind is Kind.MESSAGE_RECEIVED and (event.payload.get("remotes") or event.payload.get("attachments")):
            self._begin(event)

    def _begin(self, event: Event) -> asyncio.Task[None]:
        if (task := self._tasks.get(event.id)) is None:
            task = self._tasks[event.id] = asyncio.create_task(self._collect(event), name=f"media of {event.id}")
            task.add_done_callback(lambda _: self._tasks.pop(event.id, None))
        return task

    def _about(self, message: str) -> list[Event]:
        return [event for event in self._log.caused_by(message) if event.kind in happened.KINDS]

    def _open(self, message: Received) -> list[int]:
        """Which of its remotes nothing is known of."""
        settled = {
            event.payload.get("number")
            for event in self._about(message.event.id)
            if event.kind in (Kind.MEDIA_FETCHED, Kind.MEDIA_FAILED)
        }
        return [
            number
            for number, remote in enumerate(message.remotes)
            if number not in settled and not (message.spoken and remote.voice and remote.transcript)
        ]

    def _has_work(self, message: Received) -> bool:
        return message.event.id in self._tasks or bool(self._open(message)) or bool(self._unread(message))

    def _unread(self, message: Received) -> list[Attachment]:
        found = happened.pieces(message, self._about(message.event.id))
        files = [piece.attachment for piece in found if piece.attachment and not piece.how and not piece.unread]
        return list({attachment.hash: attachment for attachment in files}.values())

    async def _collect(self, event: Event) -> None:
        message = Received.of(event)
        try:
            numbers = self._open(message)
            await asyncio.gather(*(self._fetch(event, number, message.remotes[number]) for number in numbers))
            await asyncio.gather(*(self._read(event, attachment) for attachment in self._unread(message)))
        except StorageFailed:
            return  # the disk refuses: a turn says so, and the next start tries again

    # Fetching

    async def _fetch(self, event: Event, number: int, remote: Remote) -> None:
        detail = ""
        try:
            # Whoever has no limits does not wait for what is slow of those who have.
            async with self._room if self._allowance(event).size is None else self._room_of_limited:
                found = await self._got(event, number, remote)
            payload, origin = await self._kept(event, found, remote)
        except FetchFailed as error:
            words, detail = error.words, error.detail
        except TimeoutError:
            words = _SLOW
        except _NotConnected:
            return  # it stays open: a later start with that channel fetches it
        except StorageFailed:
            raise
        except QingtuanError as error:
            words, detail = error.words, error.detail
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            # Its words may hold an address with a key.
            words, detail = _BROKE, type(error).__name__
        else:
            self._append(event, Kind.MEDIA_FETCHED, {"number": number, **payload}, origin)
            return
        self._failed(event, number, words, detail)

    async def _got(self, event: Event, number: int, remote: Remote) -> Blob | Material:
        if remote.kind == "video":
            raise FetchFailed(_VIDEO)
        if number >= _MOST:
            raise FetchFailed(_MANY)
        fetcher = await self._fetcher(str(event.payload.get("channel", "")))
        if remote.kind not in ("forward", "quote"):
            self._check(remote.size or 0, self._allowance(event))
        async with asyncio.timeout(_LONGEST):
            for pause in (*_PAUSES, None):
                try:
                    return await fetcher.fetch(remote)
                except FetchFailed as error:
                    if not error.again or pause is None:
                        raise
                await self._clock.sleep(pause)
        raise FetchFailed(_SLOW)

    async def _fetcher(self, channel: str) -> Fetcher:
        """The way to a channel, which may be about to open. Raises `_NotConnected`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_OPENING):
                while channel not in self._fetchers:
                    await self._registered.wait()
        if channel not in self._fetchers:
            raise _NotConnected
        return self._fetchers[channel]

    def _check(self, size: int, allowance: Allowance) -> None:
        if size > self._store.largest:
            raise FetchFailed(_LARGE.filled(most=megabytes(self._store.largest)))
        if allowance.size is not None and (size > allowance.size or allowance.size <= 0):
            raise FetchFailed(_SPENT)

    async def _kept(self, event: Event, found: Blob | Material, remote: Remote) -> tuple[dict[str, Any], Origin]:
        """What a `media.fetched` says of it, and its origin: it is foreign, whatever the channel calls it."""
        allowance = self._allowance(event)
        if isinstance(found, Material):
            origin = found.origin if found.origin.foreign else Origin.FORWARD
            text = _whole(found.text)
            text = text if len(text) <= allowance.chars else f"{text[: allowance.chars]}…"
            material = replace(found, origin=origin, label=_whole(found.label)[:_LABEL], text=text)
            return {"materials": [asdict(material)]}, origin
        self._check(len(found.data), allowance)
        name = found.name or remote.name
        attachment = await asyncio.to_thread(self._store.put, found.data, _whole(name))
        return {"attachments": [asdict(attachment)]}, Origin.FILE

    def _failed(self, event: Event, number: int, words: Words, detail: str = "") -> None:
        payload: dict[str, Any] = {"number": number, "why": asdict(words)}
        if detail:
            payload["detail"] = detail[:500]
        self._append(event, Kind.MEDIA_FAILED, payload, Origin.SYSTEM)

    # Reading

    async def _read(self, event: Event, attachment: Attachment) -> None:
        detail = ""
        try:
            reading = await self._reader.read(attachment, self._allowance(event).chars)
        except StorageFailed:
            raise
        except NotThere as error:
            reading = Reading(why=error.words)
        except Exception as error:  # noqa: BLE001 (what reads files meets anything)
            reading, detail = Reading(why=_UNREADABLE), repr(error)[:500]
        if reading is None:
            return
        payload: dict[str, Any] = {"hash": attachment.hash}
        if reading.why is not None:
            payload["why"] = asdict(reading.why)
        if reading.how:
            payload |= {"how": reading.how, "text": _whole(reading.text), **({"cut": True} if reading.cut else {})}
        if detail:
            payload["detail"] = detail
        self._append(event, Kind.MEDIA_READ, payload, Origin.FILE)

    def _append(self, event: Event, kind: Kind, payload: Mapping[str, Any], origin: Origin) -> None:
        with self._log.transaction():
            message = self._log.get(event.id)
            if message is not None and not message.forgotten:  # else nothing of it is to be kept
                self._log.append(kind, event.place, payload, origin=origin, cause=event.id)


def _whole(text: str) -> str:
    """Without halves of characters, which no file and no table can hold."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


class _NotConnected(Exception):
    """Nothing in this process knows that channel."""


_OPENING = 15.0
"""Seconds that a channel may take to open after the start."""
_AT_ONCE = 4
"""Things that are fetched at the same time, over all channels: of the owner, and of all others together."""
_LONGEST = 120.0
"""Seconds for one thing, all tries together."""
_PAUSES = (1.0, 4.0, 15.0)
"""Seconds before it is tried again."""
_LONGEST_LINK = timedelta(days=1)
"""How long what an earlier process left open is still worth a try."""
_LONGEST_OPEN = timedelta(days=30)
"""How far back what was left open is looked for."""
_LABEL = 200
_MOST = 20
"""Things of one message that are fetched."""

_VIDEO = Words("这是视频，我看不了视频。", "It is a video, and I cannot watch videos.")
_SLOW = Words("太慢了，没等到。", "It took too long.")
_LARGE = Words("文件太大，最多 {most}。", "The file is too large: at most {most}.")
_SPENT = Words("今天收的文件够多了，明天再发。", "That is enough of files for today; send it tomorrow.")
_TOO_OLD = Words("那时没来得及取，请再发一次。", "It was not fetched in time; please send it again.")
_MANY = Words(f"一次太多了，只收前 {_MOST} 个。", f"Too many at once: the first {_MOST} are taken.")
_BROKE = Words("取的时候出错了，请再发一次。", "Something broke while fetching it; please send it again.")
_UNREADABLE = Words("这个文件我读不了。", "I cannot read this file.")
