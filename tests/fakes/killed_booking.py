"""A process that is killed right after a seat was booked, before anything says so: `python -m … FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.fakes.booking import WISH, Bookings, library


async def main(folder: Path) -> None:
    bookings = Bookings(folder / "bookings.jsonl")
    async with library(folder, bookings) as chat:
        await chat.say(WISH)
        bookings.breaks = "dies"
        await chat.say("确认")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
