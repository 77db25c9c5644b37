"""What answers of models used, read from the events: for `/cost`, `qingtuan cost` and the console."""

from __future__ import annotations

from datetime import date, datetime, time, tzinfo

from qingtuan.clock import day_of
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, event_from_row
from qingtuan.models.chat import Usage
from qingtuan.models.usage import Use


def uses_since(log: Log, first: date, zone: tzinfo) -> list[Use]:
    """One for each answer from the beginning of a day in `zone` on; what was forgotten is not counted."""
    moment = round(datetime.combine(first, time(), zone).timestamp() * 1000)
    rows = log.database.rows(
        "SELECT * FROM events WHERE kind = ? AND time >= ? ORDER BY seq", (Kind.MODEL_ANSWERED, moment)
    )
    answered = [event_from_row(row) for row in rows]
    return [use_of(event, zone) for event in answered if "usage" in event.payload]


def use_of(event: Event, zone: tzinfo) -> Use:
    """What one `model.answered` says was used; its payload has a `usage`."""
    used = event.payload["usage"]
    usage = Usage(used["prompt"], used["completion"], used["cached"], used["estimated"])
    return Use(day_of(event.time, zone), event.place.person, event.place.turn, event.payload["model"], usage)
