"""Keeping the wiki and its copy elsewhere in step while an instance runs."""

from __future__ import annotations

from contextlib import suppress

from qingtuan.app.behalf import by_owner
from qingtuan.errors import QingtuanError, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.memory.syncing import Syncing
from qingtuan.turn.kit import Kit


class InStep:
    """Pulls and pushes every so many minutes. What goes wrong is noted once, for as long as it is the same."""

    def __init__(self, kit: Kit, syncing: Syncing, minutes: int) -> None:
        self._kit = kit
        self._syncing = syncing
        self._seconds = minutes * 60.0
        self._trouble = ""

    async def run(self) -> None:
        """For ever; not at all if the minutes are 0."""
        while self._seconds:
            await self._kit.record.clock.sleep(self._seconds)
            await self.once()

    async def once(self) -> None:
        """Pull, and then push, if there is anything to be done."""
        try:
            if await self._syncing.due():
                by = by_owner(self._kit, "wiki sync")
                pulled = await self._syncing.pull(by)
                if pulled.in_step:
                    await self._syncing.push(by)
        except QingtuanError as error:
            if str(error) != self._trouble:
                with suppress(StorageFailed):
                    self._kit.record.log.append(Kind.CHORE_FAILED, Place(), {"detail": f"wiki sync: {error}"})
            self._trouble = str(error)
        else:
            self._trouble = ""
