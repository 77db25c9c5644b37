"""After a crash: finishing what was intended, and telling it from what a person did meanwhile."""

from __future__ import annotations

from itertools import groupby

from qingtuan.errors import PageChanged, PageUnreadable
from qingtuan.events.log import Place
from qingtuan.memory.wiki.commits import Commits
from qingtuan.memory.wiki.disk import Disk
from qingtuan.memory.wiki.ledger import Ledger, Write
from qingtuan.memory.wiki.merging import merge


async def finish_pages(disk: Disk, ledger: Ledger, commits: Commits) -> list[Write]:
    """Bring every open write onto its page if it did not get there; the result are those that now only lack a commit.

    A page with the hash from before a write was not reached by it: the write is done now. One with the hash from
    after it is done. Any other was changed by hand: the person's bytes stay, and the write counts as done if its
    lines stand in them.

    Raises:
        StorageFailed: the disk refuses; a later start goes on from there.
    """
    done: list[Write] = []
    for _, chain in groupby(sorted(ledger.open(), key=lambda write: write.path), key=lambda write: write.path):
        done += await _finish_page(list(chain), disk, commits)
    return [write for write in ledger.open() if write in done]


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
