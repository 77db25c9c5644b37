"""Turning what was written, and what was edited by hand, into commits, each with the event that says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from qingtuan.clock import Clock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.memory.wiki.ledger import Ledger, Write
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.messages import Origin
from qingtuan.storage.files import content_hash
from qingtuan.storage.git import Draft, Joined, Repository, Signature
from qingtuan.storage.git_objects import blob_id

ASSISTANT = Signature("小青团", "qingtuan@localhost")
BY_HAND = Signature("owner (by hand)", "owner@localhost")

_SUBJECT = 72
"""Characters of a first line that every tool shows whole."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One page that was changed by hand. None where there was, or is, no page."""

    path: str
    before: str | None
    """The hash that was known."""
    data: bytes | None

    @property
    def after(self) -> str | None:
        return None if self.data is None else content_hash(self.data)


class Commits:
    """Makes commits of bytes that are safe already, so that each of these may be done again after a crash."""

    def __init__(self, log: Log, ledger: Ledger, repository: Repository, clock: Clock) -> None:
        self._log = log
        self._ledger = ledger
        self._repository = repository
        self._clock = clock

    async def of_writes(self, writes: Sequence[Write], *, again: bool) -> str | None:
        """Commit the open writes of one turn; with `again` it may have been done before, with no time to say so.

        Raises:
            StorageFailed: git refuses; the writes stay open.
        """
        files: dict[str, bytes | None] = {}
        for write in writes:
            data = None if write.after is None else self._part(write.after)
            if data is None and write.after is not None:
                continue  # its bytes were erased on purpose; there is nothing to keep
            files[write.path] = data
        events = [event for event in map(self._log.get, dict.fromkeys(write.event for write in writes)) if event]
        joins = await self._joined(_joins(events, writes), files)
        if not files:
            self.drop([event.id for event in events], events[-1].place, "erased")
            return None
        message = _message(
            [str(event.payload.get("message", "")) for event in events],
            Event=[event.cause or event.id for event in events],
            For=[event.place.person for event in events],
            Turn=[event.place.turn for event in events],
        )
        commit = await self._commit(files, message, ASSISTANT, joins, again=again)
        self._log.append(
            Kind.WIKI_COMMITTED,
            events[-1].place,
            {
                "commit": commit,
                "pages": sorted({write.path for write in writes}),
                "writes": [{"event": write.event, "path": write.path} for write in writes],
            },
            cause=events[-1].id,
        )
        return commit

    async def of_join(self, joins: str, place: Place, *, cause: str | None, message: str) -> str | None:
        """Let a commit from elsewhere become a part of the history where no page changes by it. None if it is one.

        Raises:
            StorageFailed: git refuses.
        """
        if await self._repository.holds_commit(joins):
            return None
        text = _message([message], Event=[cause], For=[place.person])
        commit = await self._commit({}, text, ASSISTANT, await self._joined(joins, {}), again=False)
        payload = {"commit": commit, "pages": [], "writes": []}
        self._log.append(Kind.WIKI_COMMITTED, place, payload, cause=cause)
        return commit

    async def of_edits(self, edits: Sequence[Edit]) -> str:
        """Commit hand edits as the owner's and write their event.

        Raises:
            StorageFailed: git refuses; they will be noticed again.
        """
        files = {edit.path: edit.data for edit in edits}
        subject = f"手动修改 {edits[0].path}" if len(edits) == 1 else f"手动修改 {len(edits)} 个页面"
        commit = await self._commit(files, _message([subject]), BY_HAND, None, again=True)
        with self._log.transaction():
            event = self._log.append(
                Kind.PAGE_EDITED,
                Place(),
                {
                    "pages": [{"path": edit.path, "before": edit.before, "after": edit.after} for edit in edits],
                    "renamed": _renamed(edits),
                    "commit": commit,
                },
                origin=Origin.OWNER,
            )
            self._log.append(
                Kind.WIKI_COMMITTED,
                Place(),
                {"commit": commit, "pages": sorted(files), "writes": []},
                cause=event.id,
            )
        return commit

    def drop(self, writes: Sequence[str], place: Place, reason: str) -> None:
        """Say that writes were given up before they reached their pages."""
        payload = {"writes": list(writes), "by": None, "dropped": reason}
        self._log.append(Kind.WRITE_UNDONE, place, payload, cause=writes[-1])

    async def bytes_of(self, name: str, path: str, *, near: str | None) -> bytes | None:
        """The page whose hash is `name`: from the log, or from the history of `path` around the commit `near`."""
        data = self._part(name)
        if data is None and near:
            data = await self._among(name, [f"{near}^:{path}", f"{near}:{path}"])
        if data is None:
            revisions = await self._repository.log(path, limit=500)
            data = await self._among(name, [f"{revision.commit}:{path}" for revision in revisions])
        return data

    async def _among(self, name: str, places: Sequence[str]) -> bytes | None:
        found = await self._repository.contents(places)
        return next((data for data in found if data is not None and content_hash(data) == name), None)

    async def _joined(self, commit: str | None, files: Mapping[str, bytes | None]) -> Joined | None:
        """How a commit from elsewhere becomes a part of the history together with `files`.

        What it has beside the pages goes along where we left that as it was. Its other pages stay as ours are:
        whoever planned this has decided so. None if there is no such commit, or it is a part already.
        """
        repository = self._repository
        if commit is None or not await repository.holds_commit(commit, within=commit):
            return None
        head = await repository.head()
        if head is not None and await repository.holds_commit(commit):
            return None
        base = await repository.common(head, commit) if head else None
        theirs = await repository.changes(base, commit)
        ours = await repository.changes(base, head) if head else {}
        pages = {path: blob for path, blob in theirs.items() if scope_of(path) is not None}
        beside = {path: blob for path, blob in theirs.items() if path not in pages and path not in ours}
        same = files.keys() == pages.keys() and all(
            (blob and blob.id) == (None if (data := files[path]) is None else blob_id(data))
            for path, blob in pages.items()
        )
        left = () if head else (path for path in pages if path not in files)
        return Joined(commit, base == head and same, {**beside, **dict.fromkeys(left)})

    async def _commit(
        self,
        files: Mapping[str, bytes | None],
        message: str,
        author: Signature,
        joins: Joined | None,
        *,
        again: bool,
    ) -> str:
        if again and joins is None and await self._repository.holds(files):
            # Made before a crash, or by the owner's own git: nothing to add but our word for it.
            await self._repository.stage(files)
            newest = await self._repository.log(next(iter(files), None), limit=1)
            if newest:
                return newest[0].commit
        return await self._repository.commit(Draft(files, message, author, self._clock.now(), joins))

    def _part(self, name: str) -> bytes | None:
        try:
            return self._log.part(name)
        except KeyError:
            return None


