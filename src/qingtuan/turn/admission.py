"""The counters behind `identity.access`: who wrote how much, how lately, read from the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo

from qingtuan.clock import Clock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.access import REFUSAL_INTERVAL, AccessRules, Admitted, Arrival, Counters, Refused, admit
from qingtuan.identity.accounts import OWNER, Person
from qingtuan.identity.scopes import Role
from qingtuan.ids import first_event_id
from qingtuan.storage.sqlite import marks

_MINUTE = 60.0
_COUNTED = (Kind.TURN_STARTED, Kind.MESSAGE_IGNORED, Kind.COMMAND_RUN)


class Gate:
    """Decides on each message with the counters as they are at that moment."""

    def __init__(
        self,
        log: Log,
        clock: Clock,
        zone: tzinfo,
        rules: Callable[[], AccessRules],
        ids: Callable[[str], Iterable[str]],
        beyond: Callable[[Collection[str]], int] = lambda _: 0,
    ) -> None:
        """`ids`: every id under which the log may know a person. `beyond`: how many waiting messages of
        persons go along with another one, in one turn."""
        self._log = log
        self._clock = clock
        self._rules = rules
        self._ids = ids
        self._beyond = beyond
        self._today = Today(log, clock, zone)
        self._planned: dict[tuple[str, str], float] = {}
        """By person and kind of space: when the last turn that was held back is to begin, on the clock's steady time.
        It need not outlive the process: what waits then is taken up at once."""

    def __call__(self, arrival: Arrival) -> Admitted | Refused:
        rules = self._rules()
        decided = admit(arrival, rules, self._counters(arrival, rules))
        if isinstance(decided, Admitted) and decided.wait > 0:
            self._planned[_pace_of(arrival)] = self._clock.monotonic() + decided.wait
        return decided

    def standing(self, person: Person, role: Role) -> Standing | None:
        """How much of their limits somebody has used; None for who has none."""
        rules = self._rules()
        limits = rules.limits.get(role)
        if role is Role.OWNER or limits is None:
            return None
        ids, today = sorted(self._ids(person.id)), self._today
        today.catch_up()
        return Standing(
            chars=limits.private_chars,
            turns=sum(today.turns[one] for one in ids),
            turns_a_day=limits.turns_a_day,
            tokens=sum(today.tokens[one] for one in ids),
            tokens_a_day=limits.tokens_a_day,
            trial_left=rules.trial - self._received(ids, at_most=rules.trial) if role is Role.GUEST else None,
        )

    def _counters(self, arrival: Arrival, rules: AccessRules) -> Counters:
        # Nothing is counted of what is not meant for us.
        if arrival.person is None or not arrival.addressed:
            return Counters()
        ids, today = sorted(self._ids(arrival.person.id)), self._today
        if arrival.role is Role.OWNER:  # who has no limits, and is not told the same twice
            closed = arrival.space.is_group and not rules.answers_in(arrival.space)
            return Counters(last_refusal=self._lately(ids, rules).refusal) if closed or arrival.late else Counters()
        today.catch_up()
        lately = self._lately(ids, rules)
        on_trial = arrival.role is Role.GUEST and not arrival.space.is_group
        return Counters(
            last_turn=self._last_turn(arrival, lately),
            last_refusal=lately.refusal,
            commands_lately=lately.commands,
            queued=self._queued(ids),
            turns_today=sum(today.turns[person] for person in ids),
            tokens_today=sum(today.tokens[person] for person in ids),
            tokens_of_all_today=today.tokens.total() - sum(today.tokens[person] for person in self._ids(OWNER)),
            trial_used=self._received(ids, at_most=rules.trial) if on_trial else 0,
        )

    def _last_turn(self, arrival: Arrival, lately: _Lately) -> float | None:
        """Seconds since the person's last turn in this kind of space; less than 0 if one is held back."""
        began = lately.turns.get(arrival.space.kind)
        planned = self._planned.get(_pace_of(arrival))
        if planned is None:
            return began
        since = self._clock.monotonic() - planned
        if since > 0:
            del self._planned[_pace_of(arrival)]
        return since if began is None else min(began, since)

    def _lately(self, ids: Sequence[str], rules: AccessRules) -> _Lately:
        """What a person did so lately that it may still matter. Read by their own events (the plus keeps SQLite from
        the index by kind, which would lead through everybody's)."""
        cooldowns = (max(limit.private_cooldown, limit.group_cooldown) for limit in rules.limits.values())
        longest = timedelta(seconds=max((REFUSAL_INTERVAL, *cooldowns)))
        rows = self._log.database.rows(
            "SELECT kind, time, space, json_extract(payload, '$.told') AS told FROM events"  # noqa: S608 (placeholders)
            f" WHERE person IN ({marks(ids)}) AND seq >= ? AND +kind IN (?, ?, ?) ORDER BY seq",
            (*ids, _first_since(self._log, self._clock.now() - longest), *_COUNTED),
        )
        turns: dict[str, float] = {}
        refusal: float | None = None
        commands = 0
        for row in rows:
            ago = max(0.0, self._clock.now().timestamp() - row["time"] / 1000)
            if row["kind"] == Kind.TURN_STARTED:
                turns[row["space"].partition(":")[0]] = ago
            elif row["kind"] == Kind.COMMAND_RUN:
                commands += ago < _MINUTE
            elif row["told"]:
                refusal = ago
        return _Lately(turns, refusal, commands)

    def _queued(self, ids: Sequence[str]) -> int:
        row = self._log.database.row(
            "SELECT count(*) AS count FROM inbox AS i CROSS JOIN events AS e ON e.id = i.event"  # noqa: S608
            # Said twice, for the index of what is open: SQLite does not see that one follows from the other.
            f" WHERE i.state <> 'done' AND i.state = 'waiting' AND e.person IN ({marks(ids)})",
            ids,
        )
        return max(0, (row["count"] if row else 0) - self._beyond(ids))

    def _received(self, ids: Sequence[str], *, at_most: int) -> int:
        row = self._log.database.row(
            "SELECT count(*) AS count FROM (SELECT 1 FROM events"  # noqa: S608 (placeholders)
            f" WHERE person IN ({marks(ids)}) AND +kind = ? LIMIT ?)",
            (*ids, Kind.MESSAGE_RECEIVED, at_most),
        )
        return row["count"] if row else 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of their limits somebody has used."""

    chars: int | None
    """Of one private message; None for any number."""
    turns: int
    turns_a_day: int
    tokens: int
    tokens_a_day: int
    trial_left: int | None
    """Messages that a stranger may still send in private; None for who is none."""


@dataclass(frozen=True, slots=True)
class _Lately:
    """Seconds since what a person did lately."""

    turns: Mapping[str, float]
    """By kind of space."""
    refusal: float | None
    """A sentence of refusal to them."""
    commands: int
    """How many commands of theirs were carried out within the last minute."""


class Today:
    """What each person used since midnight. Reads every event of the day once, however many there are."""

    def __init__(self, log: Log, clock: Clock, zone: tzinfo) -> None:
        self._log = log
        self._clock = clock
        self._zone = zone
        self._midnight: datetime | None = None
        self._seq = 0
        self.turns: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()

    def catch_up(self) -> None:
        """Count what has happened since the last time; at midnight, from nothing."""
        database, midnight = self._log.database, self._begin()
        if midnight != self._midnight:
            self._midnight = midnight
            self.turns.clear()
            self.tokens.clear()
            self._seq = _first_since(self._log, midnight) - 1
        for kind in (Kind.TURN_STARTED, Kind.MODEL_ANSWERED):
            self._count(kind)
        row = database.row("SELECT max(seq) AS seq FROM events")
        self._seq = (row["seq"] if row else None) or 0

    def _count(self, kind: Kind) -> None:
        rows = self._log.database.rows(
            "SELECT person, json_extract(payload, '$.usage.prompt') + json_extract(payload, '$.usage.completion')"
            " AS tokens FROM events WHERE kind = ? AND seq > ? AND person IS NOT NULL",
            (kind, self._seq),
        )
        for row in rows:
            if kind is Kind.TURN_STARTED:
                self.turns[row["person"]] += 1
            else:
                self.tokens[row["person"]] += row["tokens"] or 0

    def _begin(self) -> datetime:
        here = self._clock.now().astimezone(self._zone)
        return datetime.combine(here.date(), time(), self._zone)


def _first_since(log: Log, moment: datetime) -> int:
    """Position of the first event since a moment, else behind the last one. No index holds times; ids sort by them."""
    row = log.database.row(
        "SELECT seq FROM events WHERE id >= ? ORDER BY id LIMIT 1",
        (first_event_id(moment),),
    ) or log.database.row("SELECT max(seq) + 1 AS seq FROM events")
    return (row["seq"] if row else None) or 1


def _pace_of(arrival: Arrival) -> tuple[str, str]:
    return (arrival.person.id if arrival.person else "", arrival.space.kind)
