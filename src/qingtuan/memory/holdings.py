"""The pages of one scope and every entry on them, kept up page by page.

A number belongs to one page of its scope: to the one that has its data, else to the first. So what stands on one page
can depend on another, and mostly does not; a change is worked out again for the pages that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from qingtuan.identity.privacy import label_of, merged
from qingtuan.identity.scopes import Visibility
from qingtuan.memory.topics import Titles
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.page import Belief, Page, what_counts
from qingtuan.memory.wording import Wording, keys_of

HIGHEST = 99_999_999
"""The highest number that is counted on from; a page can hold one digit more."""

Pages = Mapping[str, Page]
"""The readable pages of one scope that hold entries, by path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A belief and its page. Its data is found within the scope, wherever its bullet was moved."""

    path: str
    belief: Belief
    lent: bool = False
    """Whether its data still stands on another page."""

    @property
    def number(self) -> int | None:
        return self.belief.number

    @property
    def data(self) -> BeliefData:
        return self.belief.data


class Holdings:
    """What one scope holds. A bullet whose number belongs to another page is a copy: it has no number, and may be seen
    no further than the original."""

    def __init__(self, pages: Pages | None = None) -> None:
        self.pages: dict[str, Page] = {}
        """Not to be changed but by `put`."""
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._all: tuple[Entry, ...] | None = None
        self._top: dict[str, int] = {}
        """By page, the highest number on it."""
        self.titles = Titles()
        """The same pages by title."""
        self._bullets = _Places()
        self._data = _Places()
        self._told: _Told | None = None
        """Made when it is first needed: whoever only reads does without."""
        self.put(pages or {})

    def put(self, pages: Mapping[str, Page | None]) -> frozenset[str]:
        """Take pages in as they are now, None for those that are gone. The paths of all on which entries may differ."""
        touched = set(pages)
        for path, page in pages.items():
            numbers = self._bullets.of(path) | self._data.of(path)
            self.titles.put(path, page)
            if page is None:
                self.pages.pop(path, None)
                self._top.pop(path, None)
            else:
                self.pages[path] = page
                self._top[path] = max((number for number in page.numbers if number <= HIGHEST), default=0)
            beliefs, data = (page.beliefs, page.data) if page else ((), ())
            self._bullets.put(path, (belief.number for belief in beliefs if belief.number is not None))
            self._data.put(path, data)
            numbers |= self._bullets.of(path) | self._data.of(path)
            touched.update(chain.from_iterable(self._bullets.holding(number) for number in numbers))
        for path in touched:
            self._read(path)
        self._all = None
        return frozenset(touched)

    def _read(self, path: str) -> None:
        page = self.pages.get(path)
        if page is None:
            self._entries.pop(path, None)
        else:
            self._entries[path] = tuple(self._entry(path, page, belief) for belief in page.beliefs)
        if self._told is not None:
            self._told.put(path, self.on(path))

    def _entry(self, path: str, page: Page, belief: Belief) -> Entry:
        number = belief.number
        if number is None or (number in page.data and len(self._bullets.holding(number)) == 1):
            return Entry(path, belief)
        holder = self.place(number)
        if holder != path:
            label = merged([belief.visibility, *self._labels(holder, number)])
            data = replace(belief.data, visibility=label)
            return Entry(path, replace(belief, number=None, data=data, visibility=label))
        lent = self._lent(path, belief, number)
        if lent is None:
            return Entry(path, belief)
        return Entry(path, replace(belief, data=lent, visibility=self._seen(path, number, lent)), lent=True)

    def _lent(self, path: str, belief: Belief, number: int) -> BeliefData | None:
        """The data of an entry, if that stands on another page alone."""
        homes = self._data.holding(number)
        if path in homes or not homes:
            return None
        return what_counts(belief.text, belief.current, self.pages[min(homes)].data[number])

    def _seen(self, path: str, number: int, data: BeliefData) -> Visibility:
        """How far an entry may be seen whose data stands on another page."""
        home = self.pages[min(self._data.holding(number))]
        return label_of(data.visibility, merged([self.pages[path].visibility, home.visibility]))

    def _labels(self, holder: str, number: int) -> list[Visibility]:
        """How far an entry may be seen, as its page says and as its data says, wherever that stands."""
        original = self.pages[holder].belief(number)
        if original is None:
            return []
        data = self._lent(holder, original, number)
        return [original.visibility, *([self._seen(holder, number, data)] if data else [])]

    def place(self, number: int) -> str:
        """The page that a number belongs to. Raises `ValueError` if no bullet has it."""
        bullets = self._bullets.holding(number)
        return min(bullets & self._data.holding(number), default=min(bullets))

    # Looking

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every belief, by path and line."""
        if self._all is None:
            self._all = tuple(chain.from_iterable(self._entries[path] for path in sorted(self._entries)))
        return self._all

    def on(self, path: str) -> tuple[Entry, ...]:
        """The entries of one page, by line; none for a page that is not there."""
        return self._entries.get(path, ())

    def find(self, number: int) -> Entry | None:
        """The entry of this number, in 当前 or 历史."""
        if not self._bullets.holding(number):
            return None
        return next((entry for entry in self._entries[self.place(number)] if entry.number == number), None)

    def next_number(self, floor: int = 0) -> int:
        """A number that was never used in the scope: above all that its pages hold, and above `floor`.

        A number beyond `HIGHEST` is somebody's joke: it stays, and is not counted on from.
        """
        return max([floor, *self._top.values()]) + 1

    def copied(self, path: str) -> Mapping[int, Visibility]:
        """Numbers on bullets of this page that belong to another page, each with how far the original may be seen: a
        copy may be seen no further."""
        numbers = (number for number in self._bullets.of(path) if self.place(number) != path)
        return {number: merged(self._labels(self.place(number), number)) for number in numbers}

    def about(self, wording: Wording, source: str | None) -> tuple[Entry, ...]:
        """The entries among which are all that say what `wording` says, that answer the same question, or that were
        said in the event `source`. By path and line."""
        if self._told is None:
            self._told = _Told()
            for path, found in self._entries.items():
                self._told.put(path, found)
        sought = [*wording.keys, *([source] if source else [])]
        return tuple(chain.from_iterable(self._entries[path] for path in sorted(self._told.pages(sought))))


class _Places:
    """Which numbers stand on which pages."""

    def __init__(self) -> None:
        self._of: dict[str, frozenset[int]] = {}
        self._holding: dict[int, frozenset[str]] = {}

    def put(self, path: str, numbers: Iterable[int]) -> None:
        before, now = self.of(path), frozenset(numbers)
        self._of[path] = now
        for number in now - before:
            self._holding[number] = self.holding(number) | {path}
        for number in before - now:
            self._holding[number] = self.holding(number) - {path}

    def of(self, path: str) -> frozenset[int]:
        return self._of.get(path, frozenset())

    def holding(self, number: int) -> frozenset[str]:
        return self._holding.get(number, frozenset())


class _Told:
    """On which pages a sentence, a predicate or an event stands."""

    def __init__(self) -> None:
        self._of: dict[str, frozenset[str]] = {}
        self._holding: dict[str, set[str]] = {}

    def put(self, path: str, entries: Iterable[Entry]) -> None:
        before = self._of.get(path, frozenset())
        now = frozenset(chain.from_iterable(keys_of(entry.belief) for entry in entries))
        self._of[path] = now
        for key in now - before:
            self._holding.setdefault(key, set()).add(path)
        for key in before - now:
            self._holding[key].discard(path)

    def pages(self, keys: Iterable[str]) -> set[str]:
        return set(chain.from_iterable(self._holding.get(key, ()) for key in keys))
