"""Work of a running instance that is no message: what commands ask for, wherever the instance runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import date, datetime, time
from functools import partial
from typing import Any

from qingtuan.app import App
from qingtuan.app.behalf import by_owner
from qingtuan.backups.order import order_from_json, report_of
from qingtuan.channels.cli.link import Job, Report, Result
from qingtuan.cli import (
    capability_jobs,
    departing,
    key_jobs,
    mcp_login,
    moving,
    program_jobs,
    remote,
    standing,
    waiting,
)
from qingtuan.errors import UsageWrong
from qingtuan.identity.trust import may_answer
from qingtuan.indexes.base import Entry, Progress
from qingtuan.language import Words
from qingtuan.messages import Space

_Reports = AsyncGenerator[Report | Result, None]
_BREATH = 200
"""Entries that are read before other work gets its turn."""


def jobs_of(app: App) -> Mapping[str, Job]:
    """The jobs by name."""
    return {
        "backup": partial(_backup, app),
        "channels": partial(standing.channels, app),
        "distill": partial(waiting.distill, app),
        "forget": partial(departing.forget, app),
        "forget.look": partial(departing.look, app),
        "index.rebuild": partial(_rebuild, app),
        "index.verify": partial(_verify, app),
        "export.settle": partial(moving.settle, app),
        "import.propose": partial(moving.propose, app),
        "import.write": partial(moving.write, app),
        "key.add": partial(key_jobs.add, app),
        "key.list": partial(key_jobs.listed, app),
        "key.revoke": partial(key_jobs.revoke, app),
        "mcp.call": partial(program_jobs.call, app),
        "mcp.offers": partial(program_jobs.offers, app),
        "mcp.page": partial(program_jobs.page, app),
        "mcp.pages": partial(program_jobs.pages, app),
        "mcp.came_back": partial(mcp_login.came_back, app),
        "mcp.login": partial(mcp_login.log_in, app),
        "memory.preview": partial(_preview, app),
        "questions": partial(_questions, app),
        "review.items": partial(waiting.items, app),
        "wiki.pull": partial(remote.pull, app),
        "wiki.push": partial(remote.push, app),
        "wiki.remote": partial(remote.standing, app),
        "wiki.rollback": partial(_rollback, app),
        **capability_jobs.jobs_of(app),
    }


async def _backup(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """A backup of the data folder while it is in use. Whoever asked for it and goes away gives it up."""
    try:
        order = order_from_json(arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageWrong(Words("看不懂要备份什么。", "It is not clear what is to be backed up.")) from error
    loop = asyncio.get_running_loop()
    reports: asyncio.Queue[Report | None] = asyncio.Queue()

    def tell(stage: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(reports.put_nowait, Report(stage, done, total))

    making = asyncio.ensure_future(app.keeper.carry_out(order, tell))
    making.add_done_callback(lambda _: reports.put_nowait(None))
    try:
        while (report := await reports.get()) is not None:
            yield report
        yield Result(report_of(*making.result()))
    finally:
        making.cancel()
        await asyncio.wait([making])


async def _rebuild(app: App, _: Mapping[str, Any]) -> _Reports:
    """Both indexes anew: of what is believed, and of what was said."""
    parts = app.remembering
    await parts.memory.edited()
    stamps = dict(parts.library.stamps())
    entries = await _entries(app)

    def beliefs(progress: Progress) -> Awaitable[None]:
        return asyncio.to_thread(parts.beliefs.rebuild, entries, stamps=stamps, progress=progress)

    async for report in _reported(beliefs, len(entries)):
        yield report
    parts.library.catch_up()  # what was written between reading and building
    talk = app.kit.record.log.database.row("SELECT count(*) AS count FROM inbox")
    async for report in _reported(parts.recollection.episodes.rebuild, 2 * talk["count"] if talk else 0):
        yield report
    yield Result({"entries": len(entries)})


async def _reported(build: Callable[[Progress], Awaitable[None]], total: int) -> AsyncGenerator[Report, None]:
    """What a rebuild tells of itself while it works in another thread."""
    loop = asyncio.get_running_loop()
    reports: asyncio.Queue[Report | None] = asyncio.Queue()

    def tell(what: str, done: int) -> None:
        loop.call_soon_threadsafe(reports.put_nowait, Report(what, done, total))

    building = asyncio.ensure_future(build(tell))
    building.add_done_callback(lambda _: reports.put_nowait(None))
    while (report := await reports.get()) is not None:
        yield report
    await building


async def _verify(app: App, _: Mapping[str, Any]) -> _Reports:
    await app.remembering.memory.edited()
    found = await asyncio.to_thread(app.remembering.beliefs.verify, await _entries(app))
    yield Result(
        [{"scope": one.scope, "document": one.document, "entry": one.entry_id, "kind": one.kind} for one in found]
    )


async def _entries(app: App) -> list[Entry]:
    """Everything that the index should hold. Read in the loop's thread, which owns the database."""
    entries: list[Entry] = []
    for entry in app.remembering.library.entries():
        entries.append(entry)
        if len(entries) % _BREATH == 0:
            await app.clock.sleep(0)
    return entries


async def _preview(app: App, arguments: Mapping[str, Any]) -> _Reports:
    reader = app.kit.people.reader(arguments["account"], Space.parse(arguments["space"]))
    injection = await app.remembering.recall.injection(reader, arguments["message"])
    yield Result({"text": injection.text, "entries": len(injection.entries), "left_out": injection.left_out})


async def _questions(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """The open questions that somebody was asked in a chat and may answer there, oldest first."""
    reader = app.kit.people.reader(arguments["account"], Space.parse(arguments["space"]))
    asked = [
        one
        for one in app.kit.book.open()
        if may_answer(one.facts, reader) and (one.owner_at.space if one.owner_at else one.space) == reader.space
    ]
    found = [(one.event, one.text) for one in asked]
    found += [(one.event, one.text) for one in app.desk.inquiring.open_to(reader) if one.space == reader.space]
    yield Result([{"event": event, "text": text} for event, text in found])


async def _rollback(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """One page to a commit, one write (or turn, or event) undone, or everything back to the end of a day."""
    undoing = app.remembering.undoing
    match arguments:
        case {"page": str(page), "to": str(commit)}:
            pages = await undoing.page_to(page, commit, by_owner(app.kit, "wiki rollback"))
        case {"write": str(write)}:
            pages = await undoing.write(write, by_owner(app.kit, "wiki rollback"))
        case {"day": str(day)}:
            moment = datetime.combine(date.fromisoformat(day), time.max, app.settings.zone)
            pages = await undoing.all_to(moment, by_owner(app.kit, "wiki rollback"))
        case _:
            raise UsageWrong(Words("看不懂要回退什么。", "It is not clear what is to be rolled back."))
    yield Result(list(pages))
