"""What a driver for one library does, and the values that it speaks in. `docs/driver.md` shows how to write one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date, time
from typing import Protocol

Tell = Callable[[str], Awaitable[None]]
"""Takes a short sentence about the step that comes next, for people who wait."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A stretch of one day, in the library's own time."""

    day: date
    start: time
    end: time

    def __str__(self) -> str:
        return f"{self.day} {self.start:%H:%M}–{self.end:%H:%M}"


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the library. `windows` is how many of its seats stand at a window."""

    name: str
    floor: int
    quiet: bool
    seats: int
    windows: int


@dataclass(frozen=True, slots=True)
class Areas:
    """All areas, and the hours at which the library is open."""

    areas: tuple[Area, ...]
    opens: time
    closes: time


@dataclass(frozen=True, slots=True)
class Seat:
    """One seat, and whether it can be had for the whole of the slot that was asked for."""

    id: str
    area: str
    floor: int
    quiet: bool
    window: bool
    free: bool


@dataclass(frozen=True, slots=True)
class Reservation:
    """One reservation of the reader."""

    id: str
    seat_id: str
    slot: Slot
    checked_in: bool = False


class Driver(Protocol):
    """Drives one library's site for one reader.

    It logs in by itself, keeps the session, and logs in again, once, when the library has forgotten it. It is never
    called twice at a time. Every method raises what `errors` draws, and nothing else that a bad day at the library
    can bring about. Reads may be tried again; a change that was sent is never sent again before the driver has looked
    whether it was made.
    """

    async def areas(self) -> Areas:
        """The areas and the hours."""
        ...

    async def seats(self, slot: Slot, area: str | None) -> Sequence[Seat]:
        """Every seat, taken ones too, of one area or of all.

        Raises:
            AreaUnknown: with the names that there are.
            NotAllowed: if nothing can be booked for this slot.
        """
        ...

    async def reserve(self, seat_id: str, slot: Slot, tell: Tell) -> Reservation:
        """Book a seat.

        Raises:
            SeatTaken, SeatUnknown, NotAllowed: and nothing was booked.
            SiteUnavailable: and surely nothing was booked.
            OutcomeUnknown: if neither can be said.
        """
        ...

    async def reservations(self) -> Sequence[Reservation]:
        """The reader's reservations that are not over, by time."""
        ...

    async def cancel(self, reservation_id: str) -> Reservation:
        """Give a seat back; gives what was cancelled.

        Raises:
            ReservationUnknown, NotAllowed, SiteUnavailable, OutcomeUnknown: as above.
        """
        ...

    async def check_in(self, reservation_id: str) -> Reservation:
        """Say that the reader is there.

        Raises:
            ReservationUnknown, NotAllowed, SiteUnavailable, OutcomeUnknown: as above.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Nothing is asked afterwards."""
        ...
