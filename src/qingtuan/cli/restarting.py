"""A restore beside a running `qingtuan serve`: it is asked, makes room, and goes on with the other state.

The process stays and opens an instance anew within itself. Were it to run its program again (exec), its claim on the
data folder would end in between, and a terminal that waits for the folder would become its owner; and it would have to
guess how it was started.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from qingtuan.backups.swap import NEW, Swap, begin
from qingtuan.backups.working import is_working
from qingtuan.channels.cli.link import Report, Result
from qingtuan.errors import QingtuanError, StorageFailed, UsageWrong
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.storage.files import read_regular, write_atomic

SERVES = "qingtuan serve"
"""What others read of who holds the folder; the only one that can be asked to put another state in its place."""

_OUTCOME = "outcome.json"
"""In the folder of the work: how it ended, for whoever asked."""
_LONGEST = 64 * 1024


class Requests:
    """Where a running instance is asked to make room."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._wanted: asyncio.Future[Wanted] = asyncio.get_running_loop().create_future()

    async def run(self, arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
        """The job: the state unpacked in this folder of `backups/` shall take the place of the present one."""
        try:
            name, made = str(arguments["work"]), datetime.fromisoformat(arguments["made"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageWrong(_UNCLEAR) from error
        work = self._home.backups / name
        if not is_working(self._home.backups, name) or not (work / NEW).is_dir() or self._wanted.done():
            raise UsageWrong(_UNCLEAR)
        self._wanted.set_result(Wanted(self._home, work, made))
        yield Result(True)

    async def wanted(self) -> Wanted:
        """Wait until somebody asks."""
        return await asyncio.shield(self._wanted)


class Wanted:
    """A restore that a running instance was asked for."""

    def __init__(self, home: Home, work: Path, made: datetime) -> None:
        self._home = home
        self._work = work
        self._made = made

    def place(self, now: datetime) -> Swap | None:
        """Put the other state in its place; None if that cannot be, and whoever asked was told why. The instance has
        ended, and this process has the claim."""
        try:
            swap = begin(self._home, self._work / NEW, made=self._made, now=now)
            swap.place()
        except StorageFailed as error:
            self.failed(error)
            return None
        return swap

    def done(self, swap: Swap) -> None:
        """The instance works with it. Raises `StorageFailed`."""
        swap.finish()
        self._tell({"aside": str(swap.aside)})

    def failed(self, error: QingtuanError) -> None:
        """All is as it was, because of this error."""
        self._tell({"zh": error.words.zh, "en": error.words.en, "detail": error.detail})

    def _tell(self, outcome: Mapping[str, str]) -> None:
        if self._work.is_dir():  # else whoever asked has gone
            write_atomic(self._work / _OUTCOME, json.dumps(outcome).encode())


def outcome_of(work: Path) -> Path | None:
    """Where the state from before is, once the other one is in its place; None as long as nobody knows.

    Raises:
        StorageFailed: it did not come to that.
    """
    data = read_regular(work / _OUTCOME, limit=_LONGEST)
    if data is None:
        return None
    plain = json.loads(data)
    if "aside" not in plain:
        raise StorageFailed(Words(plain["zh"], plain["en"]), detail=plain["detail"])
    return Path(plain["aside"])


_UNCLEAR = Words("看不懂要恢复什么。", "It is not clear what is to be restored.")
