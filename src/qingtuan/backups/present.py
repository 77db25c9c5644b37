"""What stands in a data folder now, as far as that can be told from outside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime

from qingtuan.errors import StorageFailed
from qingtuan.events.erasing import ERASING
from qingtuan.home import Home
from qingtuan.storage.copying import Held


@dataclass(frozen=True, slots=True)
class Present:
    """A few numbers, for whoever is about to put something else in its place."""

    events: int | None
    """None if the database cannot be read."""
    newest: datetime | None
    """When the last one happened."""
    pages: int
    erasures: int = 0
    """How often something was erased for good since a given instant."""


def look(home: Home, since: datetime) -> Present | None:
    """The numbers; None if there is nothing yet."""
    if not home.database.exists() and not home.settings_file.exists():
        return None
    if not home.database.exists():
        return Present(0, None, _pages(home))
    try:
        with Held(home.database) as held:
            events = int(str(held.value("SELECT count(*) FROM events")))
            millis = held.value("SELECT max(time) FROM events")
            erasing = ", ".join(f"'{kind}'" for kind in sorted(ERASING))
            after = f"kind IN ({erasing}) AND time > {round(since.timestamp() * 1000)}"
            erasures = int(str(held.value(f"SELECT count(*) FROM events WHERE {after}")))  # noqa: S608 (our own words)
    except (StorageFailed, ValueError):
        return Present(None, None, _pages(home))
    newest = datetime.fromtimestamp(int(str(millis)) / 1000, UTC) if millis is not None else None
    return Present(events, newest, _pages(home), erasures)


def _pages(home: Home) -> int:
    count = 0
    for _, folders, names in os.walk(home.wiki):
        folders[:] = [name for name in folders if name != ".git"]
        count += sum(name.endswith(".md") for name in names)
    return count
