"""The end of `serve`: what is being answered is answered, and what was said goes out, before any line is cut.

A server that is told to stop closes its WebSockets at once (platforms.md, 0): so it is told last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from qingtuan.app import App
from qingtuan.channels.entry import Entries

_DELIVER_SECONDS = 5.0
"""What is to go out has so long for it, once the last turn has ended; what waits for its receiver waits on."""
_LOOK_SECONDS = 0.05


async def wind_down(app: App, entries: Entries, settled: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Take nothing new in, and wait until what runs has ended and gone out; no longer than so many seconds. What has
    not ended by then is taken up at the next start. `settled`: whoever asked on a terminal has the whole answer."""
    entries.pause()
    app.mcp_service.stop()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            before = _newest(app)
            await app.queues.finish()
            with suppress(TimeoutError):
                async with asyncio.timeout(_DELIVER_SECONDS):
                    await asyncio.gather(_gone_out(app, before), entries.rest(), settled())


def _newest(app: App) -> int:
    row = app.kit.record.log.database.row("SELECT max(seq) AS seq FROM events")
    return int(row["seq"] or 0) if row else 0


async def _gone_out(app: App, since: int) -> None:
    """Wait until nothing is on its way, and nothing waits that was said since a position in the log. Terminals and
    programs fetch what is theirs when they like."""
    while app.kit.record.log.database.row(
        "SELECT 1 FROM outbox AS o CROSS JOIN events AS e ON e.id = o.event WHERE o.state IN ('waiting', 'sending')"
        " AND (o.state = 'sending' OR (e.seq > ? AND o.channel NOT IN ('cli', 'http'))) LIMIT 1",
        (since,),
    ):
        await app.clock.sleep(_LOOK_SECONDS)
