"""The wiki and its copy elsewhere: pushed, never by force; pulled, page by page; from strangers, on the owner's word.

What is pulled becomes a write like any other: intended in the log, on the pages, then in the history, there as the
commit from elsewhere itself or joined with ours. Wherever the two cannot be told apart from somebody having rewritten
one of them, nothing is done and the owner is told what to do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from qingtuan.clock import Clock
from qingtuan.errors import NotAllowed, NotThere, RemoteRefused
from qingtuan.events.kinds import Kind
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.candidates import Item
from qingtuan.memory.landing import Arrived, Landing, Pulled
from qingtuan.memory.memory import Memory
from qingtuan.memory.pull_proposals import PullProposals
from qingtuan.memory.reconciling import Reconciled
from qingtuan.memory.reviewing import Settled
from qingtuan.memory.wiki.arrivals import refuse_huge, sorted_out
from qingtuan.memory.wiki.store import Change
from qingtuan.memory.writing import Arrangement
from qingtuan.storage.git_address import Address
from qingtuan.storage.git_exchange import PULL_FIRST, Access, Exchange, Standing


@dataclass(frozen=True, slots=True)
class Remote:
    """The copy elsewhere, as the settings name it."""

    address: Address
    access: Access
    trusted: bool
    """Whether what comes from there counts as the owner's own edits."""