def by_turn(writes: Iterable[Write]) -> list[list[Write]]:
    """Writes in order, put together by turn; those of no turn stand alone."""
    runs: list[list[Write]] = []
    newest: dict[str, int] = {}
    """Which run last changed each page: no earlier run may take a later write to it."""
    for write in writes:
        own = [number for number, run in enumerate(runs) if _same_turn(run[0], write)]
        if not own or newest.get(write.path, 0) > own[-1]:
            own = [len(runs)]
            runs.append([])
        runs[own[-1]].append(write)
        newest[write.path] = own[-1]
    return runs


def _joins(events: Sequence[Event], writes: Sequence[Write]) -> str | None:
    """The commit from elsewhere that becomes a part of the history with these writes.

    If a hand edit came before one of its pages, what stands is not all of what was planned: then it stays apart, and
    is taken once more.
    """
    if len(events) != 1:
        return None
    whole = {page["path"] for page in events[0].payload.get("pages", ())} == {write.path for write in writes}
    return events[0].payload.get("joins") if whole else None


def _same_turn(one: Write, other: Write) -> bool:
    return (one.turn or one.event) == (other.turn or other.event)


def _renamed(edits: Sequence[Edit]) -> list[dict[str, str]]:
    """Pages that went and came back elsewhere with the same bytes."""
    gone = {edit.before: edit.path for edit in edits if edit.data is None and edit.before}
    return [
        {"from": gone.pop(edit.after), "to": edit.path} for edit in edits if edit.before is None and edit.after in gone
    ]


def _message(messages: Sequence[str], **trailers: Sequence[str | None]) -> str:
    """What was done, in one line; each single thing if there are several; for whom and from which event."""
    lines = [" ".join(message.split()) for message in messages]
    first = lines[0] if len(lines) == 1 else f"{lines[0]} (+{len(lines) - 1})"
    paragraphs = [first if len(first) <= _SUBJECT else first[: _SUBJECT - 1] + "…"]
    if len(lines) > 1 or len(first) > _SUBJECT:
        paragraphs.append("\n".join(f"- {line}" for line in lines))
    last = [f"{name}: {value}" for name, values in trailers.items() for value in dict.fromkeys(values) if value]
    return "\n\n".join([*paragraphs, *(["\n".join(last)] if last else [])]) + "\n"
