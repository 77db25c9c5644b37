"""The context of a call to a tool, outside any turn."""

from __future__ import annotations

from typing import Any

from qingtuan.clock import SystemClock
from qingtuan.identity.scopes import Reader, Role
from qingtuan.messages import Space
from qingtuan.tools.tool import ToolContext

OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))


def context(**changes: Any) -> ToolContext:
    """One of the owner's, in private, in Chinese."""
    usual: dict[str, Any] = {
        "reader": OWNER, "session": "s_1", "turn": "turn_1", "call": "evt_1", "words": "", "material": (),
        "now": SystemClock().now(), "language": "zh",
    }  # fmt: skip
    return ToolContext(**{**usual, **changes})
