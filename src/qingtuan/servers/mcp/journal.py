"""What programs did, in the record: so the owner sees who read what, and what was left here.

program.called    {key, via, tool, arguments}: secrets covered, long values cut
program.answered  {key, tool, status, chars, count?, detail?, seconds}; caused by the call

Both are of the person for whom the key speaks, and stand in the space of its account, where nobody but they read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Reader
from qingtuan.ids import Ids, first_event_id
from qingtuan.language import Language
from qingtuan.messages import Origin
from qingtuan.servers.mcp.program import Program

_LONGEST_VALUE = 300
"""Characters of one argument that are kept."""
_MOST_ARGUMENTS = 12
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Journal:
    """Writes it down."""

    log: Log
    ids: Ids

    def called(
        self, program: Program, reader: Reader, tool: str, arguments: Mapping[str, Any], language: Language
    ) -> Event:
        """A call begins. Its turn is one of its own, for `qingtuan trace`."""
        place = Place(None, program.space, self.ids.turn(), reader.person)
        payload = {
            "key": program.name,
            "via": program.via,
            "tool": _kept(tool, language),
            "arguments": {
                _kept(name, language): _kept(value, language)
                for name, value in list(arguments.items())[:_MOST_ARGUMENTS]
            },
        }
        return self.log.append(Kind.PROGRAM_CALLED, place, payload, origin=Origin.AGENT)

    def answered(self, called: Event, status: str, **facts: Any) -> None:
        """It ended: `ok`, `failed`, `refused`, `broken`, `stopped`. `facts`: as above, without those that are None."""
        seconds = (self.log.clock.now() - called.time).total_seconds()
        payload = {
            "key": called.payload["key"],
            "tool": called.payload["tool"],
            "status": status,
            **{name: value for name, value in facts.items() if value is not None},
            "seconds": round(seconds, 3),
        }
        self.log.append(Kind.PROGRAM_ANSWERED, called.place, payload, cause=called.id)

    def lately(self, program: Program, tool: str) -> int:
        """How often a program called a tool within a day, whatever came of it."""
        first = first_event_id(self.log.clock.now() - _DAY)
        # From where the day begins: else each call would be counted among all that ever were.
        row = self.log.database.row(
            "SELECT count(*) AS count FROM events WHERE kind = ? AND seq >="
            " (SELECT seq FROM events WHERE id >= ? ORDER BY id LIMIT 1)"
            " AND space = ? AND json_extract(payload, '$.tool') = ?",
            (Kind.PROGRAM_CALLED, first, str(program.space), tool),
        )
        return int(row["count"]) if row else 0


def _kept(value: object, language: Language) -> str:
    """A value as it may be kept: its secrets covered before it is cut, or half of one would stay."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    masked = mask(text[: 20 * _LONGEST_VALUE], language=language).text
    return masked if len(masked) <= _LONGEST_VALUE else f"{masked[:_LONGEST_VALUE]}…"
