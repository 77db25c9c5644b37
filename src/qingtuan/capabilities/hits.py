"""Pages of what a query found. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from qingtuan.capabilities.ledger import Held
from qingtuan.capabilities.values import Hit, Page
from qingtuan.errors import UsageWrong
from qingtuan.language import Words

MAX_PAGE = 100


def page_of(found: Sequence[Held], limit: int, cursor: str | None) -> Page:
    """One page of all hits, `limit` of them or the rest, from where the last page ended.

    Raises:
        UsageWrong: a cursor that no page gave.
    """
    start = _start_of(cursor)
    after = start + min(max(limit, 1), MAX_PAGE)
    hits = tuple(map(_hit, found[start:after]))
    return Page(hits, len(found), str(after) if after < len(found) else None)


def _start_of(cursor: str | None) -> int:
    if not cursor:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise UsageWrong(Words("没有这一页。", "There is no such page."))
    return int(cursor)


def _hit(held: Held) -> Hit:
    made = held.definition
    return Hit(
        name=held.name,
        description=made.description,
        parameters=made.parameters,
        tags=made.tags,
        examples=made.examples,
        hosts=made.hosts,
        kind=made.kind,
        version=held.version.number,
        broken=held.broken,
    )
