"""From when until when something holds, in the words of whoever says so (上周起, 到六月底为止, for the next two weeks).
Pure.

`periods` knows which days an expression means; here the words around it tell whether they are a beginning or an end.
A day that is neither is an occasion, and says nothing of how long anything holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import pairwise

from qingtuan.memory.periods import Period, periods
from qingtuan.memory.wiki.days import first_of, last_of


@dataclass(frozen=True, slots=True)
class Lasting:
    """From when until when something holds, as far as somebody said it; both days are of it."""

    since: date | None = None
    until: date | None = None
    anew: bool = False
    """Whether it is said of all days to come: from now on, or after all."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A beginning or an end at a place of a text."""

    start: int
    end: int
    since: date | None = None
    until: date | None = None
    anew: bool = False


_RANGE = re.compile(r"\s*(?:直?到|至|~|～|-|–|—|to|until|till|through)\s*", re.IGNORECASE)
_BEGINS_BEFORE = re.compile(
    r"(?:从|自从?|打从?|\bsince|\bfrom|\b(?:starting|beginning)(?: (?:from|on|in))?|\bas (?:of|from)|\beffective)\s*$",
    re.IGNORECASE,
)
_BEGINS_AFTER = re.compile(r"\s*份?\s*(?:起|开始|以来|再(?![次来说见])|才)|\s+(?:onwards?|on)\b")
_AFTER_IT = re.compile(r"\s*份?\s*[之以]后")
_AFTER_IT_EN = re.compile(r"\bafter\s*$", re.IGNORECASE)
_ENDS_BEFORE = re.compile(
    r"(?:(?<![来等迟感得回])到|(?<!甚)至|截[至止]到?|\b(?:until|till?|through|thru|up to|by))\s*$", re.IGNORECASE
)
_ENDS_AFTER = re.compile(r"\s*(?:为止|截止|结束|到期)")
_NOT_YET = re.compile(r"\s*再[说看议]")
_BEFORE_IT = re.compile(r"\s*(?:[之以]前|前(?![天年面后]))")
_BEFORE_IT_EN = re.compile(r"\bbefore\s*$", re.IGNORECASE)
_FROM_NOW = re.compile(r"接下来|未来|今后|往后|后面|(?:the|these)\s+(?:next|coming|following)", re.IGNORECASE)
_YEARS = re.compile(r"(?:from\s+|between\s+)?\d{4}\s*(?:\D{1,7})\s*\d{4}", re.IGNORECASE)
"""Two years, and all between them."""
_THIS = re.compile(r"[这本](?:个)?(?:周|星期|礼拜|月|年)|今年|this\s+(?:week|month|year)", re.IGNORECASE)
_ALL_OF_IT = re.compile(r"\s*(?:里|内|我)*(?:都(?!没)|先(?!生)|暂时|只)")
_ANEW = re.compile(
    r"从今(?:天|日)?(?:往后|以后|起|开始)|从?现在(?:起|开始)|今后|(?:^|[\s，,。；;！!？?我咱那])以后(?!再)|还是|改回|照旧|继续"
    r"|\bfrom now on\b|\bafter all\b|\bas before\b|\bback to\b|\bfrom today\b",
    re.IGNORECASE,
)
"""Words of who means the days to come, too."""


def lasting(text: str, said_at: datetime, zone: tzinfo) -> Lasting:
    """From when until when what `text` says holds. `said_at` is aware."""
    return _together(list(_bounds(text, said_at, zone)))


def lasting_at(text: str, start: int, stop: int, said_at: datetime, zone: tzinfo) -> Lasting:
    """The same for `text[start:stop]` of a text that may say more: what stands in its clause, or alone beside it."""
    bounds, clauses = list(_bounds(text, said_at, zone)), list(_clauses(text))
    near = [index for index, (begin, end) in enumerate(clauses) if begin < stop and start < end]
    if not bounds or not near:
        return Lasting()
    # A clause of nothing but days goes with what follows it, and at the end of a sentence with what it follows.
    first, last = near[0], near[-1]
    while first > 0 and not _closes(text, clauses[first - 1]) and _is_bare(text, clauses[first - 1], bounds):
        first -= 1
    behind = last + 1
    while behind < len(clauses) and not _closes(text, clauses[behind - 1]) and _is_bare(text, clauses[behind], bounds):
        behind += 1
    if behind == len(clauses) or _closes(text, clauses[behind - 1]):
        last = behind - 1
    begin, end = clauses[first][0], clauses[last][1]
    return _together([one for one in bounds if begin <= one.start < end])


