"""Bringing memory in and taking it along, as far as that is work of a running instance."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from qingtuan.channels.cli.link import Report, Result
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Role, Scope
from qingtuan.memory.acts import By
from qingtuan.memory.importing.found import from_json
from qingtuan.memory.importing.importing import Proposal, as_json
from qingtuan.messages import Origin, Space

if TYPE_CHECKING:
    from qingtuan.app import App

_Reports = AsyncGenerator[Report | Result, None]


async def propose(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """What an import would change: the proposal and its digest."""
    by = await _by(app, arguments)
    yield Result(_told(await app.remembering.importing.propose(from_json(arguments["found"]), by)))


async def write(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """Write what was approved, by its digest; or tell what it is now."""
    by = await _by(app, arguments)
    done = await app.remembering.importing.write(from_json(arguments["found"]), str(arguments["approved"]), by)
    yield Result({**_told(done.proposal), "written": done.written})


async def settle(app: App, _: Mapping[str, Any]) -> _Reports:
    """Commit whatever is open and what was edited by hand; the newest commit, None before the first."""
    store = app.remembering.store
    await store.settle()
    yield Result(await store.repository.head())


def _told(proposal: Proposal) -> dict[str, Any]:
    return {**as_json(proposal), "digest": proposal.digest}


async def _by(app: App, arguments: Mapping[str, Any]) -> By:
    """On whose behalf: a person in their private chat, on pages as they are on the disk now."""
    account = str(arguments["account"])
    space = Space("private", account)
    reader = app.kit.people.reader(account, space)
    await app.remembering.memory.edited([Scope.of_person(reader.person).folder])
    return By(
        reader=reader,
        place=Place(space=space, person=reader.person),
        cause="",
        words="",
        said_at=app.clock.now().astimezone(app.kit.zone_of(reader)),
        language=app.kit.speaks_to(reader),
        origin=Origin.OWNER if reader.role is Role.OWNER else Origin.PERSON,
        via="cli",
    )
