"""Work of a running instance about persons who are to be forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.app.forgetting import Departures, Outlook
from qingtuan.channels.cli.link import Report, Result
from qingtuan.identity.accounts import OWNER

_Reports = AsyncGenerator[Report | Result, None]


async def look(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """What would go with somebody, and what cannot be reached."""
    departures, person = _departures(app), str(arguments["person"])
    departures.find(person)
    yield Report("record", 0, 1)
    yield Result(_told(await departures.look(person)))


async def forget(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """Forget somebody. It goes on to its end, also if whoever asked for it goes away."""
    person, even_owner = str(arguments["person"]), arguments.get("even_owner") is True
    reports: asyncio.Queue[Report | None] = asyncio.Queue()

    def tell(stage: str, done: int) -> None:
        reports.put_nowait(Report(stage, done))

    work = asyncio.ensure_future(_departures(app).forget(person, even_owner=even_owner, tell=tell))
    app.keep(work)
    work.add_done_callback(lambda _: reports.put_nowait(None))
    while (report := await reports.get()) is not None:
        yield report
    found, erased = await work
    yield Result({**_told(found), "left_out": list(erased.left_out)})


def _departures(app: App) -> Departures:
    return Departures(app.kit, app.remembering, app.queues, app.settings)


def _told(found: Outlook) -> dict[str, Any]:
    whole, beyond = found.whole, found.beyond
    return {
        "person": whole.id,
        "name": found.name,
        "accounts": sorted(whole.accounts),
        "owner": whole.id == OWNER,
        "counts": dict(found.counts),
        "remotes": list(beyond.remotes),
        "backups": list(beyond.backups),
        "listed": [list(one) for one in found.listed],
    }