def span_named(text: str, said_at: datetime, zone: tzinfo) -> tuple[date, date] | None:
    """The days that an argument names (2026-06-20, 2026-06, 去年, 2025~2026-03); None for what names none."""
    ends = [part for part in re.split(r"\s*(?:~|～|至|到|\bto\b)\s*", text.strip()) if part]
    spans = [_span(end, said_at, zone) for end in ends[:3]]
    if not 1 <= len(spans) <= 2 or any(span is None for span in spans):
        return _span(text, said_at, zone)
    first, last = spans[0], spans[-1]
    assert first is not None
    assert last is not None
    return (first[0], last[1]) if first[0] <= last[1] else None


def _span(text: str, said_at: datetime, zone: tzinfo) -> tuple[date, date] | None:
    first, last = first_of(text), last_of(text)
    if first is not None and last is not None:
        return first, last
    found = periods(text, said_at, zone)
    return (found[0].first, found[0].last) if len(found) == 1 else None


# Bounds


def _bounds(text: str, said_at: datetime, zone: tzinfo) -> Iterator[_Bound]:
    found = periods(text, said_at, zone)
    ranges = [(one, other) for one, other in pairwise(found) if _RANGE.fullmatch(text[one.end : other.start])]
    within = {period for pair in ranges for period in pair}
    for one, other in ranges:
        if one.first <= other.last:
            yield _Bound(one.start, other.end, one.first, other.last)
    for period in found:
        if period not in within and (bound := _bound(text, period)) is not None:
            yield bound
    if (anew := _ANEW.search(text)) is not None:
        yield _Bound(anew.start(), anew.end(), anew=True)


def _bound(text: str, period: Period) -> _Bound | None:
    before, after, said = text[: period.start], text[period.end :], text[period.start : period.end]
    start, end = period.start, period.end
    behind, eve = period.last + timedelta(days=1), period.first - timedelta(days=1)
    if _NOT_YET.match(after):
        return None
    if _YEARS.fullmatch(said):
        return _Bound(start, end, since=period.first, until=period.last)
    if (found := _BEGINS_AFTER.match(after)) is not None:
        return _Bound(start, end + found.end(), since=period.first)
    if (found := _AFTER_IT.match(after)) is not None:
        return _Bound(start, end + found.end(), since=behind if period.first < period.last else period.first)
    if _AFTER_IT_EN.search(before):
        return _Bound(start, end, since=behind)
    if (found := _BEFORE_IT.match(after)) is not None or _BEFORE_IT_EN.search(before):
        return _Bound(start, end + (found.end() if found else 0), until=eve)
    if (found := _ENDS_AFTER.match(after)) is not None or _ENDS_BEFORE.search(before):
        return _Bound(start, end + (found.end() if found else 0), until=period.last)
    if _BEGINS_BEFORE.search(before):
        return _Bound(start, end, since=period.first)
    if _FROM_NOW.match(said) or (_THIS.fullmatch(said) and _ALL_OF_IT.match(after)):
        return _Bound(start, end, until=period.last)
    return None


def _together(bounds: list[_Bound]) -> Lasting:
    """What several bounds say, if they do not contradict each other."""
    since = {one.since for one in bounds if one.since is not None}
    until = {one.until for one in bounds if one.until is not None}
    first = next(iter(since)) if len(since) == 1 else None
    last = next(iter(until)) if len(until) == 1 else None
    if first is not None and last is not None and first > last:
        return Lasting()
    return Lasting(first, last, anew=not since and any(one.anew for one in bounds))


# Clauses

_CLAUSE_END = re.compile(r"[，,、；;。！!？?\n]|\.\s")
_CLOSES = re.compile(r"[。；;！!？?\n.]\s*$")
_EDGES = " \t“”\"'‘’「」『』。，,.!！?？…;；:："
_EMPTY = re.compile(
    r"[\s我你们的就都会要将从自到至在等呢吧啊，,]*(?:(?:from|since|until|till?|by|for|starting|on|in|the|after|before|i)\b\s*)*"
    r"[\s我的就都会要在呢吧啊]*",
    re.IGNORECASE,
)


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _CLAUSE_END.finditer(text):
        yield start, found.end()
        start = found.end()
    if start < len(text):
        yield start, len(text)


def _closes(text: str, clause: tuple[int, int]) -> bool:
    """Whether a sentence ends with a clause."""
    return _CLOSES.search(text[clause[0] : clause[1]]) is not None


def _is_bare(text: str, clause: tuple[int, int], bounds: list[_Bound]) -> bool:
    """Whether nothing but days stand in a clause."""
    start, end = clause
    inside = [one for one in bounds if start <= one.start < end]
    rest = text[start:end]
    for one in inside:
        rest = rest.replace(text[max(start, one.start) : one.end], "")
    return bool(inside) and _EMPTY.fullmatch(rest.strip(_EDGES)) is not None
