"""What happened to one entry, as the log tells it; also where it was before it was moved to another scope."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.scopes import Scope


@dataclass(frozen=True, slots=True)
class Story:
    """The events about an entry, in order, and the names that it had: scope and number, the present ones first."""

    events: tuple[Event, ...]
    names: tuple[tuple[Scope, int], ...]


def story_of(log: Log, scope: Scope, number: int) -> Story:
    """The story of an entry."""
    events: list[Event] = []
    names = [(scope, number)]
    while True:
        told = log.where(
            "kind IN (?, ?) AND json_extract(payload, '$.scope') = ? AND json_extract(payload, '$.number') = ?",
            (Kind.BELIEF_WRITTEN, Kind.BELIEF_RETRACTED, str(names[-1][0]), names[-1][1]),
        )
        events = [*told, *events]
        before = _moved_from(log, told[0]) if told else None
        if before is None or before in names:
            return Story(tuple(events), tuple(names))
        names.append(before)


def _moved_from(log: Log, written: Event) -> tuple[Scope, int] | None:
    """What an entry was called elsewhere, if it went from there by the same act by which it was written here."""
    gone = (event.payload for event in log.caused_by(written.cause or "") if event.payload.get("gone"))
    before = next((payload for payload in gone if payload["text"] == written.payload["text"]), None)
    return (Scope.parse(before["scope"]), int(before["number"])) if before else None
