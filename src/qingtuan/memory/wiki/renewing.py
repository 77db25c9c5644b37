"""Pages and their whole history made anew by rules: the one way in which what was written once can be gone for good.

In this order, so that a crash at any instant leaves something that a start can go on with: the new history stands
beside the old one and is proven; the pages change; `wiki.rewritten` says so; the new history takes its place. Until the
event stands nothing has happened, and pages that changed already go back; after it all of it happens.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from qingtuan.errors import PageChanged, PageUnreadable, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.language import Words
from qingtuan.memory.wiki.commits import Commits
from qingtuan.memory.wiki.disk import Disk
from qingtuan.memory.wiki.ledger import Ledger
from qingtuan.memory.wiki.listing import Listing
from qingtuan.storage.files import content_hash
from qingtuan.storage.git import Repository
from qingtuan.storage.git_rewriting import Rewritten
from qingtuan.storage.git_stream import Rules


class PageRules(Rules, Protocol):
    """Rules that know which folders go."""

    @property
    def gone(self) -> frozenset[str]:
        """Folders of which nothing stays."""
        ...


@dataclass(frozen=True, slots=True)
class Renewal:
    """One wish to have pages and their history anew."""

    event: str
    """For which it is made."""
    rules: PageRules
    paths: Sequence[str] = ()
    """Pages about which the log has lost events: `wiki.rewritten` says what they are."""


@dataclass(frozen=True, slots=True)
class _Page:
    path: str
    before: bytes
    after: bytes


class Renewing:
    """Carries renewals out. For the store, which holds its lock meanwhile."""

    def __init__(self, log: Log, repository: Repository, disk: Disk, listing: Listing, commits: Commits) -> None:
        self._log = log
        self._ledger = Ledger(log.database)
        self._repository = repository
        self._disk = disk
        self._listing = listing
        self._commits = commits

    async def carry_out(self, renewal: Renewal, tell: Callable[[int], None]) -> tuple[str, ...]:
        """Make pages and history anew; all hand edits have been noticed. What of the owner's own git work was left
        out, as git calls it.

        Raises:
            PageChanged: somebody saved a page meanwhile, and nothing has happened: notice that, and begin again.
            StorageFailed: git or the disk refuses.
        """
        if self._told(renewal):
            self._clear_away(renewal.rules)
            return ()
        pages = self._pages(renewal.rules)

        def agree(made: Rewritten) -> None:
            self._put(pages)
            try:
                self._tell(renewal, made)
            except StorageFailed:
                self._put([_Page(page.path, page.after, page.before) for page in pages])
                raise

        made = await self._repository.rewrite(renewal.rules, renewal.event, agree, tell)
        self._clear_away(renewal.rules)
        for page in pages:
            with suppress(PageUnreadable):
                self._listing.look(page.path)
        return made.left_out

    async def settle(self, renewals: Sequence[Renewal]) -> None:
        """At start, before anything else: bring what a crash cut off to where it can go on.

        Raises:
            StorageFailed: the disk refuses.
        """
        told = [renewal for renewal in renewals if self._told(renewal)]
        self._repository.settle(told[-1].event if told else None)
        for renewal in told:
            self._clear_away(renewal.rules)
        for renewal in renewals:
            if renewal not in told:
                await self._put_back(renewal.rules)

    def _told(self, renewal: Renewal) -> bool:
        return any(event.kind is Kind.WIKI_REWRITTEN for event in self._log.caused_by(renewal.event))

    # Pages

    def _pages(self, rules: Rules) -> list[_Page]:
        """The pages that become others."""
        found = []
        for path in sorted(self._listing.hashes()):
            if not (rules.keeps(path) and rules.touches(path)):
                continue
            with suppress(PageUnreadable):
                page = self._disk.read(path)
                after = rules.file(path, page[0].data) if page else None
                if page and after is not None and after != page[0].data:
                    found.append(_Page(path, page[0].data, after))
        return found

    def _put(self, pages: Sequence[_Page]) -> None:
        done: list[_Page] = []
        try:
            for page in pages:
                self._disk.place(page.path, page.after, content_hash(page.before))
                done.append(page)
        except (PageChanged, PageUnreadable, StorageFailed):
            for page in reversed(done):
                with suppress(PageChanged, PageUnreadable, StorageFailed):
                    self._disk.place(page.path, page.before, content_hash(page.after))
            raise

    async def _put_back(self, rules: Rules) -> None:
        """Let pages that had changed before the event stood be what they were: nobody did that by hand."""
        for path, known in self._ledger.all_known().items():
            if not (rules.keeps(path) and rules.touches(path)):
                continue
            with suppress(PageUnreadable, PageChanged):
                page = self._disk.read(path)
                if page is None or page[0].hash == known:
                    continue
                before = await self._commits.bytes_of(known, path, near=None)
                if before is not None and rules.file(path, before) == page[0].data:
                    self._disk.place(path, before, page[0].hash)

    def _clear_away(self, rules: PageRules) -> None:
        """Delete the folders that go, with all that the owner may have put there."""
        for folder in rules.gone:
            path = self._disk.folder / folder
            try:
                if path.is_symlink():
                    path.unlink()
                elif path.exists():
                    shutil.rmtree(path)
            except OSError as error:
                raise _stays(path, error) from error
            self._listing.scan_below(folder)

    # The event

    def _tell(self, renewal: Renewal, made: Rewritten) -> None:
        rules = renewal.rules
        with self._log.transaction(durable=True):
            contents = self._renew_parts(rules, made.files)
            known = {path: self._ledger.known(path) for path in renewal.paths if rules.keeps(path)}
            payload = {
                "commits": dict(made.commits),
                "contents": contents,
                "pages": {path: contents.get(path, {}).get(name or "", name) for path, name in known.items()},
                "gone": sorted(rules.gone),
            }
            self._log.append(Kind.WIKI_REWRITTEN, Place(), payload, cause=renewal.event)

    def _renew_parts(self, rules: Rules, files: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
        """Make the bytes of pages that the log keeps anew. By path, what became of which contents, there and in git."""
        contents = {path: dict(changed) for path, changed in files.items()}
        for event in self._log.where("kind = ?", [Kind.PAGE_INTENDED]):
            for page in event.payload.get("pages", ()):
                path, name = page["path"], page["after"]
                if name is None or (rules.keeps(path) and not rules.touches(path)):
                    continue
                with suppress(KeyError):
                    before = self._log.part(name)
                    after = rules.file(path, before) if rules.keeps(path) else None
                    if after != before:
                        self._log.database.execute("DELETE FROM parts WHERE hash = ?", (name,))
                        if after is not None:
                            contents.setdefault(path, {})[name] = self._log.keep_parts([after])[0]
        return contents


def _stays(path: Path, error: OSError) -> StorageFailed:
    return StorageFailed(
        Words(
            f"{path} 删不掉：{error.strerror}。请检查权限，再试一次。",
            f"{path} cannot be deleted: {error.strerror}. Check permissions and try again.",
        )
    )
