"""After a crash: finishing what was intended, and telling it from what a person did meanwhile."""

from __future__ import annotations

from itertools import groupby

from qingtuan.errors import PageUnreadable
from qingtuan.events.log import Place
from qingtuan.memory.wiki.commits import Commits, by_turn
from qingtuan.memory.wiki.disk import Disk, PageChanged
from qingtuan.memory.wiki.ledger import Ledger, Write
from qingtuan.memory.wiki.merging import merge


async def finish_writes(disk: Disk, ledger: Ledger, commits: Commits) -> None:
    """Bring every open write to its end: onto the page if it did not get there, and into a commit.

    A page with the hash from before a write was not reached by it: the write is done now. One with the hash from
    after it only lacks its commit. Any other was changed by hand: the person's bytes stay, and the write counts as
    done if its lines stand in them, else it stays open, for `page.edited` to mark it as overtaken.

    Raises:
        StorageFailed: the disk or git refuses; a later start goes on from there.
    """
    reached: set[tuple[str, str]] = set()
    writes = sorted(ledger.open(), key=lambda write: write.path)
    for _, group in groupby(writes, key=lambda write: write.path):
        chain = list(group)
        done = await _finish_page(chain, disk, commits)
        reached.update((write.event, write.path) for write in done)
    for run in by_turn(write for write in ledger.open() if (write.event, write.path) in reached):
        await commits.of_writes(run, again=True)


async def _finish_page(chain: list[Write], disk: Disk, commits: Commits) -> list[Write]:
    """The writes of one page, in order, that stand on it in the end."""
    path, last = chain[0].path, chain[-1]
    try:
        found = disk.read(path)
    except PageUnreadable:
        return chain  # left alone; what was to be written is kept in the history
    now = found[0].hash if found else None
    if now == last.after:
        return chain
    if now in (write.before for write in chain):
        data = None if last.after is None else await commits.bytes_of(last.after, path, near=None)
        if data is None and last.after is not None:
            commits.drop([write.event for write in chain], Place(), "erased")
            return []
        try:
            disk.place(path, data, now)
        except PageChanged:
            return await _finish_page(chain, disk, commits)
        return chain
    if found is None:
        return []
    held = [await _holds(found[0].data, write, commits) for write in chain]
    return chain if all(held) else []


async def _holds(page: bytes, write: Write, commits: Commits) -> bool:
    """Whether the lines that a write changed stand on the page as it left them."""
    if write.after is None:
        return False
    after = await commits.bytes_of(write.after, write.path, near=None)
    if after is None:
        return False
    if write.before is None:
        lines = iter(page.splitlines())
        return all(line in lines for line in after.splitlines())  # in this order, with anything in between
    before = await commits.bytes_of(write.before, write.path, near=None)
    return before is not None and merge(before, after, page) == page
