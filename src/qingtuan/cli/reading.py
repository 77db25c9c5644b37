"""A look at the record from outside: allowed at any time, whoever owns the folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qingtuan.cli.shell import Shell
from qingtuan.errors import NotThere
from qingtuan.events.log import Event, Log
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.storage.sqlite import Database

_NOTHING = Words(
    "还没有任何记录：先用 qingtuan chat 说一句。", "Nothing is recorded yet: say something with qingtuan chat."
)


@contextmanager
def record(shell: Shell) -> Iterator[Log]:
    """The log, for reading.

    Raises:
        NotThere: nothing has happened yet.
        StorageFailed: the database is of another version, or damaged.
    """
    if not shell.home.database.exists():
        raise NotThere(_NOTHING)
    database = Database(shell.home.database, read_only=True)
    try:
        yield Log(database, shell.clock, Ids(shell.clock))
    finally:
        database.close()


def as_json(event: Event) -> dict[str, Any]:
    """An event as JSON has it, all of it."""
    place = event.place
    return {
        "seq": event.seq,
        "id": event.id,
        "time": event.time.isoformat(),
        "kind": str(event.kind),
        "session": place.session,
        "space": str(place.space) if place.space else None,
        "turn": place.turn,
        "person": place.person,
        "origin": str(event.origin),
        "cause": event.cause,
        "payload": dict(event.payload),
    }


def dumped(value: Any) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)
