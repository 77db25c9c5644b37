"""The counters behind `identity.access`: who wrote how much, how lately, read from the events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, tzinfo

from qingtuan.clock import Clock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.access import AccessRules, Admitted, Arrival, Counters, Refused, admit
from qingtuan.identity.scopes import Role

_TOKENS = "json_extract(payload, '$.usage.prompt') + json_extract(payload, '$.usage.completion')"


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides on each message with the counters as they are at that moment."""

    log: Log
    clock: Clock
    zone: tzinfo
    rules: Callable[[], AccessRules]

    def __call__(self, arrival: Arrival) -> Admitted | Refused:
        # Nothing is counted for the owner, who has no limits.
        counters = Counters() if arrival.role is Role.OWNER or arrival.person is None else self._counters(arrival)
        return admit(arrival, self.rules(), counters)

    def _counters(self, arrival: Arrival) -> Counters:
        person = arrival.person.id if arrival.person else ""
        today = self._midnight()
        like = f"{arrival.space.kind}:%"
        return Counters(
            last_turn=self._ago("kind = ? AND person = ? AND space LIKE ?", (Kind.TURN_STARTED, person, like)),
            last_refusal=self._ago(
                "kind = ? AND person = ? AND json_extract(payload, '$.told')", (Kind.MESSAGE_IGNORED, person)
            ),
            queued=self._count(
                "kind = ? AND person = ? AND id IN (SELECT event FROM inbox WHERE state = 'waiting')",
                (Kind.MESSAGE_RECEIVED, person),
            ),
            turns_today=self._count("kind = ? AND person = ? AND time >= ?", (Kind.TURN_STARTED, person, today)),
            tokens_today=self._sum("kind = ? AND person = ? AND time >= ?", (Kind.MODEL_ANSWERED, person, today)),
            tokens_of_all_today=self._sum("kind = ? AND person <> 'owner' AND time >= ?", (Kind.MODEL_ANSWERED, today)),
            trial_used=self._count("kind = ? AND person = ?", (Kind.MESSAGE_RECEIVED, person)),
        )

    def _midnight(self) -> int:
        here = self.clock.now().astimezone(self.zone)
        return round(datetime.combine(here.date(), time(), self.zone).timestamp() * 1000)

    def _ago(self, condition: str, values: tuple[object, ...]) -> float | None:
        latest = self._value("max(time)", condition, values)
        return None if latest is None else max(0.0, self.clock.now().timestamp() - latest / 1000)

    def _count(self, condition: str, values: tuple[object, ...]) -> int:
        return self._value("count(*)", condition, values) or 0

    def _sum(self, condition: str, values: tuple[object, ...]) -> int:
        return self._value(f"sum({_TOKENS})", condition, values) or 0

    def _value(self, what: str, condition: str, values: tuple[object, ...]) -> int | None:
        row = self.log.database.row(f"SELECT {what} AS value FROM events WHERE {condition}", values)  # noqa: S608 (placeholders)
        return row["value"] if row else None
