"""Three-way merge of pages by lines: what a write changed, put onto or taken out of a page that changed since.

Unlike diff3 it needs no unchanged line between two changes. Beliefs are single lines in a list, so the entry that
was added next to ours is the common case, and no conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

_Lines = list[bytes]


def merge(base: bytes, theirs: bytes, ours: bytes) -> bytes | None:
    """`ours` with the change from `base` to `theirs` made to it, or None if the two contradict each other.

    A part of the change that stands in `ours` already is not made twice.
    """
    if base == ours:
        return theirs
    if theirs in (base, ours):
        return ours
    old, new, current = (text.splitlines(keepends=True) for text in (base, theirs, ours))
    place = _places(old, current)
    pieces: _Lines = []
    done = 0
    for first, last, start, end in _changes(old, new):
        spot = _spot(old[first:last], new[start:end], current, _between(place, first, last))
        if spot is None or spot[0] < done:
            return None
        pieces += current[done : spot[0]]
        pieces += spot[2]
        done = spot[1]
    return _joined(pieces + current[done:])


def _changes(old: _Lines, new: _Lines) -> list[tuple[int, int, int, int]]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(first, last, start, end) for tag, first, last, start, end in codes if tag != "equal"]


def _places(old: _Lines, current: _Lines) -> list[int | None]:
    """Where each line of `old` stands in `current`; with one entry more at each end for the borders."""
    place: list[int | None] = [None] * len(old)
    for first, start, size in SequenceMatcher(None, old, current, autojunk=False).get_matching_blocks():
        for offset in range(size):
            place[first + offset] = start + offset
    return [-1, *place, len(current)]


def _between(place: Sequence[int | None], first: int, last: int) -> tuple[int | None, int | None, list[int | None]]:
    """For the lines `first` to `last` (exclusive) of the base: right behind the line before, the line after, and
    where each of them stands now. None where that line is gone."""
    before, after = place[first], place[last + 1]
    return (None if before is None else before + 1), after, list(place[first + 1 : last + 1])


def _spot(
    old: _Lines, new: _Lines, current: _Lines, where: tuple[int | None, int | None, list[int | None]]
) -> tuple[int, int, _Lines] | None:
    """Which lines of `current` the change replaces, and by what; None if it has no place there."""
    left, right, now = where
    if left is not None and right is not None:
        region = current[left:right]
        if _holds(region, new) and not (old and _holds(region, old)):
            return left, right, region
    first = now[0] if now else None
    if old and first is not None and now == list(range(first, first + len(old))):
        return first, first + len(old), new
    if not old:
        spot = left if left is not None else right
        return None if spot is None else (spot, spot, new)
    return None


def _holds(region: _Lines, lines: _Lines) -> bool:
    """Whether `lines` stand in `region` as one block; lines that are none stand where nothing stands."""
    if not lines:
        return not region
    return any(region[at : at + len(lines)] == lines for at in range(len(region) - len(lines) + 1))


def _joined(lines: _Lines) -> bytes:
    # Only a last line may lack its end; one that came to stand before others gets the end that its page uses.
    ending = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    whole = [line if line.endswith((b"\n", b"\r")) else line + ending for line in lines[:-1]]
    return b"".join([*whole, *lines[-1:]])
