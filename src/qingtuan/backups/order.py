"""What somebody wants backed up, and carrying that out, in whatever process owns the data folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qingtuan.backups.manifest import Wish
from qingtuan.clock import Clock
from qingtuan.home import Home

if TYPE_CHECKING:
    from qingtuan.backups.backup import Taken, Tell
    from qingtuan.backups.shelf import Kind


@asynccontextmanager
async def nobody_writes() -> AsyncIterator[None]:
    """For a data folder that this process owns without an instance."""
    yield


@dataclass(frozen=True, slots=True)
class Order:
    """A backup that is wanted."""

    folder: Path
    """Where it goes; an existing folder."""
    name: str | None = None
    """None: by time."""
    kind: Kind = "qingtuan"
    wish: Wish = field(default_factory=Wish)
    keep: int | None = None
    """How many of this kind and data folder stay there, this one included; None: all."""

    def as_json(self) -> dict[str, Any]:
        """For another process of the same owner."""
        wish = {"media": self.wish.media, "secrets": self.wish.secrets}
        return {"folder": str(self.folder), "name": self.name, "keep": self.keep, **wish}


def order_from_json(value: Mapping[str, Any]) -> Order:
    """The reverse. Raises `KeyError` or `TypeError` for anything else."""
    return Order(
        folder=Path(value["folder"]),
        name=None if value["name"] is None else Path(value["name"]).name,
        wish=Wish(media=bool(value["media"]), secrets=bool(value["secrets"])),
        keep=None if value["keep"] is None else int(value["keep"]),
    )


def report_of(taken: Taken, gone: Sequence[Path]) -> dict[str, Any]:
    """What became of an order, as JSON has it."""
    manifest = taken.manifest
    return {
        "path": str(taken.path),
        "size": taken.size,
        "events": manifest.events,
        "pages": manifest.pages,
        "files": len(manifest.members),
        "secrets": manifest.with_secrets,
        "passed_over": list(taken.passed_over),
        "removed": [str(path) for path in gone],
    }


@dataclass(frozen=True, slots=True)
class Keeper:
    """Makes backups of one data folder."""

    home: Home
    clock: Clock
    quiet: Callable[[], AbstractAsyncContextManager[None]] = nobody_writes
    """As `Plan.quiet`."""
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def idle(self) -> None:
        """Wait until none is being made."""
        async with self._busy:
            pass

    async def carry_out(self, order: Order, tell: Tell = lambda *_: None) -> tuple[Taken, list[Path]]:
        """The backup, and the older ones that were deleted for it. One at a time.

        Raises:
            StorageFailed: as `take`; or an older one could not be deleted, and the new one stands.
        """
        # Every start would pay for what hardly any needs.
        from qingtuan.backups.backup import Plan, take
        from qingtuan.backups.shelf import free_name, prune

        async with self._busy:
            by_time = free_name(order.folder, order.kind, self.clock.now())
            target = order.folder / order.name if order.name else by_time
            taken = await take(Plan(self.home, self.clock, target, order.wish, self.quiet, tell))
            gone: list[Path] = []
            if order.keep is not None:
                gone = await asyncio.to_thread(prune, order.folder, order.kind, order.keep, taken.manifest.origin)
            return taken, gone
