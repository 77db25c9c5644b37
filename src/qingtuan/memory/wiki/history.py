"""Who changed a page, when, and from which event; and what it said before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from qingtuan.errors import NotThere
from qingtuan.language import Words
from qingtuan.memory.wiki.commits import BY_HAND
from qingtuan.memory.wiki.ledger import Ledger
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.git import Repository, Revision
from qingtuan.storage.git_objects import EMPTY_TREE


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit that changed a page."""

    commit: str
    time: datetime
    subject: str
    events: tuple[str, ...]
    """The events that it was made for, as the commit says; none for a hand edit."""
    people: tuple[str, ...]
    """For whom."""
    by_hand: bool
    """Whether a person made it: noticed on the disk, or committed with a git of their own."""
    author: str


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a page, from 1, and the commit that it came with."""

    number: int
    text: str
    entry: Entry


async def newest_at(repository: Repository, ledger: Ledger | None, moment: datetime) -> str | None:
    """The commit that was the newest at a moment; None if there was none yet."""
    commit = ledger.commit_at(moment) if ledger is not None else None
    # After a history was rewritten the events name commits that are no more.
    if commit is not None and await repository.holds_commit(commit):
        return commit
    return await repository.at(moment)


class History:
    """Questions to the past of pages. Everything is read from git; nothing here writes."""

    def __init__(self, repository: Repository, ledger: Ledger | None = None) -> None:
        """`ledger` knows what was here when; without it git is believed."""
        self._repository = repository
        self._ledger = ledger

    async def of_page(self, path: str, *, limit: int = 50) -> list[Entry]:
        """The newest commits that changed a page, newest first, across renames. Raises `NotThere` (walls)."""
        return [_entry(revision) for revision in await self._repository.log(_page(path), limit=limit)]

    async def newest(self, *, limit: int = 50) -> list[Entry]:
        """The newest commits of the whole wiki, newest first."""
        return [_entry(revision) for revision in await self._repository.log(limit=limit)]

    async def diff(self, path: str, old: str | None, new: str = "HEAD") -> str:
        """How a page differs between two commits, as a unified diff; `old` None stands for nothing at all.

        Raises:
            NotThere: no such commit, or no page can stand there.
        """
        before = await self._repository.resolve(old) if old else EMPTY_TREE
        return await self._repository.diff(before, await self._repository.resolve(new), _page(path))

    async def show(self, path: str, at: str | datetime) -> bytes | None:
        """A page in a commit, or as it was committed by a moment; None if there was none.

        Raises:
            NotThere: no such commit, or no page can stand there.
        """
        if isinstance(at, str):
            commit: str | None = await self._repository.resolve(at)
        else:
            commit = await newest_at(self._repository, self._ledger, at)
        return await self._repository.show(commit, _page(path)) if commit else None

    async def blame(self, path: str) -> list[BlamedLine]:
        """Each line of a page as last committed, and where it came from. Raises `NotThere` without such a page."""
        lines = await self._repository.blame(_page(path))
        revisions = await self._repository.revisions(line.commit for line in lines)
        return [BlamedLine(line.number, line.text, _entry(revisions[line.commit])) for line in lines]


def _entry(revision: Revision) -> Entry:
    trailers = revision.trailers
    events = trailers.get("Event", ())
    return Entry(
        revision.commit,
        revision.time,
        revision.subject,
        events,
        trailers.get("For", ()),
        revision.author == BY_HAND.name or not events,
        revision.author,
    )


def _page(path: str) -> str:
    if scope_of(path) is None:
        raise NotThere(Words("没有这个页面。", "There is no such page."))
    return path
