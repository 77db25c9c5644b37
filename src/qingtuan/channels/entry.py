"""A channel as `qingtuan serve` runs it: it starts, stops, says how it is, and keeps no other from working."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from qingtuan.channels.base import Held, Part
from qingtuan.clock import Clock
from qingtuan.errors import QingtuanError
from qingtuan.events.log import Log
from qingtuan.language import Words
from qingtuan.messages import Outbound
from qingtuan.turn.desk import Desk
from qingtuan.turn.kit import Kit

Asgi = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]
"""A web application, as the ASGI standard has it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the channel of a chat app is given of the instance that it is a part of."""

    folder: Path
    """The data folder."""
    kit: Kit
    desk: Desk
    render: Callable[[Outbound], Sequence[Part]]
    """The parts of a message as the platform shows them."""
    read: Callable[[str], bytes]
    """The bytes of a file of the media store, by its hash. Blocks: to be called in a thread. Raises `NotThere`."""

    @property
    def log(self) -> Log:
        return self.kit.record.log

    @property
    def clock(self) -> Clock:
        return self.kit.record.clock


@dataclass(frozen=True, slots=True)
class EntryHealth:
    """How one channel is, for `doctor` and the console."""

    name: str
    """As messages name the channel."""
    state: Literal["starting", "connected", "disconnected", "off"]
    """`off`: it does not run, and will not by itself."""
    words: Words | None = None
    """What is wrong and what to do; None where nothing is."""
    account: str | None = None
    """The account that the assistant has there, once known."""
    last_inbound: datetime | None = None
    last_outbound: datetime | None = None
    limit: float | None = 300.0
    """Seconds for which it may be without a connection before the owner is told; None where the owner was told of
    what is wrong already."""
    held: Sequence[Held] = ()
    """What waits to be sent, chat by chat, and why."""

    @property
    def broken(self) -> bool:
        """Whether it should work and does not. One that is off without a reason is none."""
        return self.state in ("disconnected", "starting") or (self.state == "off" and self.words is not None)


TITLES = {
    "a2a": Words("别的助手", "other agents"),
    "cli": Words("终端", "terminal"),
    "http": Words("HTTP", "HTTP"),
    "mcp": Words("MCP 服务", "MCP server"),
    "onebot": Words("QQ", "QQ"),
    "telegram": Words("Telegram", "Telegram"),
    "wxclaw": Words("微信", "WeChat"),
}
"""Channels as people call them."""


OF_PROGRAMS = frozenset({"http", "mcp", "a2a"})
"""What programs call, beside the chat apps."""


def titled(name: str) -> Words:
    """A channel as people call it."""
    return TITLES.get(name, Words(name, name))


class Entry(Protocol):
    """One channel of a running instance."""

    @property
    def name(self) -> str:
        """As messages name it: `onebot`, `telegram`, `wxclaw`, `http`."""
        ...

    @property
    def routes(self) -> Mapping[str, Asgi]:
        """What it answers on the server of the instance, by the beginning of the path; empty where it calls out."""
        ...

    async def start(self) -> None:
        """Begin. A platform that cannot be reached now is no failure: it is tried again, and `health` says so.

        Raises:
            SettingsWrong: it can never work as it is set up. The other channels go on.
        """
        ...

    async def stop(self) -> None:
        """End: take nothing in any more, finish storing what came, leave what waits in the outbox."""
        ...

    def health(self) -> EntryHealth:
        """How it is at this moment."""
        ...


@runtime_checkable
class Answering(Protocol):
    """A channel whose callers wait for the answer on the line that they asked on."""

    def pause(self) -> None:
        """Take nothing in any more; what is being answered goes on."""
        ...

    async def rest(self) -> None:
        """Wait until what was being answered is answered."""
        ...


class Entries:
    """All channels of an instance, side by side."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._running: list[Entry] = []
        self.failed: dict[str, QingtuanError] = {}
        """By channel, why it did not start."""
        self.address: tuple[str, int] | None = None
        """Where the server listens that they are called on, if one does."""

    async def start(self) -> None:
        """Start each; one that cannot start keeps no other from it."""
        for entry in self._entries:
            try:
                await entry.start()
            except QingtuanError as error:
                self.failed[entry.name] = error
            else:
                self._running.append(entry)

    @property
    def routes(self) -> Mapping[str, Asgi]:
        """What those that run answer, by the beginning of the path. What could not start, as for want of a token, is
        called by nobody."""
        return {prefix: answers for entry in self._running for prefix, answers in entry.routes.items()}

    def pause(self) -> None:
        """Take in no more of what wants its answer at once."""
        for entry in self._running:
            if isinstance(entry, Answering):
                entry.pause()

    async def rest(self) -> None:
        """Wait until all of that is answered."""
        for entry in self._running:
            if isinstance(entry, Answering):
                await entry.rest()

    async def stop(self) -> None:
        """Stop those that run."""
        while self._running:
            await self._running.pop().stop()

    @property
    def running(self) -> Sequence[Entry]:
        """Those that started."""
        return tuple(self._running)

    def health(self) -> list[EntryHealth]:
        """How each of them is."""
        return [self._health(entry) for entry in self._entries]

    def _health(self, entry: Entry) -> EntryHealth:
        error = self.failed.get(entry.name)
        if error is None and isinstance(entry, Answering):
            error = self.failed.get("server")  # what only answers is reached by nobody then
        return entry.health() if error is None else EntryHealth(entry.name, "off", error.words)


@dataclass(slots=True)
class Standing:
    """How the channels of an instance are, for whoever asks it from another process."""

    entries: Entries | None = None
    """None while none run."""

    def health(self) -> list[EntryHealth]:
        """How each of them is at this moment."""
        return self.entries.health() if self.entries is not None else []
