"""One call of a program, as its tool sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from qingtuan.events.log import Event
from qingtuan.identity.scopes import Reader
from qingtuan.language import Language
from qingtuan.servers.mcp.program import Program
from qingtuan.tools.tool import ToolContext

Report = Callable[[float, str], None]
"""How far a call has come, as a number that grows, and a line about it. Nothing depends on it."""


@dataclass(frozen=True, slots=True)
class Call:
    """All of it."""

    program: Program
    reader: Reader
    event: Event
    """Its `program.called`: what it writes names it as the cause."""
    now: datetime
    """In the zone of its person."""
    language: Language
    report: Report

    @property
    def turn(self) -> str:
        return self.event.place.turn or ""

    def context(self) -> ToolContext:
        """The same for a tool of the chat. Nobody said anything: no word of a program is a person's."""
        return ToolContext(
            reader=self.reader,
            session="",
            turn=self.turn,
            call=self.event.id,
            words="",
            material=(),
            now=self.now,
            language=self.language,
        )
