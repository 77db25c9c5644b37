"""What waits for a person's word before it is written: which items there are, and what became of each.

A projection of three kinds of event:

    belief.proposed  {what, scope, reason: {zh, en}, text, …}: an `entry` with all of its candidate, as `proposal` says;
                     a write that a hand edit came before, `overtaken`; what another part puts up (`reviewing.Handler`)
    belief.reviewed  {item: the belief.proposed, verdict, write?: page.intended, text?}
    review.asked     {items: [belief.proposed]}, of the person who was asked

What was written on somebody's word and taken back waits again. What waits for somebody who became one with another
person gets a number among those of the one who stays: whatever is linked and parted, no number is ever another item's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.privacy import may_review
from qingtuan.identity.scopes import Reader, Scope, Visibility
from qingtuan.language import Words
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.likeness import SELF, canonical_predicate, fold, normalise_subject, normalise_text, normalise_value
from qingtuan.storage.sqlite import Database, Row

State = Literal["open", "accepted", "rejected", "dropped"]
Verdict = Literal["accepted", "edited", "known", "rejected", "outdated", "dropped"]
"""Written as it was, or in other words; known already; not wanted; taken back or overtaken since; nobody cared."""

ENTRY = "entry"
OVERTAKEN = "overtaken"

_STATE_AFTER: Mapping[str, State] = {
    "accepted": "accepted",
    "edited": "accepted",
    "known": "accepted",
    "rejected": "rejected",
    "outdated": "dropped",
    "dropped": "dropped",
}


def project(database: Database, event: Event) -> None:
    """Keep `candidates` and `candidate_numbers` up to date."""
    if event.kind in ERASING:
        _erase(database, event)
    elif event.forgotten:
        return
    elif event.kind is Kind.BELIEF_PROPOSED:
        _propose(database, event)
    elif event.kind is Kind.BELIEF_REVIEWED:
        database.execute(
            "UPDATE candidates SET state = ?, reviewed = ?, written = ? WHERE event = ?",
            (_STATE_AFTER[event.payload["verdict"]], event.id, event.payload.get("write"), event.payload["item"]),
        )
    elif event.kind is Kind.WRITE_UNDONE:
        for write in event.payload.get("writes", ()):
            database.execute(
                "UPDATE candidates SET state = 'open', reviewed = NULL, written = NULL, since = ? WHERE written = ?",
                (_millis(event.time), write),
            )
    elif event.kind in (Kind.PERSON_LINKED, Kind.PERSON_CLAIMED):
        _hand_on(database, event.payload["gone"], event.payload["kept"])
    elif event.kind is Kind.REVIEW_ASKED:
        for item in event.payload["items"]:
            # What is about one person is put before nobody else, whatever id they had when it was proposed.
            database.execute(
                "UPDATE candidate_numbers SET asked = ?1 WHERE event = ?2 AND (person = ?3 OR EXISTS ("
                "SELECT 1 FROM candidates AS c WHERE c.event = ?2 AND c.scope GLOB 'user:*'))",
                (event.id, item, event.place.person),
            )


def _propose(database: Database, event: Event) -> None:
    payload, speaker = event.payload, event.place.person
    scope = Scope.parse(payload["scope"]) if "scope" in payload else Scope.of_person(speaker or OWNER)
    what = payload.get("what") or (OVERTAKEN if "write" in payload else ENTRY)
    database.execute(
        "INSERT INTO candidates (event, what, scope, speaker, since, state) VALUES (?, ?, ?, ?, ?, 'open')",
        (event.id, what, str(scope), speaker, _millis(event.time)),
    )
    for person in dict.fromkeys(_deciders(scope, speaker)):
        _number(database, person, event.id, None)


def _number(database: Database, person: str, item: str, asked: str | None) -> None:
    """Give an item the next number of a person."""
    database.execute(
        "INSERT INTO candidate_numbers (person, number, event, asked)"
        " SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM candidate_numbers WHERE person = ?1",
        (person, item, asked),
    )


def _hand_on(database: Database, gone: str, kept: str) -> None:
    """Number what somebody had, who became one with another person, for that one."""
    rows = database.rows(
        "SELECT event, asked FROM candidate_numbers WHERE person = ?1"
        " AND event NOT IN (SELECT event FROM candidate_numbers WHERE person = ?2) ORDER BY number",
        (gone, kept),
    )
    for row in rows:
        _number(database, kept, row["event"], row["asked"])


def _deciders(scope: Scope, speaker: str | None) -> Iterable[str]:
    """Everybody who may ever be asked about it; whether they may now, the filter says when they look."""
    if scope.kind == "user":
        return (scope.id,)
    return (OWNER, speaker) if scope.kind == "group" and speaker else (OWNER,)


def _erase(database: Database, event: Event) -> None:
    """Take out what was erased; of a person who is forgotten, also what others proposed for them."""
    person = event.place.person if event.kind is Kind.PERSON_FORGOTTEN else None
    own, erased = str(Scope.of_person(person)) if person else "", erased_by(event)
    gone = f"event IN ({erased[0]}) OR speaker = ? OR scope = ?"
    values = [*erased[1], person, own]
    database.execute(
        f"DELETE FROM candidate_numbers WHERE person = ? OR event IN (SELECT event FROM candidates WHERE {gone})",  # noqa: S608
        [person, *values],
    )
    database.execute(f"DELETE FROM candidates WHERE {gone}", values)  # noqa: S608


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


# Values


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits, or waited, as one of those who may decide about it knows it."""

    event: str
    """Its `belief.proposed`."""
    number: int
    """By which this person knows it: permanent, and never another item's."""
    what: str
    scope: Scope
    speaker: str | None
    """Who said it."""
    since: datetime
    """Since when it waits, UTC."""
    state: State
    source: str | None
    """The event that it comes from: a message, if somebody said it."""
    asked: bool
    """Whether this person was asked about it in a message of ours."""
    payload: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What would be written, as a person reads it."""
        payload = self.payload
        if payload.get("text") or not payload.get("value"):
            return str(payload.get("text") or "")
        subject, predicate = payload.get("subject") or SELF, payload.get("predicate") or ""
        about = predicate if normalise_subject(subject) == SELF else f"{subject}的{predicate}"
        return f"{about}：{payload['value']}"

    @property
    def evidence(self) -> str:
        """The piece of what was said from which it was concluded; empty if nobody noted it."""
        return str(self.payload.get("evidence") or "")

    @property
    def reason(self) -> Words:
        """Why it waits."""
        reason = self.payload.get("reason")
        if isinstance(reason, Mapping):
            return Words(str(reason.get("zh", "")), str(reason.get("en", "")))
        return Words(str(reason or ""), str(reason or ""))

    @property
    def candidate(self) -> Candidate:
        """What is to be written, of an entry."""
        return candidate_of(self.payload, self.source)


def proposal(candidate: Candidate, scope: Scope, reason: Words, evidence: str = "") -> dict[str, Any]:
    """What `belief.proposed` says of an entry: enough to write it later as if it had been written at once."""
    facts: dict[str, Any] = {
        "what": ENTRY,
        "scope": str(scope),
        "text": candidate.text,
        "kind": candidate.kind,
        "topic": candidate.topic,
        "subject": candidate.subject,
        "predicate": candidate.predicate,
        "value": candidate.value,
        "since": candidate.since and candidate.since.isoformat(),
        "until": candidate.until and candidate.until.isoformat(),
        "how": candidate.how,
        "via": candidate.via,
        "visibility": str(candidate.visibility),
        "said_at": candidate.said_at.isoformat(),
        "many": candidate.many or None,
        "stands": candidate.stands or None,
        "evidence": evidence or None,
        "reason": spoken_reason(reason),
    }
    return {name: value for name, value in facts.items() if value is not None}


def spoken_reason(reason: Words) -> dict[str, str]:
    """A reason as `belief.proposed` holds it."""
    return {"zh": reason.zh, "en": reason.en}


def candidate_of(payload: Mapping[str, Any], source: str | None) -> Candidate:
    """The candidate of a proposal; `source` is the event that caused it."""
    return Candidate(
        text=payload.get("text", ""),
        said_at=datetime.fromisoformat(payload["said_at"]),
        kind=payload.get("kind", "fact"),
        topic=payload.get("topic"),
        subject=payload.get("subject") or SELF,
        predicate=payload.get("predicate"),
        value=payload.get("value"),
        since=_day(payload.get("since")),
        until=_day(payload.get("until")),
        source=source,
        how=payload.get("how", "inferred"),
        via=payload.get("via"),
        visibility=Visibility(payload.get("visibility", Visibility.PRIVATE)),
        many=bool(payload.get("many")),
        stands=payload.get("stands", ""),
    )


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


# Looking


class Candidates:
    """The table, seen by one person at a time."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def waiting(self, reader: Reader, writes_groups: Iterable[str] = ()) -> list[Item]:
        """What `reader` may decide about and has not, by its number. `writes_groups` are the groups (`qq:777`) whose
        memory the owner lets them write."""
        return self._of(reader, frozenset(writes_groups), "AND c.state = 'open'")

    def numbered(self, reader: Reader, numbers: Iterable[int], writes_groups: Iterable[str] = ()) -> list[Item]:
        """The items of these numbers, whatever became of them, as far as `reader` may decide about them."""
        among = "AND n.number IN (SELECT value FROM json_each(?))"
        return self._of(reader, frozenset(writes_groups), among, list(numbers))

    def numbers_of(self, reader: Reader, items: Iterable[str], writes_groups: Iterable[str] = ()) -> dict[str, int]:
        """The numbers by which `reader` knows these items (`belief.proposed`), as far as they may decide about them."""
        among = "AND n.event IN (SELECT value FROM json_each(?))"
        return {item.event: item.number for item in self._of(reader, frozenset(writes_groups), among, list(items))}

    def people(self) -> frozenset[str]:
        """Ids of those about whose word something may be waited for."""
        rows = self._log.database.rows(
            "SELECT DISTINCT n.person FROM candidates AS c JOIN candidate_numbers AS n ON n.event = c.event"
            " WHERE c.state = 'open'"
        )
        return frozenset(row["person"] for row in rows)

    def untouched(self, before: datetime) -> list[Event]:
        """The proposals that wait since before a moment, oldest first."""
        rows = self._log.database.rows(
            "SELECT event FROM candidates WHERE state = 'open' AND since < ? ORDER BY since, event", (_millis(before),)
        )
        found = self._proposals(row["event"] for row in rows)
        return [found[row["event"]] for row in rows if row["event"] in found]

    def like(self, candidate: Candidate, scope: Scope, aliases: Mapping[str, str]) -> list[tuple[State, datetime]]:
        """What became of earlier proposals for this scope that say the same, and when that was, newest first."""
        rows = self._log.database.rows(
            "SELECT c.event, c.state, r.time FROM candidates AS c LEFT JOIN events AS r ON r.id = c.reviewed"
            " WHERE c.scope = ? AND c.what = ? AND c.state IN ('open', 'rejected') ORDER BY c.event DESC",
            (str(scope), ENTRY),
        )
        proposals = self._proposals(row["event"] for row in rows)
        found: list[tuple[State, datetime]] = []
        for row in rows:
            event = proposals.get(row["event"])
            if event is not None and alike(candidate, candidate_of(event.payload, event.cause), aliases):
                at = datetime.fromtimestamp(row["time"] / 1000, UTC) if row["time"] is not None else event.time
                found.append((row["state"], at))
        return found

    def _of(
        self, reader: Reader, writes: frozenset[str], condition: str, among: Sequence[int | str] | None = None
    ) -> list[Item]:
        """Those of a person's items that a condition picks; its one value, if it has any, is the list `among`."""
        rows = self._log.database.rows(
            "SELECT c.*, n.number, n.asked FROM candidate_numbers AS n"  # noqa: S608 (our own words)
            f" JOIN candidates AS c ON c.event = n.event WHERE n.person = ? {condition} ORDER BY n.number",
            (reader.person, *([] if among is None else [json.dumps(among)])),
        )
        found = self._proposals(row["event"] for row in rows)
        items = (_item(row, event, reader) for row in rows if (event := found.get(row["event"])) is not None)
        return [item for item in items if _may(reader, item, writes)]

    def _proposals(self, ids: Iterable[str]) -> dict[str, Event]:
        """The events of these ids by id, but for those that were erased."""
        found = self._log.where("id IN (SELECT value FROM json_each(?))", [json.dumps(list(ids))])
        return {event.id: event for event in found if not event.forgotten}


