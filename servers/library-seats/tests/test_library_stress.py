"""A library on a bad day: three pages in ten fail. Nothing may be booked twice, and nothing said that is not so."""

from __future__ import annotations

from collections import Counter
from itertools import product

from library_world import Reader, library, reading

from qingtuan_library_seats.demo_site.running import Options

DAYS = [f"2026-12-0{day}" for day in range(1, 8)]
HOURS = [(f"{hour:02d}:00", f"{hour + 1:02d}:00") for hour in range(8, 16)]
READS = 200
BOOKINGS = 50


async def test_two_hundred_readings_and_fifty_bookings_at_three_failures_in_ten() -> None:
    async with library(Options(fail_rate=0.3, seed=7)) as world, reading(world.settings) as reader:
        came = [await _read(reader, number) for number in range(READS)]
        assert sum(came) > READS * 0.95
        slots = list(product(DAYS, HOURS))[:BOOKINGS]
        said = [await _book(reader, number, day, *hours) for number, (day, hours) in enumerate(slots)]
        books = await world.books(every=True)
    seats = Counter((row["date"], row["start"]) for row in books)
    assert set(seats.values()) <= {1}, "booked twice"
    booked = {(row["date"], row["start"]) for row in books}
    for (day, (start, _end)), outcome in zip(slots, said, strict=True):
        if outcome != "unknown":
            assert ((day, start) in booked) is (outcome == "booked")
    assert said.count("booked") > BOOKINGS * 0.9


async def _read(reader: Reader, number: int) -> bool:
    day, (start, end) = DAYS[number % 7], HOURS[number % 8]
    result = await reader.call("find_seats", date=day, start=start, end=end, area="二楼讨论区")
    if not result.is_error:
        assert len((result.structured_content or {})["seats"]) == 8
    return not result.is_error


async def _book(reader: Reader, number: int, day: str, start: str, end: str) -> str:
    wish = {"seat_id": f"二楼讨论区-B{number % 8 + 1:02d}", "date": day, "start": start, "end": end}
    result = await reader.call("reserve_seat", **wish)
    if not result.is_error:
        assert (result.structured_content or {})["seat_id"] == wish["seat_id"]
        return "booked"
    return "unknown" if "可能已经办成了" in str(result.content) else "not"
