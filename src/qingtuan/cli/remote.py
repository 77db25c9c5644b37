"""`qingtuan wiki remote`, `pull` and `push`: the work, where the instance runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.app.behalf import by_owner
from qingtuan.channels.cli.link import Report, Result
from qingtuan.settings.fields import Url
from qingtuan.storage.git_exchange import Standing

_Reports = AsyncGenerator[Report | Result, None]


async def standing(app: App, _: Mapping[str, Any]) -> _Reports:
    """How the copy elsewhere stands to the pages here."""
    syncing = app.remembering.syncing
    found = await syncing.standing()
    remote = syncing.remote
    assert remote is not None
    yield Result(
        {
            "remote": Url(remote.address.url).shown(),
            "trusted": remote.trusted,
            **_facts(found),
            "waiting": len(syncing.proposals.open()),
        }
    )


async def push(app: App, _: Mapping[str, Any]) -> _Reports:
    """Bring the copy elsewhere up to what is here."""
    found = await app.remembering.syncing.push(by_owner(app.kit, "wiki push"))
    yield Result(_facts(found))


async def pull(app: App, _: Mapping[str, Any]) -> _Reports:
    """Take over what the copy elsewhere has, or put it up for the owner."""
    done = await app.remembering.syncing.pull(by_owner(app.kit, "wiki pull"))
    more = done.words
    yield Result(
        {
            **_facts(done.standing),
            "taken": done.taken,
            "pages": list(done.pages),
            "waiting": done.waiting is not None,
            "asked": done.asked,
            "more": {"zh": more.zh, "en": more.en},
        }
    )


def _facts(found: Standing) -> dict[str, Any]:
    return {"relation": found.relation, "ours": found.ours_only, "theirs": found.theirs_only}