class Syncing:
    """Exchanges with one remote. One exchange at a time."""

    def __init__(self, memory: Memory, remote: Callable[[], Remote | None], clock: Clock) -> None:
        """`remote` is what the settings say; it may raise `SettingsWrong`."""
        self._memory = memory
        self._writer = memory.writer
        self._library = memory.library
        self._store = memory.library.store
        self._log = memory.writer.log
        self._remote = remote
        self._clock = clock
        self._lock = asyncio.Lock()
        self._landing = Landing(memory.writer)
        self.proposals = PullProposals(self._log)
        """What waits for the owner's word."""

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """Nothing is exchanged until the block is left: what it takes out must not come back by a pull under way."""
        async with self._lock:
            yield

    # Looking

    @property
    def remote(self) -> Remote | None:
        """The copy elsewhere; None if the settings name none. Raises `SettingsWrong`."""
        return self._remote()

    async def standing(self) -> Standing:
        """How the remote stands to what is here. Raises `RemoteRefused`, `StorageFailed`."""
        async with self._exchange() as (exchange, _):
            return await exchange.fetch(await self._head())

    async def due(self) -> bool:
        """Whether a pull or a push would do something. Raises as `standing`, and `RemoteRefused` where the two have
        nothing in common: somebody has to look at that."""
        standing = await self.standing()
        if standing.relation == "unrelated" and await self._store.repository.tree():
            raise RemoteRefused(_UNRELATED)
        if standing.relation in ("behind", "diverged", "unrelated") and standing.theirs is not None:
            return self.proposals.of(standing.theirs) is None
        return standing.relation in ("empty", "ahead") and await self._head() is not None

    # Pushing

    async def push(self, by: By) -> Standing:
        """Bring the remote up to what is here; how it stood to it before.

        Raises:
            NotAllowed: only the owner may.
            RemoteRefused: it has what is not here, cannot be reached, or does not take it.
            StorageFailed: git refuses.
        """
        _must_be_owner(by)
        async with self._exchange() as (exchange, remote):
            head = await self._head()
            if head is None:
                raise NotThere(_NOTHING_YET)
            standing = await exchange.fetch(head)
            if standing.relation in ("behind", "diverged", "unrelated"):
                await self._refuse_rewritten(exchange, remote, standing, head)
                raise RemoteRefused(_UNRELATED_PUSH if standing.relation == "unrelated" else PULL_FIRST)
            if standing.relation != "same":
                await exchange.push(head)
            self._note_synced(remote, head, by, "push")
            return standing

    # Pulling

    async def pull(self, by: By) -> Pulled:
        """Take over what the remote has and this wiki lacks; from one that is not trusted, put it up for the owner.

        Raises:
            NotAllowed: only the owner may.
            RemoteRefused: it cannot be reached, has nothing in common with this wiki, was rewritten, or holds what is
                not taken; nothing was changed.
            StorageFailed, PageUnreadable, LimitReached: as a write.
        """
        _must_be_owner(by)
        async with self._exchange() as (exchange, remote):
            head = await self._head()
            standing = await exchange.fetch(head)
            if standing.theirs is None or standing.relation in ("same", "ahead"):
                if standing.theirs is not None:
                    self._note_synced(remote, standing.theirs, by, "pull")
                return Pulled(standing)
            arrived = await self._arrived(exchange, remote, standing)
            if not remote.trusted:
                return self._put_up(arrived, remote, by)
            return await self._take(exchange, remote, arrived, by, trusted=True)

    async def accept(self, item: Item, by: By) -> Settled:
        """Take over what a proposal of ours is about, on the owner's word: a whole pull, or one page of it.

        Raises as `pull`; `NotThere` if the remote does not have it any more.
        """
        _must_be_owner(by)
        if "page" in item.payload:
            return await self._accept_page(item, by)
        commit = str(item.payload["commit"])
        async with self._exchange() as (exchange, remote):
            head = await self._head()
            newest = (await exchange.fetch(head)).theirs
            if newest is None or not await exchange.holds(commit, newest):
                raise NotThere(_NOT_THERE_ANY_MORE)
            standing = await exchange.standing(head, commit)
            if standing.relation in ("same", "ahead"):
                return Settled(item, "known")
            arrived = await self._arrived(exchange, remote, standing)
            done = await self._take(exchange, remote, arrived, by, trusted=remote.trusted)
        # What is taken back of it is in the history all the same: it does not wait again, so no write is named.
        return Settled(item, "accepted", words=done.words if done.apart or done.doubtful else None)

    async def reject(self, item: Item, by: By) -> None:  # noqa: ARG002 (whatever it is, nothing is done)
        """Take over nothing of it. It is not put up again while the remote stays as it is."""
        _must_be_owner(by)

    # How

    @asynccontextmanager
    async def _exchange(self) -> AsyncIterator[tuple[Exchange, Remote]]:
        """An exchange, with all that was written and edited here in the history first."""
        remote = self._remote()
        if remote is None:
            raise NotThere(_NO_REMOTE)
        async with self._lock:
            if self._store.repository.busy:
                raise RemoteRefused(_BUSY)
            edits = await self._store.settle()
            self._library.follow([edit.path for edit in edits])
            self._library.settle()
            exchange = Exchange(self._store.folder, remote.address, remote.access, self._clock)
            await exchange.begin()
            try:
                yield exchange, remote
            finally:
                exchange.end()

    async def _head(self) -> str | None:
        return await self._store.repository.head()

    async def _arrived(self, exchange: Exchange, remote: Remote, standing: Standing) -> Arrived:
        """What came, looked at and read. Raises `RemoteRefused` for what is not taken."""
        repository, theirs = self._store.repository, standing.theirs
        assert theirs is not None
        here = await repository.tree() if await repository.head() else {}
        if here:
            await self._refuse_rewritten(exchange, remote, standing, await repository.head())
            if standing.relation == "unrelated":
                raise RemoteRefused(_UNRELATED)
        changes = await exchange.changes(standing.base, theirs)
        arrivals = sorted_out(changes, here)
        refuse_huge(arrivals, dict(zip(arrivals.ids, await exchange.sizes(arrivals.ids), strict=True)))
        before = await exchange.changes(theirs, standing.base) if standing.base else {}
        old = {path: blob.id for path in arrivals.pages if (blob := before.get(path.encode())) and blob.regular}
        new = {path: blob.id for path, blob in arrivals.pages.items() if blob is not None}
        ids = list(dict.fromkeys((*old.values(), *new.values())))
        contents = dict(zip(ids, await exchange.contents(ids), strict=True))
        since = await repository.changes(standing.base, "HEAD") if here else {}
        return Arrived(
            standing,
            arrivals,
            {path: contents[name] for path, name in old.items()},
            {path: contents[name] for path, name in new.items()},
            frozenset(since),
        )

    async def _refuse_rewritten(self, exchange: Exchange, remote: Remote, standing: Standing, head: str | None) -> None:
        """Raises `RemoteRefused` if commits that were once here or there are not any more: joining the two would bring
        back what somebody took out of the history, such as a person who was to be forgotten."""
        assert standing.theirs is not None
        lacking = json.dumps(sorted(await exchange.commits(standing.theirs, head)))
        once_here = self._log.database.row(
            "SELECT 1 FROM events WHERE kind = ?1"
            " AND json_extract(payload, '$.commit') IN (SELECT value FROM json_each(?3))"
            " UNION ALL SELECT 1 FROM events AS e, json_each(e.payload, '$.commits') AS gone WHERE e.kind = ?2"
            " AND gone.key IN (SELECT value FROM json_each(?3)) LIMIT 1",
            (Kind.WIKI_COMMITTED, Kind.WIKI_REWRITTEN, lacking),
        )
        if once_here is not None:
            raise RemoteRefused(_REWRITTEN_HERE)
        last = self._last_synced(remote)
        if last is not None and not await exchange.holds(last, standing.theirs):
            raise RemoteRefused(_REWRITTEN_THERE)

    def _last_synced(self, remote: Remote) -> str | None:
        """The newest commit that this remote was known to have."""
        row = self._log.database.row(
            "SELECT json_extract(payload, '$.commit') AS value FROM events WHERE kind = ?"
            " AND json_extract(payload, '$.remote') = ? ORDER BY seq DESC LIMIT 1",
            (Kind.WIKI_SYNCED, remote.address.url),
        )
        return row["value"] if row else None

    def _note_synced(self, remote: Remote, commit: str, by: By, what: str) -> None:
        if self._last_synced(remote) != commit:
            payload = {"remote": remote.address.url, "commit": commit, "by": what}
            self._log.append(Kind.WIKI_SYNCED, by.place, payload, cause=by.cause)

    # Taking over

    async def _take(self, exchange: Exchange, remote: Remote, arrived: Arrived, by: By, *, trusted: bool) -> Pulled:
        commit = arrived.standing.theirs
        assert commit is not None
        await exchange.deliver(commit, await self._head())
        settled: list[Reconciled] = []

        async def plan() -> Arrangement:
            settled[:] = self._landing.reconciled(arrived, by, trusted=trusted)
            pages = [(path, data) for one in settled for path, data in sorted(one.pages.items())]
            changes = [Change(path, self._landing.content(path), data) for path, data in pages]
            message = f"拿来远程的 {arrived.standing.theirs_only} 个提交（{commit[:8]}）"
            return Arrangement(changes, message, joins=commit)

        written = await self._writer.arrange(by, plan)
        self._note_synced(remote, commit, by, "pull")
        apart = tuple(page for one in settled for page in one.apart)
        self.proposals.put_apart(apart, {one.path: self._landing.here(one.path) for one in apart}, commit, by)
        doubtful = [(one.scope, *doubt) for one in settled for doubt in one.doubtful]
        for scope, candidate, reason in doubtful:
            self._memory.propose(candidate, scope, by, reason)
        return Pulled(
            arrived.standing,
            taken=True,
            pages=written.paths if written else (),
            apart=apart,
            doubtful=len(doubtful),
            renumbered=sum(len(one.numbers) for one in settled),
            beside=len(arrived.arrivals.beside),
        )

    def _put_up(self, arrived: Arrived, remote: Remote, by: By) -> Pulled:
        """Put what came up for the owner, once for each state of the remote."""
        earlier = self.proposals.of(str(arrived.standing.theirs))
        if earlier is not None:
            return Pulled(arrived.standing, waiting=earlier.id if self.proposals.is_open(earlier) else None)
        settled = self._landing.reconciled(arrived, by, trusted=False)
        after = {path: data for one in settled for path, data in one.pages.items()}
        before = {path: self._landing.here(path) for path in after}
        event = self.proposals.put_up(arrived.standing, remote.address.url, before, after, by)
        return Pulled(arrived.standing, waiting=event.id, asked=True)

    async def _accept_page(self, item: Item, by: By) -> Settled:
        """Make one page what it is there."""
        path = str(item.payload["page"])
        try:
            data = self._log.part(str(item.payload["part"]))
        except KeyError as error:
            raise NotThere(_NOT_THERE_ANY_MORE) from error
        changes = [Change(path, self._landing.content(path), data)]
        message = f"用远程的「{path}」"
        written = await self._writer.replace(by, changes, by.place, cause=by.cause, message=message)
        return Settled(item, "accepted" if written else "known", write=written.event if written else None)


