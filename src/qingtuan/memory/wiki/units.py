"""A page as a row of units that can each be told from the others: what two versions of it have in common, by name.

An entry with a number is one unit, with all that is nested in it, wherever it stands and whatever it says by now; so
are its line of data and a key of the front matter. Everything else is a line, known by what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from qingtuan.memory.wiki.data_comment import number_of
from qingtuan.memory.wiki.lines import Line
from qingtuan.memory.wiki.page import Page

_FRONT_KEY = re.compile(r"""(["']?)([^\s"'#:][^"'#:]*)\1[ \t]*:(?:[ \t]|$)""")


class Key(NamedTuple):
    """By what a unit is known."""

    kind: Literal["entry", "data", "front", "bullet", "open", "close", "line"]
    name: str
    """The number of an entry or of its data, a key of the front matter, else the text."""

    @property
    def unique(self) -> bool:
        """Whether a page has it once at most."""
        return self.kind in ("entry", "data", "front", "open", "close")

    @property
    def blank(self) -> bool:
        return self.kind == "line" and not self.name.strip()

    @property
    def number(self) -> int:
        """Of an entry or its data."""
        return int(self.name)


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit as it stands on a page."""

    key: Key
    lines: tuple[Line, ...]

    @property
    def text(self) -> tuple[str, ...]:
        """What it says, whatever its line ends are."""
        return tuple(line.text for line in self.lines)


def units_of(page: Page) -> list[Unit]:
    """The units of a page, in order; their lines are all of its lines."""
    starts = _starts(page)
    found: list[Unit] = []
    index = 0
    while index < len(page.lines):
        key, end = starts.get(index) or (Key("line", page.lines[index].text), index + 1)
        found.append(Unit(key, page.lines[index:end]))
        index = end
    return found


def _starts(page: Page) -> dict[int, tuple[Key, int]]:
    """Where units begin that are more than a line, with their keys and the lines after them."""
    starts = dict(_of_front(page))
    held: set[int] = set()
    for bullet in page.layout.bullets:
        item, number = bullet.item, bullet.own.number
        if bullet.section is None:
            continue
        if number is not None and number not in held:
            held.add(number)
            key = Key("entry", str(number))
        else:
            key = Key("bullet", "\n".join(line.text for line in page.lines[item.start : item.end]))
        starts[item.start] = key, item.end
    if page.layout.data:
        first, last = page.layout.data
        starts[first], starts[last] = (Key("open", ""), first + 1), (Key("close", ""), last + 1)
        told: set[int] = set()
        for index in range(first + 1, last):
            number = number_of(page.lines[index].text)
            if number is not None and number not in told:
                told.add(number)
                starts[index] = Key("data", str(number)), index + 1
    return starts


def _of_front(page: Page) -> Iterator[tuple[int, tuple[Key, int]]]:
    """The keys of the front matter, each with the lines that belong to it."""
    texts: Sequence[str] = [line.text for line in page.lines[: page.layout.body]]
    found = [(index, name) for index, text in enumerate(texts[1:-1], 1) if (name := _FRONT_KEY.match(text))]
    held: set[str] = set()
    for place, (index, name) in enumerate(found):
        end = found[place + 1][0] if place + 1 < len(found) else max(len(texts) - 1, index + 1)
        while end > index + 1 and (not texts[end - 1].strip() or texts[end - 1].startswith("#")):
            end -= 1
        if name[2].strip() not in held:
            held.add(name[2].strip())
            yield index, (Key("front", name[2].strip()), end)
