"""How servers are doing, for commands, the doctor and pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.language import Words
from qingtuan.mcp_client.config import Kind
from qingtuan.mcp_client.definition import LeftOut
from qingtuan.mcp_client.pins import Change

State = Literal["idle", "starting", "up", "down", "off"]
"""Not started yet, or ended in peace; being started; connected; failed; switched off in `mcp.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One server as it is now. Every text of a server in it is bounded and harmless."""

    name: str
    kind: Kind | None
    """None of one that is switched off."""
    state: State
    shown: str = ""
    """Its command line or address, without secrets."""
    tools: int = 0
    """How many are offered."""
    withheld: tuple[Change, ...] = ()
    """Tools that wait for the owner's approval."""
    code: str = ""
    """What the owner's word must name: it stands for exactly what waits now, the first `MAX_AT_ONCE` changes of it."""
    left_out: tuple[LeftOut, ...] = ()
    """Tools that cannot be used."""
    moved: str = ""
    """The command line or address that was approved, if the one in the file is another: nothing is started then."""
    error: Words | None = None
    """Why it failed last; None since it works."""
    next_try: datetime | None = None
    """Before that it is not tried again."""
    server: str = ""
    """Its own name and version."""
