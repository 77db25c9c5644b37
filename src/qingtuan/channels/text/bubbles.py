"""How an answer becomes messages, as people write in a chat: a short one in a few bubbles, any other in one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from qingtuan.channels.text.cutting import Measure, fits
from qingtuan.channels.text.model import Block, joined
from qingtuan.messages import Outbound

SHORT = 600
"""Characters of an answer that is still chat. A longer one is read, not skimmed: it stays together."""


def bubbled(blocks: Sequence[Block], message: Outbound, most: int, measure: Measure) -> list[list[Block]]:
    """The blocks of a message by bubbles, `most` at most; one group where it is no chat.

    A question is one piece, for what is agreed to must be seen as a whole; and so is what code says.
    """
    chat = (
        message.kind == "reply"
        and most > 1
        and sum(len(joined(block.runs)) for block in blocks) <= SHORT
        and not any(block.kind in ("heading", "rule") for block in blocks)
        and fits(blocks, measure)
    )
    if not chat:
        return [list(blocks)]
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and _belongs(groups[-1][-1], block):
            groups[-1].append(block)
        else:
            groups.append([block])
    while len(groups) > most:
        at = min(range(len(groups) - 1), key=lambda at: _length(groups[at]) + _length(groups[at + 1]))
        groups[at : at + 2] = [[*groups[at], *groups[at + 1]]]
    return groups


def _belongs(before: Block, block: Block) -> bool:
    """Whether a block is not to be parted from the one before it: a list from the line that announces it."""
    return not block.apart or (block.kind != "text" and joined(before.runs).rstrip().endswith((":", "：")))


def _length(group: Sequence[Block]) -> int:
    return sum(len(joined(block.runs)) for block in group)
