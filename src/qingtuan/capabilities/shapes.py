"""Capabilities as JSON, the same for programs that ask over HTTP and for the command line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from qingtuan.capabilities.ledger import Held, Use, Version
from qingtuan.capabilities.values import Called, Card, Hit, Page, Status, Waiting
from qingtuan.language import Language


def page_json(page: Page) -> dict[str, Any]:
    """A page of hits, each whole."""
    return {"items": [hit_json(hit) for hit in page.hits], "total": page.total, "cursor": page.cursor}


def hit_json(hit: Hit) -> dict[str, Any]:
    """What whoever may use a capability has to know of it."""
    return {
        "name": hit.name,
        "description": hit.description,
        "schema": dict(hit.parameters),
        "tags": list(hit.tags),
        "examples": list(hit.examples),
        "hosts": list(hit.hosts),
        "kind": hit.kind,
        "version": hit.version,
        "broken": hit.broken,
    }


def row_json(held: Held, use: Use) -> dict[str, Any]:
    """A capability in a list."""
    made = held.definition
    return {
        "name": held.name,
        "description": made.description,
        "version": held.version.number,
        "how": held.version.how,
        "state": state_of(held),
        "kind": made.kind,
        "expires": _when(held.expires),
        "hosts": list(made.hosts),
        "owner": held.owner,
        "waiting": [version.number for version in held.waiting],
        "use": use_json(use),
    }


def state_of(held: Held) -> str:
    """`off`, `broken` or `on`."""
    return "off" if held.off else "broken" if held.broken else "on"


def card_json(card: Card, versions: Sequence[Version], language: Language) -> dict[str, Any]:
    """All that is known of a capability, for its owner."""
    made = card.held.definition
    return {
        **row_json(card.held, card.use),
        "schema": dict(made.parameters),
        "tags": list(made.tags),
        "examples": list(made.examples),
        "code": made.code,
        "cases": [case.json for case in made.cases],
        "hash": card.held.version.hash,
        "versions": [version_json(version) for version in versions],
        "waiting": [waiting_json(waiting) for waiting in card.waiting],
        "trouble": card.trouble.say(language) if card.trouble is not None else None,
    }


def waiting_json(waiting: Waiting) -> dict[str, Any]:
    """A version that waits for the owner, with the code that stands for it."""
    return {
        **version_json(waiting.version),
        "approve": waiting.code,
        "changed": list(waiting.changed),
        "definition": waiting.definition.json,
    }


def version_json(version: Version) -> dict[str, Any]:
    """One version, without what it is."""
    return {
        "version": version.number,
        "author": version.author,
        "how": version.how,
        "time": version.time.isoformat(),
        "note": version.note,
        "waits": version.waits,
        "hash": version.hash,
    }


def use_json(use: Use) -> dict[str, Any]:
    """How calls went."""
    return {
        "calls": use.calls,
        "failures": use.failures,
        "seconds": round(use.seconds, 3),
        "last": _when(use.last),
        "error": use.error,
    }


def called_json(name: str, done: Called) -> dict[str, Any]:
    """What a call gave, and whom it asked for that."""
    return {
        "name": name,
        "version": done.version,
        "result": done.value,
        "seconds": round(done.seconds, 3),
        "fetched": [asdict(fetch) for fetch in done.fetched],
        "printed": done.printed,
    }


def status_json(status: Status) -> dict[str, Any]:
    """How the registry is."""
    return {**asdict(status), "troubles": list(status.troubles)}


def _when(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
