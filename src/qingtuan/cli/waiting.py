"""Work of a running instance about what waits for a person's word: listing it, and finding more of it in past talk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.channels.cli.link import Report, Result
from qingtuan.messages import Space
from qingtuan.turn.distilling import Distiller, planned, summed_up

_Reports = AsyncGenerator[Report | Result, None]


async def items(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """What waits for somebody's word; with `numbers`, what became of these items."""
    reader = app.kit.people.reader(arguments["account"], Space.parse(arguments["space"]))
    reviewing, numbers = app.remembering.reviewing, arguments.get("numbers")
    found = reviewing.waiting(reader) if numbers is None else reviewing.numbered(reader, numbers)
    language = app.kit.speaks_to(reader)
    yield Result(
        [
            {
                "number": item.number,
                "state": item.state,
                "what": item.what,
                "scope": str(item.scope),
                "text": item.text,
                "reason": item.reason.say(language),
                "since": item.since.isoformat(),
            }
            for item in found
        ]
    )


async def distill(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """Go through what somebody said in a period. Whoever asked for it and goes away gives it up; what was proposed by
    then stays."""
    reader = app.kit.people.reader(arguments["account"], Space.parse(arguments["space"]))
    distiller, language = Distiller(app.kit, app.remembering.distilling), app.kit.speaks_to(reader)
    reading = distiller.reading(reader, arguments["period"])
    reports: asyncio.Queue[Report | None] = asyncio.Queue()
    total = len(reading.chunks)
    yield Report("distill", 0, total)

    def told(done: int) -> None:
        reports.put_nowait(Report("distill", done, total))

    working = asyncio.ensure_future(distiller.distil(reading, reader, told))
    working.add_done_callback(lambda _: reports.put_nowait(None))
    try:
        while (report := await reports.get()) is not None:
            yield report
        done = await working
    finally:
        working.cancel()
    yield Result(
        {
            "period": str(reading.stretch),
            "messages": reading.messages,
            "left_out": reading.left_out,
            "proposed": done.gained.proposed,
            "known": done.gained.known,
            "failed": done.failed,
            "tokens": done.spent.tokens,
            "cost": {currency: str(amount) for currency, amount in done.spent.cost.items()},
            "text": "\n".join((planned(reading, language), summed_up(done, language))),
        }
    )
