"""Writes that a hand edit came before: put up for review, and done again on somebody's word.

After a crash between an intention and its pages the person may have edited a page: their bytes stay, and the write
waits (memory.md, Git). Done again it touches the lines that it touched; where these are no more, the entries that it
brought are decided upon afresh.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.errors import PageUnreadable
from qingtuan.events.log import Event
from qingtuan.identity.scopes import SHARED, Scope
from qingtuan.language import Words
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.candidates import OVERTAKEN, spoken_reason
from qingtuan.memory.known import as_statement
from qingtuan.memory.library import Library
from qingtuan.memory.wiki.merging import merge
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.store import Change, WikiStore
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.files import content_hash


def overtaken(write: Event) -> dict[str, Any]:
    """What `belief.proposed` says of a `page.intended` that did not come to its pages."""
    scopes = {scope_of(page["path"]) for page in write.payload.get("pages", ())}
    # What concerns several is the owner's to decide: nobody else can have made it.
    scope = scopes.pop() if len(scopes) == 1 else SHARED
    return {
        "what": OVERTAKEN,
        "scope": str(scope or SHARED),
        "text": str(write.payload.get("message", "")),
        "reason": spoken_reason(_OVERTAKEN),
        "write": write.id,
    }


@dataclass(frozen=True, slots=True)
class Again:
    """How a write can be done again."""

    changes: tuple[Change, ...] = ()
    """Its own lines, on the pages as they are now."""
    entries: tuple[tuple[Candidate, Scope], ...] = ()
    """Where those have no place any more: what it was to bring."""

    def __bool__(self) -> bool:
        return bool(self.changes or self.entries)


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of the write: as it was, as it was to be, and as it is."""

    path: str
    before: bytes | None
    after: bytes | None
    now: bytes | None

    @property
    def brought(self) -> frozenset[int]:
        """Numbers that the write brought to the page."""
        return _numbers(self.after) - _numbers(self.before)

    @property
    def took(self) -> frozenset[int]:
        """Numbers that it took away."""
        return _numbers(self.before) - _numbers(self.after)

    def again(self) -> Change | None:
        """The change made to the page as it is now; None if the two contradict each other."""
        data = self.after
        if self.now != self.before:
            if self.before is None or self.after is None or self.now is None:
                return None
            data = merge(self.before, self.after, self.now)
            if data is None or _page(data) is None:
                return None
        return Change(self.path, content_hash(self.now) if self.now is not None else None, data)


async def again(write: Event, library: Library, floor: Callable[[Scope], int]) -> Again:
    """How to do a write again; nothing if it cannot be. `floor` is the highest number that a scope ever gave away.

    Raises:
        PageUnreadable: something stands in its place that cannot be read.
    """
    pages = [page async for page in _pages(write, library.store)]
    changes = [page.again() for page in pages]
    if not any(_given_away(page, library, floor) for page in pages):
        made = tuple(change for change in changes if change is not None)
        if len(made) == len(pages):
            return Again(changes=made)
    if any(page.took for page in pages):
        return Again()
    return Again(entries=tuple(entry for page in pages for entry in _entries(page, write)))


def _given_away(page: _Page, library: Library, floor: Callable[[Scope], int]) -> bool:
    """Whether a number that the write brings has become another entry's meanwhile."""
    scope = scope_of(page.path)
    if scope is None:
        return True
    holdings, highest = library.holdings(scope), floor(scope)
    return any(number <= highest or holdings.find(number) is not None for number in page.brought)


async def _pages(write: Event, store: WikiStore) -> AsyncIterator[_Page]:
    for page in write.payload.get("pages", ()):
        snapshot = store.read(page["path"])
        before, after = await _bytes(page, "before", store), await _bytes(page, "after", store)
        yield _Page(page["path"], before, after, snapshot.data if snapshot else None)


async def _bytes(page: Mapping[str, str | None], name: str, store: WikiStore) -> bytes | None:
    digest = page[name]
    return await store.commits.bytes_of(digest, str(page["path"]), near=None) if digest else None


def _entries(page: _Page, write: Event) -> Iterator[tuple[Candidate, Scope]]:
    """What the write brought to the page, as statements that can be decided upon."""
    wanted, scope = _page(page.after), scope_of(page.path)
    if wanted is None or scope is None:
        return
    for belief in wanted.beliefs:
        if belief.number in page.brought and belief.current:
            yield as_statement(belief, page.path, wanted, write.time), scope


def _numbers(data: bytes | None) -> frozenset[int]:
    page = _page(data)
    return page.numbers if page is not None else frozenset()


def _page(data: bytes | None) -> Page | None:
    try:
        return parse(data) if data is not None else None
    except PageUnreadable:
        return None


_OVERTAKEN = Words(
    "刚要写，有人手改了那一页，先留着等你定。",
    "The page was edited by hand just before this was written; it is yours to decide.",
)
