"""How fast a channel may send: by the limits of its platform, and after outcomes that nobody knows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from qingtuan.messages import Space


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many parts within so many seconds."""

    most: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What a platform takes. Without any rate nothing is held back: the other end is a program of ours."""

    private: tuple[Rate, ...] = ()
    """In one private chat."""
    group: tuple[Rate, ...] = ()
    """In one group."""
    every: tuple[Rate, ...] = ()
    """Over all chats of the channel."""
    bubbles: tuple[float, float] = (0.0, 0.0)
    """Seconds between two parts of one message, for a short part and for a long one: as people write."""


UNPACED = Pace()
_LONG = 100
"""Characters of a part before which the longest pause is made."""


class Pacer:
    """Knows what was sent lately, and how long the next part has to wait."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._chats: dict[Space, deque[float]] = {}
        self._all: deque[float] = deque()
        self._longest = max((rate.seconds for rate in (*pace.private, *pace.group, *pace.every)), default=0.0)
        self._unlimited = pace == UNPACED

    def pause(self, space: Space, now: float, *, follows: bool, length: int = 0) -> float:
        """Seconds until a part of `length` characters may be sent. `follows`: the part before it is of the same
        message. `now` is of a monotonic clock."""
        if self._unlimited:
            return 0.0
        chat = self._chats.get(space, deque())
        rates = self._pace.group if space.is_group else self._pace.private
        due = max(_due(chat, rates), _due(self._all, self._pace.every))
        if follows and chat:
            shortest, longest = self._pace.bubbles
            due = max(due, chat[-1] + shortest + (longest - shortest) * min(1.0, length / _LONG))
        return max(0.0, due - now)

    def sent(self, space: Space, now: float) -> None:
        """Something was handed over, whatever became of it."""
        if self._unlimited:
            return
        for times in (self._all, self._chats.setdefault(space, deque())):
            times.append(now)
            while len(times) > 1 and times[0] < now - self._longest:
                times.popleft()
        if len(self._chats) > _MOST_CHATS:
            quiet = now - max(self._longest, self._pace.bubbles[1])
            self._chats = {chat: times for chat, times in self._chats.items() if times[-1] >= quiet}


_MOST_CHATS = 1000
"""Chats that are kept in mind before those are dropped that nothing was sent to lately."""


def _due(times: deque[float], rates: Sequence[Rate]) -> float:
    """The moment from which one more fits into all rates."""
    return max((times[-rate.most] + rate.seconds for rate in rates if len(times) >= rate.most), default=0.0)


BREAKS_AFTER = 3
"""Unknown outcomes in a row after which a chat is given nothing for a while (platforms.md, 5.15)."""
BREAKS_CHANNEL_AFTER = 8
"""The same for a channel, over all its chats."""
_FIRST_SECONDS = 300.0
_LONGEST_SECONDS = 3600.0


@dataclass(slots=True)
class _Circuit:
    limit: int
    unknown: int = 0
    """Unknown outcomes in a row."""
    opened: int = 0
    """How often it opened since something was taken."""
    until: float = 0.0
    """Nothing is sent before; of a monotonic clock."""


@dataclass(slots=True)
class Breaker:
    """Stops sending where nobody knows what becomes of it, for longer each time, and tries with one part after that."""

    _chats: dict[Space, _Circuit] = field(default_factory=dict)
    _channel: _Circuit = field(default_factory=lambda: _Circuit(BREAKS_CHANNEL_AFTER))

    def pause(self, space: Space, now: float) -> float:
        """Seconds until something may be sent to a chat; 0 where nothing is in the way."""
        chat = self._chats.get(space)
        return max(0.0, self._channel.until - now, chat.until - now if chat else 0.0)

    def unknown(self, space: Space, now: float) -> list[tuple[Space | None, float]]:
        """Nobody knows what became of a part. What opens by that, and for how many seconds: the chat; None is the
        channel."""
        chat = self._chats.setdefault(space, _Circuit(BREAKS_AFTER))
        found: list[tuple[Space | None, float]] = []
        for name, circuit in ((space, chat), (None, self._channel)):
            circuit.unknown += 1
            if circuit.unknown >= circuit.limit and now >= circuit.until:
                seconds = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2**circuit.opened)
                circuit.opened += 1
                circuit.until = now + seconds
                found.append((name, seconds))
        return found

    def known(self, space: Space) -> list[Space | None]:
        """The platform said what became of a part. What had been open and is closed by that."""
        found: list[Space | None] = []
        if (chat := self._chats.pop(space, None)) is not None and chat.opened:
            found.append(space)
        if self._channel.opened:
            found.append(None)
        self._channel = _Circuit(BREAKS_CHANNEL_AFTER)
        return found

    def restore(self, space: Space | None, seconds: float, now: float, *, opened: int = 1) -> None:
        """An earlier process had opened this; so many seconds are left of it."""
        limit = BREAKS_CHANNEL_AFTER if space is None else BREAKS_AFTER
        circuit = _Circuit(limit, limit, opened, now + seconds)
        if space is None:
            self._channel = circuit
        else:
            self._chats[space] = circuit
