"""A restore that was cut off: finished by whatever command comes next, before it reads anything."""

from __future__ import annotations

from qingtuan.backups.swap import Swap, is_pending, pending
from qingtuan.clock import Clock
from qingtuan.home import Home, HomeLock

_WAIT_SECONDS = 30.0
"""How long a process that is at it is waited for: it moves names, and starts again with them."""
_POLL_SECONDS = 0.1


async def finished(home: Home, clock: Clock) -> Swap | None:
    """Finish what was begun in a data folder; what that was.

    Raises:
        HomeInUse: another process has been at it for too long.
        StorageFailed: it cannot be finished, for a reason that the sentence gives.
    """
    lock = HomeLock(home)
    deadline = clock.monotonic() + _WAIT_SECONDS
    while is_pending(home):
        if lock.take("qingtuan restore"):
            break
        if clock.monotonic() >= deadline:
            await lock.acquire("qingtuan restore", clock, wait=0)  # says who has it
            break
        await clock.sleep(_POLL_SECONDS)
    else:
        return None
    try:
        if (begun := pending(home)) is not None:
            begun.place()
            begun.finish()
        return begun
    finally:
        lock.release()
