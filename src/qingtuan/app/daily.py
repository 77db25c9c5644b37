"""A backup a day, while an instance stays.

On by default: what people lose is what they never thought of saving, and a day's talk is a few kilobytes. It stands on
the same disk, so it is no help against losing that, but against everything that happens to data on it; media, which
never change and are most of the bytes, are left to backups that go elsewhere.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from qingtuan.backups.manifest import Wish
from qingtuan.backups.order import Keeper, Order
from qingtuan.clock import Clock
from qingtuan.errors import BackupUnusable, QingtuanError, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.settings.backups import Backups

_EVERY = timedelta(days=1)
_FIRST_LOOK, _NEXT_LOOK, _AFTER_FAILURE = 60.0, 600.0, 6 * 3600.0
"""Seconds: short talks shall have one, too; and a full disk does not change by the minute."""


@dataclass(frozen=True, slots=True)
class Daily:
    """Makes one whenever a day has passed and something has happened since the last."""

    keeper: Keeper
    log: Log
    wanted: Backups
    clock: Clock

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        wait = _FIRST_LOOK
        while self.wanted.daily:
            await self.clock.sleep(wait)
            wait = _NEXT_LOOK
            try:
                if self._is_due():
                    await self._make()
            except QingtuanError as error:
                wait = _AFTER_FAILURE
                with suppress(StorageFailed):  # the doctor says that there is none
                    self.log.append(Kind.CHORE_FAILED, Place(), {"chore": "backup", "detail": str(error)})

    async def _make(self) -> None:
        order = Order(self.keeper.home.backups, kind="daily", wish=Wish(media=False), keep=self.wanted.keep)
        await self.keeper.carry_out(order)

    def _is_due(self) -> bool:
        from qingtuan.backups.archive import read_manifest  # long after the start
        from qingtuan.backups.shelf import kept

        newest = self.log.database.row("SELECT max(time) AS time FROM events")
        if newest is None or newest["time"] is None:
            return False
        for path in reversed(kept(self.keeper.home.backups, "daily")):
            try:
                made = read_manifest(path).made
            except (BackupUnusable, StorageFailed):
                continue
            # The order of the two: one that was made within this very millisecond may lack the newest.
            return self.clock.now() - made >= _EVERY and newest["time"] >= made.timestamp() * 1000
        return True
