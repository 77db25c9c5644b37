"""An instance's memory that has a copy elsewhere."""

from __future__ import annotations

from pathlib import Path

from qingtuan.memory.landing import Pulled
from qingtuan.memory.pull_proposals import PULL
from qingtuan.memory.reviewing import Reviewing, Settled
from qingtuan.memory.syncing import Remote, Syncing
from qingtuan.storage.git_address import Address
from qingtuan.storage.git_exchange import Access
from tests.memory.world import PEOPLE, World


class Instance(World):
    """A memory with a remote, in a folder of its own."""

    bare: Path
    trusted = True

    @classmethod
    async def at(cls, root: Path, bare: Path) -> Instance:
        """The one in a folder, started."""
        instance = cls(root)
        instance.bare = bare
        await instance.start()
        return instance

    @property
    def syncing(self) -> Syncing:
        if not hasattr(self, "_syncing"):
            self._syncing = Syncing(self.memory, self._remote, self.clock)
        return self._syncing

    def _remote(self) -> Remote:
        return Remote(Address.parse(str(self.bare)), Access(), self.trusted)

    async def push(self) -> str:
        return (await self.syncing.push(self.by(""))).relation

    async def pull(self) -> Pulled:
        return await self.syncing.pull(self.by(""))

    async def decide(self, *, accept: bool = True) -> Settled:
        """Say yes or no to the newest that waits."""
        reviewing = Reviewing(self.memory, self.log, PEOPLE, self.clock, {PULL: self.syncing})
        item = reviewing.waiting(self.reader())[-1]
        work = reviewing.accept if accept else reviewing.reject
        [settled] = await work([item], self.by(""))
        return settled

    def in_order(self) -> bool:
        """Whether everything that is kept twice agrees."""
        self.library.settle()
        return (
            self.wiki.is_clean()
            and self.wiki.ledger_matches_replay()
            and self.index.verify(self.library.entries()) == []
            and not (self.wiki.folder / ".git" / "incoming").exists()
        )
