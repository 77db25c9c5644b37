"""The lines of the one comment in which a page keeps what machines need: one number, one flow mapping, one line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, cast, get_args

from qingtuan.identity.privacy import label_of
from qingtuan.identity.scopes import Visibility
from qingtuan.memory.wiki.days import first_of, last_of
from qingtuan.memory.wiki.yaml_text import flow, load_yaml

How = Literal["explicit", "inferred", "manual", "hand"]
"""How a belief came to stand: said in so many words, concluded from talk, by a command, or written into the file."""

OPENING = "<!-- qingtuan"
CLOSING = "-->"

MAX_LINE = 65_536
"""Characters. A longer line counts as broken: nothing that we write comes near."""

_LINE = re.compile(r"[ \t]*([1-9][0-9]{0,8})[ \t]*:(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BeliefData:
    """What is known of a belief beside its text."""

    subject: str | None = None
    predicate: str | None = None
    value: str | None = None
    since: date | None = None
    """First day it holds; may lie ahead."""
    until: date | None = None
    """Last day it holds, that day included."""
    plan: bool = False
    """Whether `since` lay ahead when it was said. Else it had begun, wherever days are counted by now."""
    source: str | None = None
    """Id of the event in which it was said."""
    how: How = "hand"
    via: str | None = None
    """Channel or tool it came through."""
    visibility: Visibility | None = None
    """Its own label; None leaves it to the page."""
    pinned: bool = False
    many: bool = False
    """Whether its predicate holds several values at a time."""
    ended_by: str | None = None
    """Id of the event that moved it to history."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Keys that are not ours, and values of ours that make no sense: kept as they stand."""


@dataclass(frozen=True, slots=True)
class DataLine:
    """One line of the comment. `check` is `check_of` the text that it was written for, if it says so."""

    number: int
    data: BeliefData
    check: str | None = None


def check_of(text: str) -> str:
    """Eight hex digits that tell whether the line of a belief was rewritten by hand since its data was written."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def number_of(line: str) -> int | None:
    """The number that a line of the comment is about; None for a line that is none of ours."""
    found = _LINE.fullmatch(line)
    return int(found[1]) if found else None


def read_line(line: str) -> DataLine | None:
    """What a line of the comment says; None if it is about no number.

    A line about a number whose rest cannot be read gives data that is private and counts as written by hand:
    the strictest of each.
    """
    found = _LINE.fullmatch(line)
    if not found:
        return None
    try:
        fields = load_yaml(found[2]) if len(line) <= MAX_LINE else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return DataLine(int(found[1]), BeliefData(visibility=Visibility.PRIVATE))
    check = fields.pop("t", None)
    return DataLine(int(found[1]), _from_fields(fields), None if check is None else str(check))


def write_line(number: int, data: BeliefData, text: str) -> str:
    """The line of the comment for a belief whose bullet says `text`."""
    return f"{number}: {flow({**_to_fields(data), 't': check_of(text)})}"


def _from_fields(fields: dict[str, Any]) -> BeliefData:
    """The data in the fields of a line. What is used up is taken out of `fields`; the rest becomes `more`."""
    how = _taken(fields, "how", lambda value: value in get_args(How))
    return BeliefData(
        subject=_words(fields, "s"),
        predicate=_words(fields, "p"),
        value=_words(fields, "v"),
        since=_day(fields, "since", first_of),
        until=_day(fields, "until", last_of),
        plan=_taken(fields, "plan", lambda value: isinstance(value, bool)) or False,
        source=_words(fields, "from"),
        how=cast(How, how) if how else "hand",
        via=_words(fields, "via"),
        visibility=label_of(fields.pop("vis")) if fields.get("vis") is not None else None,
        pinned=_taken(fields, "pin", lambda value: isinstance(value, bool)) or False,
        many=_taken(fields, "many", lambda value: isinstance(value, bool)) or False,
        ended_by=_words(fields, "by"),
        more=fields,
    )


def _to_fields(data: BeliefData) -> dict[str, Any]:
    ours: dict[str, Any] = {
        "s": data.subject,
        "p": data.predicate,
        "v": data.value,
        "since": data.since,
        "until": data.until,
        "plan": data.plan or None,
        "from": data.source,
        "how": data.how,
        "via": data.via,
        "vis": str(data.visibility) if data.visibility else None,
        "pin": data.pinned or None,
        "many": data.many or None,
        "by": data.ended_by,
    }
    said = {key: value for key, value in ours.items() if value is not None}
    return {**said, **{key: value for key, value in data.more.items() if key not in said and key != "t"}}


def _taken(fields: dict[str, Any], key: str, fits: Any) -> Any:
    return fields.pop(key) if key in fields and fits(fields[key]) else None


def _words(fields: dict[str, Any], key: str) -> str | None:
    value = _taken(fields, key, lambda value: isinstance(value, (str, int, float, date)))
    if value is None or isinstance(value, str):
        return value
    return flow(value)


def _day(fields: dict[str, Any], key: str, read: Callable[[str], date | None]) -> date | None:
    """The day in a field; of a month or a year (2026-06, 2025) that which `read` gives."""
    value = fields.get(key)
    if isinstance(value, datetime):
        value = value.date()
    if not isinstance(value, date):
        named = isinstance(value, (str, int)) and not isinstance(value, bool)
        value = read(str(value)) if named else None
        if value is None:
            return None
    del fields[key]
    return value
