"""Two versions of a page that grew apart, as one: what either side added stays, what one side alone changed is so.

It is by units rather than by lines (`units`): an entry that was reworded here and went to history there is one entry.
Whatever both sides did to the same text in different ways is no matter of lines: of an entry it is told, for the rules
of beliefs to decide, and of anything else there is no such page. That nothing is lost is not hoped but looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from difflib import SequenceMatcher
from typing import Any

from qingtuan.errors import PageUnreadable
from qingtuan.identity.privacy import label_of
from qingtuan.identity.scopes import Visibility, stricter
from qingtuan.memory.wiki.data_comment import BeliefData, read_line, write_line
from qingtuan.memory.wiki.lines import BOM, Line, join_lines
from qingtuan.memory.wiki.page import Page, parse, read_page
from qingtuan.memory.wiki.units import Key, Unit, units_of
from qingtuan.memory.wiki.yaml_text import flow


@dataclass(frozen=True, slots=True)
class Woven:
    """One page made of two."""

    page: Page
    contested: frozenset[int] = frozenset()
    """Entries that both sides changed, or that one changed and the other took out. They stand as on our side."""


@dataclass(frozen=True, slots=True)
class _Side:
    units: Sequence[Unit]
    by_key: Mapping[Key, Unit]

    @classmethod
    def of(cls, page: Page) -> _Side:
        units = units_of(page)
        return cls(units, {unit.key: unit for unit in reversed(units)})

    @property
    def keys(self) -> list[Key]:
        return [unit.key for unit in self.units]

    def text(self, key: Key) -> tuple[str, ...] | None:
        unit = self.by_key.get(key)
        return unit.text if unit else None


@dataclass(frozen=True, slots=True)
class _Placed:
    unit: Unit
    ours: bool
    """From which side it has its place."""

    @property
    def key(self) -> Key:
        return self.unit.key


class _Apart(Exception):
    """The two cannot be one page."""


def weave(base: Page | None, theirs: Page, ours: Page) -> Woven | None:
    """`ours` with all that was changed from `base` to `theirs`; None if the two contradict each other in what is no
    entry. `base` None: both made the page, each for itself."""
    mark = bool(ours.lines) and ours.lines[0].text.startswith(BOM)
    theirs, ours = _without_mark(theirs), _without_mark(ours)
    there, here = _Side.of(theirs), _Side.of(ours)
    before = _Side.of(_without_mark(base)) if base is not None else _common(here, there)
    contested = frozenset(_contested(before, here, there))
    try:
        placed = _unique(_woven(before, here, there), before, here, contested)
        contents = _Contents(before, here, there, ours, theirs)
        lines = _as_one([contents.of(one) for one in placed], ours)
        page = parse(join_lines(lines).encode())
    except (_Apart, PageUnreadable):
        return None
    whole = _nests_alike(contested, before, here, there) and _holds_all(page, contested, before, (here, there))
    if not whole:
        return None
    return Woven(parse(BOM.encode() + page.to_bytes()) if mark else page, contested)


def _without_mark(page: Page) -> Page:
    """The page without the mark of its encoding that may stand before its first character."""
    if not page.lines or not page.lines[0].text.startswith(BOM):
        return page
    return read_page([replace(page.lines[0], text=page.lines[0].text.removeprefix(BOM)), *page.lines[1:]])


def _common(here: _Side, there: _Side) -> _Side:
    """What two pages have in common that both were made from nothing."""
    blocks = SequenceMatcher(None, here.keys, there.keys, autojunk=False).get_matching_blocks()
    units = [unit for start, _, size in blocks for unit in here.units[start : start + size]]
    same = [unit for unit in units if here.text(unit.key) == there.text(unit.key)]
    return _Side(same, {unit.key: unit for unit in reversed(same)})


# ---------------------------------------------------------------------------------------------------------- places


def _woven(before: _Side, here: _Side, there: _Side) -> list[_Placed]:
    """All that is to stand on the page, in order."""

    def untouched(key: Key) -> bool:
        return here.text(key) == before.text(key)

    found: list[_Placed] = []
    at = (0, 0, 0)
    common = _in_all(before.keys, here.keys, there.keys)
    for start, mine, other, size in [*common, (len(before.units), len(here.units), len(there.units), 0)]:
        found += _stretch(before.units[at[0] : start], here.units[at[1] : mine], there.units[at[2] : other], untouched)
        found += [_Placed(unit, ours=True) for unit in here.units[mine : mine + size]]
        at = start + size, mine + size, other + size
    return found


def _stretch(
    old: Sequence[Unit], mine: Sequence[Unit], other: Sequence[Unit], untouched: Callable[[Key], bool]
) -> Iterable[_Placed]:
    """What lies between two units that all three have. What is not `untouched` says something else here by now."""
    before, here, there = ([unit.key for unit in row] for row in (old, mine, other))
    if here == before and all(map(untouched, Counter(before) - Counter(there))):
        return [_Placed(unit, ours=False) for unit in other]
    if there in (before, here):
        return [_Placed(unit, ours=True) for unit in mine]
    return _both(before, mine, other, untouched)


def _in_all(old: Sequence[Key], mine: Sequence[Key], other: Sequence[Key]) -> Iterator[tuple[int, int, int, int]]:
    ours = SequenceMatcher(None, old, mine, autojunk=False).get_matching_blocks()
    theirs = SequenceMatcher(None, old, other, autojunk=False).get_matching_blocks()
    one = two = 0
    while one < len(ours) and two < len(theirs):
        (a, here, n), (b, there, m) = ours[one], theirs[two]
        start, end = max(a, b), min(a + n, b + m)
        if start < end:
            yield start, here + start - a, there + start - b, end - start
        if a + n < b + m:
            one += 1
        else:
            two += 1


def _both(
    old: Sequence[Key], mine: Sequence[Unit], other: Sequence[Unit], untouched: Callable[[Key], bool]
) -> list[_Placed]:
    """A stretch that both sides changed: ours, without what they took out, and with what they added behind ours."""
    rows = (old, [unit.key for unit in mine], [unit.key for unit in other])
    before, here, there = (Counter(key for key in row if not key.blank) for row in rows)
    reworded = _texts(here - before), _texts(there - before)
    if _texts((before - here) & (before - there)) and all(reworded) and reworded[0] != reworded[1]:
        raise _Apart  # the same lines were put in other words by both, and both would stand there
    gone, new = before - there, there - before - here
    kept: list[_Placed] = []
    for unit in mine:
        if gone[unit.key] > 0 and untouched(unit.key):
            gone[unit.key] -= 1
        else:
            kept.append(_Placed(unit, ours=True))
    at = 0
    for unit in other:
        if new[unit.key] > 0:
            new[unit.key] -= 1
            while at < len(kept) and kept[at].ours and kept[at].key not in rows[2]:
                at += 1
            kept.insert(at, _Placed(unit, ours=False))
            at += 1
        else:
            at = next((place + 1 for place in range(at, len(kept)) if kept[place].key == unit.key), at)
    return kept


def _texts(keys: Counter[Key]) -> Counter[Key]:
    return Counter({key: count for key, count in keys.items() if key.kind == "line"})


def _unique(placed: Sequence[_Placed], before: _Side, here: _Side, contested: frozenset[int]) -> list[_Placed]:
    """Each entry, line of data and key of the front matter once: where the side that moved it put it, and what is
    `contested` where we have it."""
    places: dict[Key, list[int]] = {}
    for index, one in enumerate(placed):
        if one.key.unique:
            places.setdefault(one.key, []).append(index)
    dropped: set[int] = set()
    for key, found in places.items():
        if len(found) > 1:
            ours = [index for index in found if placed[index].ours]
            stays = key.kind == "entry" and key.number in contested
            moved_here = stays or _after(here.keys, key) != _after(before.keys, key)
            wanted = ours if ours and moved_here else [index for index in found if not placed[index].ours] or found
            dropped.update(index for index in found if index != wanted[0])
    return [one for index, one in enumerate(placed) if index not in dropped]


def _after(keys: Sequence[Key], key: Key) -> Key | None:
    """The heading that a key stands below."""
    heading = None
    for other in keys:
        if other == key:
            return heading
        if other.kind == "line" and other.name.startswith("## "):
            heading = other
    return Key("line", "")


# -------------------------------------------------------------------------------------------------------- contents


def _contested(before: _Side, here: _Side, there: _Side) -> Iterator[int]:
    for key in here.by_key.keys() | there.by_key.keys():
        mine, other = here.text(key), there.text(key)
        # Taken out there and reworded here it stays, and there is nothing to decide.
        if key.kind == "entry" and other is not None and before.text(key) not in (mine, other) and mine != other:
            yield key.number


class _Contents:
    """What each unit of the woven page says."""

    def __init__(self, before: _Side, here: _Side, there: _Side, ours: Page, theirs: Page) -> None:
        self._before, self._here, self._there = before, here, there
        self._ours, self._theirs = ours, theirs
        self._end = ours.lines[0].end if ours.lines and ours.lines[0].end else "\n"

    def of(self, placed: _Placed) -> Sequence[Line]:
        key = placed.key
        mine, other = self._here.by_key.get(key), self._there.by_key.get(key)
        if mine is None or other is None or not key.unique:
            return placed.unit.lines if placed.ours else self._adopted(placed.unit)
        old = self._before.text(key)
        if mine.text == other.text or other.text == old:
            return mine.lines
        if mine.text == old:
            return self._adopted(other)
        match key.kind:
            case "entry":
                return mine.lines
            case "data":
                return [Line(self._data(key), mine.lines[0].end)]
            case "front":
                return [Line(f"{key.name}: {flow(self._front(key.name))}", mine.lines[0].end)]
        raise _Apart

    def _adopted(self, unit: Unit) -> Sequence[Line]:
        """Lines of theirs with our line end."""
        return [Line(text, self._end if line.end else "") for text, line in zip(unit.text, unit.lines, strict=True)]

    def _data(self, key: Key) -> str:
        """A line of data that both changed: field by field; of labels the stricter one counts."""
        old, mine, other = (_read(side.by_key.get(key)) for side in (self._before, self._here, self._there))
        merged: dict[str, Any] = {}
        for field in fields(BeliefData):
            was, here, there = (getattr(data, field.name) for data in (old, mine, other))
            merged[field.name] = there if here == was else here
        if (
            Visibility.PUBLIC
            and mine.visibility != other.visibility
            and old.visibility not in (mine.visibility, other.visibility)
        ):
            merged["visibility"] = stricter(
                *(label or Visibility.PRIVATE for label in (mine.visibility, other.visibility))
            )
        belief = self._ours.belief(key.number) or self._theirs.belief(key.number)
        return write_line(key.number, BeliefData(**merged), belief.text if belief else "")

    def _front(self, name: str) -> Any:
        """A key of the front matter that both changed."""
        mine, other = self._ours.front.get(name), self._theirs.front.get(name)
        match name:
            case "id" | "type":
                return mine
            case "visibility":
                return str(stricter(label_of(mine), label_of(other)))
            case "updated" if type(mine) is date and type(other) is date:
                return max(mine, other)
        raise _Apart


def _read(unit: Unit | None) -> BeliefData:
    line = read_line(unit.text[0]) if unit else None
    return line.data if line else BeliefData()


def _as_one(pieces: Sequence[Sequence[Line]], ours: Page) -> list[Line]:
    """The lines of a page: each with an end but the last, which ends as our page does."""
    end = ours.lines[0].end if ours.lines and ours.lines[0].end else "\n"
    lines = [replace(line, end=line.end or end) for piece in pieces for line in piece]
    if lines and ours.lines and not ours.lines[-1].end:
        lines[-1] = replace(lines[-1], end="")
    return lines


# --------------------------------------------------------------------------------------------------- looking again


def _nests_alike(contested: frozenset[int], before: _Side, here: _Side, there: _Side) -> bool:
    """Whether what stands below contested entries is the same, or changed here alone: it is not told as they are."""
    for number in contested:
        key = Key("entry", str(number))
        old, mine, other = ((side.text(key) or ())[1:] for side in (before, here, there))
        if other not in (old, mine):
            return False
    return True


def _holds_all(page: Page, contested: frozenset[int], before: _Side, sides: tuple[_Side, _Side]) -> bool:
    """Whether what either side added or changed stands on the page, and every entry says what it is to say."""
    made = _Side.of(page)
    here, there = sides
    count, ours, theirs = Counter(made.keys), Counter(here.keys), Counter(there.keys)
    added = (ours - Counter(before.keys)) | (theirs - Counter(before.keys)) | (ours & theirs)
    if any(count[key] < number for key, number in added.items() if not key.blank):
        return False
    for key in {key for side in sides for key in side.by_key if key.kind == "entry"}:
        old, mine, other = before.text(key), here.text(key), there.text(key)
        wanted = mine if key.number in contested or other == old or mine not in (old, other) else other
        if made.text(key) != wanted:
            return False
    return True
