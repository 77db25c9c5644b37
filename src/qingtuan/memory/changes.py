"""What a decision does to pages, as values: they can be looked at, written down, and applied again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from typing import assert_never

from qingtuan.identity.scopes import Visibility
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief
from qingtuan.memory.wiki.page import Page


@dataclass(frozen=True, slots=True)
class Created:
    """A page that was not there."""

    path: str
    page: Page = field(repr=False)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Entries that a person wrote without a number get theirs, from `first` on."""

    path: str
    first: int
    taken: Mapping[int, Visibility] = field(default_factory=dict)
    """Numbers on this page that belong to another, each with how far the original may be seen."""


@dataclass(frozen=True, slots=True)
class Added:
    """A new entry at the end of 当前."""

    path: str
    new: NewBelief


@dataclass(frozen=True, slots=True)
class Recorded:
    """A new entry that goes to 历史 at once."""

    path: str
    new: NewBelief
    until: date
    above: frozenset[int] = frozenset()
    """Entries of 历史 that stay above it though they began no later."""


@dataclass(frozen=True, slots=True)
class Redated:
    """An entry of 历史 gets other days, and data to match."""

    path: str
    number: int
    data: BeliefData
    until: date


@dataclass(frozen=True, slots=True)
class Superseded:
    """A new entry in the place of `number`, which goes to 历史."""

    path: str
    number: int
    new: NewBelief
    until: date


@dataclass(frozen=True, slots=True)
class Ended:
    """An entry goes to 历史; `by` is the event that ended it."""

    path: str
    number: int
    until: date
    reason: str = ""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Annotated:
    """An entry keeps its line and gets other data."""

    path: str
    number: int
    data: BeliefData


Change = Created | Numbered | Added | Recorded | Redated | Superseded | Ended | Annotated


def apply(pages: Mapping[str, Page], changes: Iterable[Change], day: date) -> dict[str, Page]:
    """The pages that `changes` touch, as they are afterwards. `day` is today for the person.

    Raises:
        KeyError: a page or number is not there as the decision found it; decide again.
        PageUnreadable: a page would become too long or unreadable.
    """
    touched: dict[str, Page] = {}
    for (path, kind), run in groupby(changes, key=lambda change: (change.path, type(change))):
        if kind is Created:
            for change in run:
                if path in pages or path in touched or not isinstance(change, Created):
                    raise KeyError(path)
                touched[path] = change.page
            continue
        page = touched[path] if path in touched else pages[path]
        if kind is Added:
            # Entries that come one after the other are written in one go: each by itself reads the whole page again.
            page = edits.with_all_current(page, [change.new for change in run if isinstance(change, Added)], day)
        else:
            for change in run:
                page = _changed(page, change, day)
        touched[path] = page
    return touched


def _changed(page: Page, change: Change, day: date) -> Page:
    match change:
        case Created():
            raise KeyError(change.path)
        case Numbered():
            return edits.numbered(page, change.first, day, since=day, taken=change.taken)[0]
        case Added():
            return edits.with_current(page, change.new, day)
        case Recorded():
            return edits.with_history(page, change.new, change.until, day, change.above)
        case Redated():
            return edits.redated(page, change.number, change.data, change.until, day)
        case Superseded():
            return edits.superseded(page, change.number, change.new, change.until, day)
        case Ended():
            return edits.retired(page, change.number, change.until, change.reason, day, change.by)
        case Annotated():
            return edits.with_data(page, change.number, change.data, day)
    assert_never(change)