def _must_be_owner(by: By) -> None:
    if not by.reader.is_owner_alone:
        raise NotAllowed(_OWNER_ONLY)


_OWNER_ONLY = Words("这个只有主人能做。", "Only the owner may do that.")
_NO_REMOTE = Words(
    "还没有设远程：在 qingtuan.toml 的 [wiki] 里写 remote。",
    "There is no remote: write one into [wiki] of qingtuan.toml.",
)
_NOTHING_YET = Words("这里还没有可以推的。", "There is nothing to push yet.")
_BUSY = Words(
    "wiki 里有一次你自己开始的 git 合并或变基还没做完：先做完或放弃它。",
    "A git merge or rebase of your own was begun in the wiki: finish or abort it first.",
)
_UNRELATED = Words(
    "远程和这里没有共同的历史，不合并。要在新机器上接着用远程的：停下小青团，把 wiki 文件夹移开，"
    "再 qingtuan wiki pull；要用这里的：换一个空的远程。",
    "The remote and this wiki have no common history, and are not joined. To go on with the remote's on a new machine: "
    "stop Qingtuan, move the folder wiki away, then qingtuan wiki pull. To keep what is here: use an empty remote.",
)
_UNRELATED_PUSH = Words(
    "远程和这里没有共同的历史，不覆盖它。请换一个空的远程再推。",
    "The remote and this wiki have no common history, and nothing is put over it. Please push to an empty remote.",
)
_REWRITTEN_HERE = Words(
    "这里的历史改写过（比如抹掉了一个人，或恢复了备份），远程还留着旧的；合并会把抹掉的带回来。"
    "请清空远程或换一个空的，再 qingtuan wiki push。",
    "The history here was rewritten (somebody was erased, or a backup restored), and the remote still has the old one; "
    "joining them would bring back what was erased. Empty the remote or use an empty one, then qingtuan wiki push.",
)
_REWRITTEN_THERE = Words(
    "远程的历史被改写过：上次在那边看到的提交不见了，不合并。弄清楚是谁改的；要按远程的来，停下小青团，"
    "把 wiki 文件夹移开，再 qingtuan wiki pull；要按这里的来，清空远程再推。",
    "The history of the remote was rewritten: a commit that was there is gone, so nothing is joined. Find out who did "
    "it. To follow the remote: stop Qingtuan, move the folder wiki away, then qingtuan wiki pull. To keep what is "
    "here: empty the remote, then push.",
)
_NOT_THERE_ANY_MORE = Words(
    "远程已经没有这些内容了，请重新 qingtuan wiki pull。",
    "The remote does not have this any more; qingtuan wiki pull anew.",
)
