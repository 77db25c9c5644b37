"""What the MCP server needs of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from qingtuan.confirmations.inquiry import Asks
from qingtuan.memory.memory import Memory
from qingtuan.memory.notes import Notes
from qingtuan.memory.recollection import Recollection
from qingtuan.turn.kit import Kit


@dataclass(frozen=True, slots=True)
class Ports:
    """All of it."""

    kit: Kit
    memory: Memory
    notes: Notes
    recollection: Recollection
    asks: Asks


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gives back."""

    text: str
    """For a model that reads no JSON."""
    data: dict[str, Any] = field(default_factory=dict)
    """The same, by the tool's own schema; empty where the call failed."""
    failed: bool = False
