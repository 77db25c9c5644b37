"""The wiki's pages as bytes: reading, writing in steps that survive a crash, and noticing what people change.

A write goes through four steps, each of which can be done again: the events `page.intended` with the bytes as a
part of the log, on the disk before anything else; the files; one commit for all writes of a turn; `wiki.committed`.
A page whose hash is neither the last known nor an intended one was changed by hand: it becomes a commit of the
owner's and `page.edited`, and a write never lands on it unread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import Bug, LimitReached, NotThere, PageChanged, PageUnreadable, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.wiki.commits import Commits, Edit, by_turn
from qingtuan.memory.wiki.disk import MAX_BYTES, Disk, Snapshot
from qingtuan.memory.wiki.ledger import Ledger, Write
from qingtuan.memory.wiki.listing import Listing, Problem
from qingtuan.memory.wiki.recovery import finish_pages
from qingtuan.memory.wiki.renewing import Renewal, Renewing
from qingtuan.memory.wiki.walls import TOPS, scope_of
from qingtuan.storage.files import content_hash
from qingtuan.storage.git import Repository

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Change:
    """What one page is to become, seen from what the writer read."""

    path: str
    expected: str | None
    """The hash of the page that was read; None if there was none."""
    data: bytes | None
    """The new bytes; None deletes the page."""


@dataclass(frozen=True, slots=True)
class Written:
    """A write that stands on the disk."""

    event: str
    """Its `page.intended`: what undo, history and the commit know it by."""
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    path: str
    old: bytes | None
    before: str | None
    new: bytes | None

    @property
    def after(self) -> str | None:
        return None if self.new is None else content_hash(self.new)


class WikiStore:
    """The pages of one wiki. One process owns it, and all use is from one event loop.

    The log must carry `ledger.project` among its projections.
    """

    def __init__(
        self, folder: Path, log: Log, repository: Repository, clock: Clock, *, cache: Path | None = None
    ) -> None:
        """`cache` is a file for sizes, times and hashes; it saves reading every page at the next start."""
        self.folder = folder
        self.ledger = Ledger(log.database)
        self.repository = repository
        self.commits = Commits(log, self.ledger, repository, clock)
        self._log = log
        self._disk = Disk(folder)
        self._listing = Listing(self._disk, clock, cache)
        self._renewing = Renewing(log, repository, self._disk, self._listing, self.commits)
        self._lock = asyncio.Lock()
        self._ready = False
        self._running: set[str] = set()
        """Turns that have written and not ended: their commit is still to be asked for."""
        self._tried: set[str] = set()
        """Writes whose commit was begun."""
        self._suspects: set[str] = set()
        """Pages whose bytes a reader found to be unknown."""

    # ------------------------------------------------------------------------------------------- starting

    async def recover(self, renewals: Sequence[Renewal] = ()) -> list[Write]:
        """At start: finish what a crash cut off, then notice what was changed by hand meanwhile. `renewals` are those
        that were begun and are not known to be finished; they are to be carried out afterwards.

        The result are the writes that a hand edit came before (`overtaken`): apply each again to the page as it is
        now or put it up for review, then `give_up` the old one.

        A git that refuses for now (a lock that stays) only delays commits, but for those of overtaken pages.

        Raises:
            SettingsWrong: there is no usable git.
            StorageFailed: the disk refuses, or git does where an overtaken page must be committed first.
        """
        async with self._lock:
            await self._renewing.settle(renewals)
            await self.repository.prepare()
            for top in TOPS:
                (self.folder / top).mkdir(exist_ok=True)
            self._listing.scan(clear=True)
            done = await finish_pages(self._disk, self.ledger, self.commits)
            unreached = [write for write in self.ledger.open() if write not in done]
            self._tried = {write.event for write in done}
            try:
                await self._commit(done)
                if edits := self._edits({write.path for write in unreached}):
                    await self.commits.of_edits(edits)
            except StorageFailed:
                if unreached:  # once others write there, nobody could tell any more that these are not on their pages
                    raise
            self._ready = True
        with suppress(StorageFailed):
            await self.scan()
        return self.overtaken()

    def save(self) -> None:
        """Save the cache of what is known of pages."""
        self._listing.save()

    def close(self) -> None:
        """The same, at the end. Nothing else waits in memory."""
        self.save()

    # -------------------------------------------------------------------------------------------- reading

    def paths(self, scope: Scope) -> list[str]:
        """The readable pages of a scope as last looked at, sorted."""
        return self._listing.paths(scope)

    def scopes(self) -> list[Scope]:
        """The scopes that have readable pages as last looked at, sorted."""
        return self._listing.scopes()

    def hashes(self) -> dict[str, str]:
        """The hash of every readable page as last looked at, by path."""
        return self._listing.hashes()

    def hashes_of(self, scope: Scope) -> dict[str, str]:
        """The hash of every readable page of a scope as last looked at, by path."""
        return self._listing.hashes_of(scope)

    def hash_of(self, path: str) -> str | None:
        """The hash of a page as last looked at; None if there is no readable one."""
        return self._listing.hash_of(path)

    def changed_since(self, revision: int) -> list[str] | None:
        """The pages that may have other hashes than at that revision; None if it may be any."""
        return self._listing.changed_since(revision)

    @property
    def revision(self) -> int:
        """Another number whenever any page may have another hash than before."""
        return self._listing.revision

    def read(self, path: str) -> Snapshot | None:
        """A page as it is on the disk now, or None if there is none.

        Raises:
            NotThere: no page can stand there (walls).
            PageUnreadable: what stands there is left alone: a link, over 10 MB, no text.
        """
        if scope_of(path) is None:
            raise _no_page(path)
        snapshot = self._listing.look(path)
        if (snapshot.hash if snapshot else None) != self.ledger.known(path):
            self._suspects.add(path)
        return snapshot

    def glance(self, paths: Iterable[str]) -> None:
        """Let what is known of many pages be what is on the disk now, reading only those that have changed."""
        found = self._listing.glance(path for path in paths if scope_of(path) is not None)
        known = self.ledger.known_of(found)
        self._suspects |= {path for path, digest in found.items() if digest != known.get(path)}

    def problems(self) -> list[Problem]:
        """What is left alone, and why, as last looked at."""
        return self._listing.problems()

    def overtaken(self) -> list[Write]:
        """Writes that a hand edit came before: to be applied again or given up."""
        return self.ledger.overtaken()

    # -------------------------------------------------------------------------------------------- writing

    async def write(
        self, changes: Sequence[Change], place: Place, *, cause: str | None, message: str, undoes: Sequence[str] = ()
    ) -> Written | None:
        """Change pages together or not at all; None if they are that way already.

        Within a turn the commit waits for `commit_turn`; outside one it is made at once (and tried again later if git
        refuses: the pages are safe without it). `message` becomes a line of the commit; `undoes` names the writes
        that this one takes back.

        Raises:
            PageChanged: a page is not what `expected` says. Read it again and apply the change again.
            PageUnreadable, NotThere: what stands there is left alone; no page can stand there.
            LimitReached: a page would become longer than 10 MB.
            StorageFailed: the disk refuses; all pages are as they were.
        """
        async with self._lock:
            return await self._write(changes, place, cause, {"message": message, "undoes": list(undoes)})

    async def join(
        self, commit: str, changes: Sequence[Change], place: Place, *, cause: str | None, message: str
    ) -> Written | None:
        """Change pages, and let a commit from elsewhere become a part of the history with them; `write` otherwise.

        All that the commit consists of is in the repository. None if no page changes; the history then has it too.
        """
        async with self._lock:
            written = await self._write(changes, place, cause, {"message": message, "joins": commit})
            if written is None:
                await self.commits.of_join(commit, place, cause=cause, message=message)
            return written

    async def _write(
        self, changes: Sequence[Change], place: Place, cause: str | None, extra: dict[str, object]
    ) -> Written | None:
        pages = self._check(changes)
        while await self._clear_way(pages, place.turn):
            pages = self._check(changes)
        if not pages:
            return None
        event = self._intend(pages, place, cause, extra)
        self._put(pages, event)
        if place.turn is not None:
            self._running.add(place.turn)
        else:
            with suppress(StorageFailed):
                await self._commit_ended()
        return Written(event.id, tuple(page.path for page in pages))

    async def commit_turn(self, turn: str) -> str | None:
        """Make the one commit for all that a turn has written; None if it has written nothing.

        Raises:
            StorageFailed: git refuses; the pages stand, and each later commit tries again.
        """
        async with self._lock:
            self._running.discard(turn)
            return (await self._commit_ended()).get(turn)

    def give_up(self, write: str, place: Place, *, reason: str) -> None:
        """An overtaken write will not be applied, or was applied anew by another write."""
        self.commits.drop([write], place, reason)

    async def settle(self) -> list[Edit]:
        """Commit whatever is open, of running turns too, and notice every hand edit. Raises `StorageFailed`."""
        async with self._lock:
            await self._commit(self.ledger.open())
        return await self.scan()

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Nothing here writes to the pages or their history until the block is left; whatever was written, by hand
        too, is committed before. What git refuses to commit now is safe in the pages and in the log."""
        async with self._lock:
            with suppress(StorageFailed):
                await self._commit(self.ledger.open())
                self._listing.scan()
                await self._notice(self._unknown(tuple(f"{top}/" for top in TOPS)))
            async with self.repository.still():
                yield

    async def renew(
        self, begin: Callable[[], Renewal], tell: Callable[[int], None] = lambda _: None
    ) -> tuple[str, ...]:
        """Make pages and their whole history anew by rules, so that what they take out is gone for good. What of the
        owner's own git work could not be taken over, as git calls it.

        `begin` is called once, when everything is committed and no page can change any more; it says what to do.
        `tell` hears how many commits are done.

        Raises:
            StorageFailed: git or the disk refuses, or somebody keeps saving a page. Before `begin` nothing has
                happened; after it `recover` and another call go on from there.
        """
        async with self._lock:
            renewal: Renewal | None = None
            for _ in range(_TRIES):
                await self._commit(self.ledger.open())
                self._listing.scan()
                await self._notice(self._unknown(tuple(f"{top}/" for top in TOPS)))
                renewal = renewal or begin()
                with suppress(PageChanged):
                    return await self._renewing.carry_out(renewal, tell)
        raise StorageFailed(Words("有一页一直在变。", "A page keeps changing."))

    def message_of(self, write: str) -> str:
        """What was said about a write when it was made."""
        event = self._log.get(write)
        return str(event.payload.get("message", "")) if event else ""

    def mark_undone(self, writes: Sequence[str], place: Place, *, cause: str | None) -> None:
        """These writes are taken back already: their pages stand as before them."""
        self._log.append(Kind.WRITE_UNDONE, place, {"writes": list(writes), "by": None}, cause=cause)

    def _check(self, changes: Sequence[Change]) -> list[_Page]:
        """The pages that would really change."""
        self._must_be_ready()
        if len({change.path for change in changes}) < len(changes):
            raise Bug(Words("同一页在一次写入里出现了两次。", "One write names a page twice."))
        pages = []
        for change in changes:
            if scope_of(change.path) is None:
                raise _no_page(change.path)
            if change.data is not None and len(change.data) > MAX_BYTES:
                raise LimitReached(Words("这一页太长了，最多 10 MB。", "That page is too long; the limit is 10 MB."))
            found = self._listing.look(change.path)
            if (found.hash if found else None) != change.expected:
                raise PageChanged(change.path)
            if change.data != (found.data if found else None):
                pages.append(_Page(change.path, found.data if found else None, change.expected, change.data))
        return pages

    async def _clear_way(self, pages: Sequence[_Page], turn: str | None) -> bool:
        """Commit what others left on these pages, so that each commit holds the work of one; True if that was a person.

        Raises:
            StorageFailed: git refuses what a person did. Their words must be safe before anything is put over them.
        """
        paths = {page.path for page in pages}
        if any(self.ledger.known(page.path) != page.before for page in pages):
            await self._notice(paths)
            return True
        writes = self.ledger.open()
        others = {_turn_of(write) for write in writes if write.path in paths and write.turn != turn}
        with suppress(StorageFailed):  # later, then; `by_turn` keeps the order
            await self._commit([write for write in writes if _turn_of(write) in others])
        return False

    def _must_be_ready(self) -> None:
        if not self._ready:
            raise Bug(Words("wiki 还没有恢复完。", "The wiki was used before its recovery."))

    def _intend(self, pages: Sequence[_Page], place: Place, cause: str | None, extra: dict[str, object]) -> Event:
        payload = {
            "pages": [{"path": page.path, "before": page.before, "after": page.after} for page in pages],
            **{name: value for name, value in extra.items() if value},
        }
        with self._log.transaction(durable=True):
            self._log.keep_parts([page.new for page in pages if page.new is not None])
            event = self._log.append(Kind.PAGE_INTENDED, place, payload, cause=cause)
            if extra.get("undoes"):
                undone = {"writes": extra["undoes"], "by": event.id}
                self._log.append(Kind.WRITE_UNDONE, place, undone, cause=event.id)
        return event

    def _put(self, pages: Sequence[_Page], event: Event) -> None:
        done: list[_Page] = []
        try:
            for page in pages:
                self._disk.place(page.path, page.new, page.before)
                done.append(page)
        except (PageChanged, PageUnreadable, StorageFailed):
            for page in reversed(done):
                # Where somebody saved on top of the new page, theirs stays and will be noticed.
                with suppress(PageChanged, PageUnreadable, StorageFailed):
                    self._disk.place(page.path, page.old, page.after)
            self.commits.drop([event.id], event.place, "not placed")
            raise
        finally:
            for page in pages:
                with suppress(PageUnreadable, NotThere):
                    self.read(page.path)

    # --------------------------------------------------------------------------------------- committing

    async def _commit_ended(self) -> dict[str, str]:
        """Commit the open writes of every turn that has ended. The commits by turn."""
        return await self._commit([write for write in self.ledger.open() if write.turn not in self._running])

    async def _commit(self, writes: Sequence[Write]) -> dict[str, str]:
        made: dict[str, str] = {}
        for run in by_turn(writes):
            events = {write.event for write in run}
            again = not events.isdisjoint(self._tried)
            self._tried |= events  # should this fail or be cancelled, git may have done it all the same
            commit = await self.commits.of_writes(run, again=again)
            self._tried -= events
            if commit is not None:
                made[_turn_of(run[0])] = commit
        return made

    # --------------------------------------------------------------------------------------- hand edits

    async def notice(self, paths: Iterable[str] = ()) -> list[Edit]:
        """Look at these pages (or folders, with all below them) and at what reads stumbled upon; commit as the
        owner's what was changed, made, moved or deleted by hand.

        Raises:
            StorageFailed: git refuses; the edits will be noticed again.
        """
        async with self._lock:
            pages, folders = set(), []
            for path in paths:
                if scope_of(path) is not None:
                    pages.add(path)
                else:
                    folders.append(f"{path}/")
                    self._listing.scan_below(path)
            return await self._notice(pages | self._unknown(tuple(folders)))

    async def scan(self) -> list[Edit]:
        """Look at the whole wiki, and notice what was changed by hand. Raises `StorageFailed` as `notice`."""
        async with self._lock:
            self._listing.scan()
            return await self._notice(self._unknown(tuple(f"{top}/" for top in TOPS)))

    def _unknown(self, folders: tuple[str, ...]) -> set[str]:
        """The pages below these folders that, as last looked at, are not what is known of them."""
        if not folders:
            return set()
        now, known = self._listing.hashes(), self.ledger.all_known()
        return {path for path in now.keys() | known if path.startswith(folders) and now.get(path) != known.get(path)}

    async def _notice(self, paths: set[str]) -> list[Edit]:
        self._must_be_ready()
        suspects, self._suspects = paths | self._suspects, set()
        changed = {edit.path for edit in self._edits(suspects)}
        if not changed:
            return []
        try:
            # Ours came first. What is open on these pages stands in them, or `recover` would have seen to it.
            writes = self.ledger.open()
            turns = {_turn_of(write) for write in writes if write.path in changed}
            await self._commit([write for write in writes if _turn_of(write) in turns])
            edits = self._edits(changed)
            if edits:
                await self.commits.of_edits(edits)
        except StorageFailed:
            self._suspects |= changed
            raise
        return edits

    def _edits(self, paths: Iterable[str]) -> list[Edit]:
        """Which of these pages are not what is known of them. Unreadable ones are left alone."""
        edits = []
        for path in sorted(paths):
            with suppress(PageUnreadable):
                found, known = self._listing.look(path), self.ledger.known(path)
                if (found.hash if found else None) != known:
                    edits.append(Edit(path, known, found.data if found else None))
        return edits


def _turn_of(write: Write) -> str:
    """What a write is committed with: its turn, or itself."""
    return write.turn or write.event


def _no_page(path: str) -> NotThere:
    shown = path.encode("utf-8", "replace").decode()[:200]
    return NotThere(Words(f"没有「{shown}」这个页面。", f"There is no page “{shown}”."))
