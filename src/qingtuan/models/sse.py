"""Server-sent events, decoded as the bytes come (WHATWG HTML, 9.2.6), with the lenience that providers need.

Differences from the standard, each of them seen in the wild: a last event without its blank line counts, and
`id` and `retry` are of no use to us.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_EVENT = 8 * 1024 * 1024
"""Bytes of one event; more is not an answer but a fault."""

_BOM = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """An event grew past `LONGEST_EVENT` and has not ended."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its data lines joined by line feeds, and its name if it has one."""

    data: str
    name: str = ""


class Decoder:
    """Turns chunks of bytes, cut anywhere, into events. Any cutting of the same bytes gives the same events."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        """The line that has not ended yet, as it came: joined once, so that tiny chunks cost linear time."""
        self._data: list[bytes] = []
        self._name = b""
        self._held = 0
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes.

        Raises:
            EventTooLong: no end of the event is in sight.
        """
        if self._after_cr and chunk:
            # CR ended the line already; an LF that comes behind it in another chunk belongs to it.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        whole, newline, rest = chunk.rpartition(b"\n")
        self._held += len(chunk)
        if not newline:
            self._pieces.append(chunk)
            self._check_length()
            return []
        lines = (b"".join(self._pieces) + whole).split(b"\n")
        self._pieces = [rest]
        events = self._take(lines)
        if events:
            self._held = len(rest)
        self._check_length()
        return events

    def end(self) -> list[ServerEvent]:
        """The event that was under way when the bytes ended, if any."""
        lines = [b"".join(self._pieces), b""]
        self._pieces = []
        return self._take(lines)

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        events = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(self._event())
                self._data = []
                self._name = b""
                continue
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif field == b"event":
                self._name = value.removeprefix(b" ")
        return events

    def _event(self) -> ServerEvent:
        return ServerEvent(b"\n".join(self._data).decode(errors="replace"), self._name.decode(errors="replace"))

    def _check_length(self) -> None:
        if self._held > LONGEST_EVENT:
            raise EventTooLong(f"an event of more than {LONGEST_EVENT} bytes")
