"""Between the tools and the driver: one wish at a time, and help where a wish cannot be met."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches

from qingtuan_library_seats.driver import Areas, Driver, Reservation, Seat, Slot, Tell
from qingtuan_library_seats.errors import AreaUnknown, LibraryError, SeatTaken, SeatUnknown

ALTERNATIVES = 3


class Desk:
    """Where a reader's wishes are met, in turn: a library's session is not made for two things at once."""

    def __init__(self, open_driver: Callable[[], Driver]) -> None:
        """`open_driver` is called at the first wish; if it raises, it is called again at the next one."""
        self._open = open_driver
        self._driver: Driver | None = None
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        """Nothing is asked afterwards."""
        if self._driver is not None:
            await self._driver.close()

    async def areas(self) -> Areas:
        """The areas and the hours."""
        async with self._served() as driver:
            return await driver.areas()

    async def seats(self, slot: Slot, *, area: str | None, quiet: bool | None, window: bool | None) -> list[Seat]:
        """The seats that are as wished, free ones first. A part of an area's name that only it has is enough: people
        say 安静区 where there is one."""
        async with self._served() as driver:
            try:
                seats = await driver.seats(slot, area)
            except AreaUnknown as error:
                meant = [name for name in error.areas if error.area and error.area in name]
                if len(meant) != 1:
                    raise
                seats = await driver.seats(slot, meant[0])
        fitting = [seat for seat in seats if quiet in (None, seat.quiet) and window in (None, seat.window)]
        return sorted(fitting, key=lambda seat: not seat.free)

    async def reserve(self, seat_id: str, slot: Slot, tell: Tell) -> Reservation:
        """Book a seat; a refusal names what could be had in its place."""
        async with self._served() as driver:
            try:
                return await driver.reserve(seat_id, slot, tell)
            except SeatTaken as error:
                seats = await _seats_or_none(driver, slot)
                raise SeatTaken(seat_id, slot, None if seats is None else _others(seats, seat_id)) from error
            except SeatUnknown as error:
                seats = await _seats_or_none(driver, slot) or []
                raise SeatUnknown(seat_id, _near(seat_id, [seat.id for seat in seats])) from error

    async def reservations(self) -> Sequence[Reservation]:
        """The reader's own."""
        async with self._served() as driver:
            return await driver.reservations()

    async def cancel(self, reservation_id: str) -> Reservation:
        """Give a seat back."""
        async with self._served() as driver:
            return await driver.cancel(reservation_id)

    async def check_in(self, reservation_id: str) -> Reservation:
        """Say that the reader is there."""
        async with self._served() as driver:
            return await driver.check_in(reservation_id)

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[Driver]:
        async with self._turn:
            if self._driver is None:
                self._driver = self._open()
            yield self._driver


async def _seats_or_none(driver: Driver, slot: Slot) -> Sequence[Seat] | None:
    """For a hint only: if they cannot be had, the hint is left out."""
    try:
        return await driver.seats(slot, None)
    except LibraryError:
        return None


def _others(seats: Sequence[Seat], seat_id: str) -> list[str]:
    """The free seats of the same area, those nearest to the wish first: at a window or not, then by their number."""
    wish = next((seat for seat in seats if seat.id == seat_id), None)
    if wish is None:
        return []
    free = [seat for seat in seats if seat.free and seat.area == wish.area and seat.id != seat_id]
    free.sort(key=lambda seat: (seat.window != wish.window, abs(_number(seat.id) - _number(seat_id))))
    return [seat.id for seat in free[:ALTERNATIVES]]


def _number(seat_id: str) -> int:
    found = re.search(r"\d{1,6}$", seat_id, re.ASCII)
    return int(found[0]) if found else 0


def _near(seat_id: str, names: Sequence[str]) -> list[str]:
    return get_close_matches(seat_id, names, n=ALTERNATIVES, cutoff=0.5)
