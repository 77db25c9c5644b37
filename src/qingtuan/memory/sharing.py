"""Sharing room out between those who want it: nobody is crowded out by somebody who has more to say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qingtuan.memory.known import Known


@dataclass(frozen=True, slots=True)
class Line:
    """An entry and its line."""

    known: Known
    text: str

    @property
    def size(self) -> int:
        """Characters, with the line end."""
        return len(self.text) + 1


def share_out(shares: Sequence[Sequence[Line]], room: int, *, ends: bool) -> list[list[Line]]:
    """Of each share the lines that fit, whole and in their order.

    Each is sure of an equal part of the room. What one does not need is the others'; what whole lines leave of it goes
    to the first that can use it. With `ends` a share ends at its first line that does not fit.
    """
    fitting = [_fit(share, part, ends=ends) for share, part in zip(shares, _parts(shares, room), strict=True)]
    spare = room - sum(line.size for share in fitting for line in share)
    for place, share in enumerate(shares):
        before = sum(line.size for line in fitting[place])
        fitting[place] = _fit(share, before + max(0, spare), ends=ends)
        spare -= sum(line.size for line in fitting[place]) - before
    return fitting


def _parts(shares: Sequence[Sequence[Line]], room: int) -> list[int]:
    """How much of the room is each share's: what it needs, or an equal part of what the more modest leave."""
    needs = [sum(line.size for line in share) for share in shares]
    parts = [0] * len(shares)
    left = max(0, room)
    for number, place in enumerate(sorted(range(len(shares)), key=lambda at: needs[at])):
        parts[place] = min(needs[place], left // (len(shares) - number))
        left -= parts[place]
    return parts


def _fit(lines: Sequence[Line], room: int, *, ends: bool) -> list[Line]:
    fitting: list[Line] = []
    for line in lines:
        if line.size <= room:
            fitting.append(line)
            room -= line.size
        elif ends:
            break
    return fitting
