"""Changing a page: each function gives a new page and touches only the lines of the belief that it is about.

What else an edit touches: that belief's line in the data comment, and the day in `updated` of the front matter, in
place. What is nested in a bullet goes where its bullet goes. All texts pass `one_line`. Numbers are the caller's
(`beliefs.next_number`). All of them raise:

    KeyError        the number is not there as the edit needs it, or stands on two bullets (`numbered` parts them)
    PageUnreadable  the result would be too long, or the page leaves no place where nothing else would change

Then nothing was changed, and the caller decides again on the page as it is now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType

from qingtuan.identity.scopes import Visibility, stricter
from qingtuan.memory.wiki.bullets import Own, interval_of, past_label, reason_note, with_number
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.lines import Line
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import Belief, Page
from qingtuan.memory.wiki.surgery import (
    appended,
    appended_all,
    changed,
    dated,
    into_history,
    language_for,
    reread,
    with_data_lines,
)

_NONE_TAKEN: Mapping[int, Visibility] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewBelief:
    """An entry that is about to stand on a page."""

    number: int
    text: str
    data: BeliefData


@dataclass(frozen=True, slots=True)
class Moved:
    """An entry on its way to another page."""

    mark: str
    """What its line begins with."""
    text: str
    """Its own text as it stood, comments and all, without the number."""
    nested: tuple[str, ...]
    """The lines below it that belong to it."""
    current: bool
    data: BeliefData


def with_current(page: Page, new: NewBelief, day: date) -> Page:
    """`new` at the end of 当前, which is made if it is missing."""
    return with_all_current(page, [new], day)


def with_all_current(page: Page, new: Sequence[NewBelief], day: date) -> Page:
    """All of `new` (at least one) at the end of 当前, in their order: the same as one after the other, in one go."""
    texts = [_line_text(one.text) for one in new]
    blocks = [[Line(f"- {text} ^{one.number}", "")] for text, one in zip(texts, new, strict=True)]
    page = appended_all(page, blocks, language_for(page, texts[0]))
    return dated(with_data_lines(page, {one.number: one.data for one in new}), day)


def with_history(page: Page, new: NewBelief, until: date, day: date, above: Collection[int] = ()) -> Page:
    """`new` in 历史 at once, as something believed from `new.data.since` until `until`; 当前 is not touched.

    It stands before the first entry that began no later and is not one of `above`, so that the newest stay on top.
    """
    text = _line_text(new.text)
    language = language_for(page, text)
    data = replace(_over(new.data, until), value=new.data.value or text, pinned=False)
    line = f"- {past_label(data.since, until, text, language)}{text} ^{new.number}"
    page = into_history(page, [Line(line, "")], language, since=_began(data), above=above)
    return dated(with_data_lines(page, {new.number: data}), day)


def redated(page: Page, number: int, data: BeliefData, until: date, day: date) -> Page:
    """Entry `number` of 历史 with other days, in its line and in its data."""
    old = _there(page, number)
    if old.current:
        raise KeyError(number)
    at = old.item.start
    raw, interval = _own(page, old).raw, interval_of(_own(page, old).raw)
    statement = interval.statement if interval else raw
    data = _over(data, until)
    label = past_label(data.since, until, statement, page.language)
    line = replace(page.lines[at], text=f"{_mark(page, old)}{label}{statement} ^{number}")
    page = changed(page, at, old.item.end, [line, *page.lines[old.item.own : old.item.end]])
    return dated(with_data_lines(page, {number: data}), day)


def superseded(page: Page, number: int, new: NewBelief, until: date, day: date) -> Page:
    """`new` in the place of entry `number`, which goes to the top of 历史 as believed until `until`."""
    old = _current(page, number)
    until = _last(old, until)
    first = page.lines[old.item.start]
    line = replace(first, text=f"{_mark(page, old)}{_line_text(new.text)} ^{new.number}")
    block = _past_lines(page, old, until, "")
    page = changed(page, old.item.start, old.item.end, [line])
    page = into_history(page, block, page.language)
    return dated(
        with_data_lines(page, {number: _past_data(old, until, new.data.source), new.number: new.data}),
        day,
    )


def retired(page: Page, number: int, until: date, reason: str, day: date, by: str | None = None) -> Page:
    """Entry `number` at the top of 历史, with the reason if there is one. `by` is the event that took it back."""
    old = _current(page, number)
    until = _last(old, until)
    block = _past_lines(page, old, until, one_line(reason))
    page = changed(page, old.item.start, old.item.end, [])
    page = into_history(page, block, page.language)
    return dated(with_data_lines(page, {number: _past_data(old, until, by)}), day)


def with_text(page: Page, number: int, text: str, day: date) -> Page:
    """Entry `number` of 当前 with another text. Its value is void; `with_data` gives it a new one."""
    old = _current(page, number)
    first = page.lines[old.item.start]
    line = replace(first, text=f"{_mark(page, old)}{_line_text(text)} ^{number}")
    nested = page.lines[old.item.own : old.item.end]
    page = changed(page, old.item.start, old.item.end, [line, *nested])
    return dated(with_data_lines(page, {number: replace(old.data, value=None)}), day)


def with_data(page: Page, number: int, data: BeliefData, day: date) -> Page:
    """Entry `number`, in 当前 or 历史, with other data: pinned, with another label, with another last day."""
    _there(page, number)
    return dated(with_data_lines(page, {number: data}), day)


def numbered(
    page: Page, first: int, day: date, *, since: date | None = None, taken: Mapping[int, Visibility] = _NONE_TAKEN
) -> tuple[Page, int]:
    """Numbers from `first` on for every entry that has none, in the order of the page, and the next free number.

    `since` is the day on which the new ones were noticed. Entries whose number is in `taken` (it belongs to another
    page of the scope: somebody copied the line) get a new one too, and are seen no further than `taken` says.
    """
    lines = list(page.lines)
    data: dict[int, BeliefData] = {}
    for belief in page.beliefs:
        if belief.number is not None and belief.number not in taken:
            continue
        number = first + len(data)
        at = belief.item.start + _own(page, belief).at
        prefix = belief.item.prefix if at == belief.item.start else 0
        text = lines[at].text
        lines[at] = replace(lines[at], text=text[:prefix] + with_number(text[prefix:], number))
        label = belief.data.visibility
        if belief.number is not None:
            label = stricter(belief.visibility, taken[belief.number])
        begun = belief.data.since or (since if belief.current else None)
        data[number] = replace(belief.data, since=begun, visibility=label)
    if not data:
        return page, first
    return dated(with_data_lines(reread(page, lines), data), day), first + len(data)


def purged(page: Page, number: int, day: date) -> Page:
    """The page without any trace of `number`: its bullet with what is nested in it, and its data."""
    return dated(taken_out(page, number), day)


def taken_out(page: Page, number: int) -> Page:
    """The same with nothing else changed, the day neither."""
    if number not in page.numbers:
        raise KeyError(number)
    for bullet in reversed(page.layout.bullets):
        if bullet.section and bullet.own.number == number:
            page = changed(page, bullet.item.start, bullet.item.end, [])
    return with_data_lines(page, {number: None})


def moved_out(page: Page, number: int, day: date) -> tuple[Page, Moved]:
    """The page without entry `number`, and the entry for `moved_in` on another page."""
    belief = _there(page, number)
    item = belief.item
    moved = Moved(
        mark=_mark(page, belief),
        text=_own(page, belief).raw,
        nested=tuple(line.text for line in page.lines[item.own : item.end]),
        current=belief.current,
        data=replace(belief.data, visibility=belief.visibility),
    )
    page = changed(page, item.start, item.end, [])
    return dated(with_data_lines(page, {number: None}), day), moved


def moved_in(page: Page, moved: Moved, number: int, day: date) -> Page:
    """The page with an entry of another page under a new number, at the end of 当前 or in 历史 as it stood there."""
    lines = [Line(text, "") for text in (f"{moved.mark}{moved.text} ^{number}", *moved.nested)]
    language = language_for(page, moved.text)
    if moved.current:
        page = appended(page, lines, language)
    else:
        page = into_history(page, lines, language, since=moved.data.since)
    return dated(with_data_lines(page, {number: moved.data}), day)


def _line_text(text: str) -> str:
    safe = one_line(text)
    if not safe:
        raise ValueError("a belief needs a text")
    return safe


def _there(page: Page, number: int) -> Belief:
    belief = page.belief(number)
    if belief is None or number in page.copied:
        raise KeyError(number)
    return belief


def _current(page: Page, number: int) -> Belief:
    belief = _there(page, number)
    if not belief.current:
        raise KeyError(number)
    return belief


def _own(page: Page, belief: Belief) -> Own:
    return next(bullet.own for bullet in page.layout.bullets if bullet.item == belief.item)


def _mark(page: Page, belief: Belief) -> str:
    """What the line begins with. A bullet whose text begins in the next line gets the space that it lacks."""
    return f"{page.lines[belief.item.start].text[: belief.item.prefix].rstrip()} "


def _past_lines(page: Page, old: Belief, until: date, reason: str) -> list[Line]:
    """The lines of an entry as they stand in history. Whatever a person wrote into them stays."""
    first, *nested = page.lines[old.item.start : old.item.end]
    label = past_label(_over(old.data, until).since, until, old.text, page.language)
    text = f"{_mark(page, old)}{label}{_own(page, old).raw}{reason_note(reason, page.language)} ^{old.number}"
    return [replace(first, text=text), *nested[old.item.own - old.item.start - 1 :]]


def _past_data(old: Belief, until: date, by: str | None) -> BeliefData:
    return replace(_over(old.data, until), pinned=False, value=old.data.value or old.text, ended_by=by)


def _last(old: Belief, until: date) -> date:
    """The last day of an entry that ends now: not a later one than it was said to have."""
    return min(until, old.data.until) if old.data.until else until


def _over(data: BeliefData, until: date) -> BeliefData:
    """The data of something that ended. A plan that was dropped before it began keeps the day on which it was to
    begin; what had begun where days are counted differently was there for one day."""
    since = data.since if data.since is None or data.plan else min(data.since, until)
    return replace(data, since=since, until=until)


def _began(data: BeliefData) -> date | None:
    """The day by which an entry has its place in 历史."""
    return min(data.since, data.until) if data.since and data.until else data.since