def _may(reader: Reader, item: Item, writes: frozenset[str]) -> bool:
    return may_review(reader, item.scope, speaker=item.speaker, writes_group=item.scope.id in writes)


def _item(row: Row, event: Event, reader: Reader) -> Item:
    scope = Scope.parse(row["scope"])
    return Item(
        event=event.id,
        number=row["number"],
        what=row["what"],
        scope=Scope.of_person(reader.person) if scope.kind == "user" and reader.is_(scope.id) else scope,
        speaker=row["speaker"],
        since=datetime.fromtimestamp(row["since"] / 1000, UTC),
        state=row["state"],
        source=event.cause,
        asked=row["asked"] is not None,
        payload=event.payload,
    )


def alike(one: Candidate, other: Candidate, aliases: Mapping[str, str]) -> bool:
    """Whether two candidates of one scope say the same: in the same words, or as the same value of the same thing."""
    texts = {normalise_text(text) for text in (one.text, other.text) if text}
    if one.text and other.text and len(texts) == 1:
        return True
    if fold(normalise_subject(one.subject)) != fold(normalise_subject(other.subject)):
        return False
    if not (one.value and other.value):
        return False
    asks = {fold(canonical_predicate(each.predicate, aliases) or "") for each in (one, other)}
    return len(asks) == 1 and normalise_value(one.value) == normalise_value(other.value)
