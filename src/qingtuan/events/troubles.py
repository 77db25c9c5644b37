"""What somebody is told once, and not again while it lasts: pins that do not fit, a card that cannot be read.

trouble.told  {key}    trouble.over  {key}
"""

from __future__ import annotations

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place


class Troubles:
    """Knows from the events what was told and is not over. Each trouble has a key, the same for as long as it lasts."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def begins(self, key: str, place: Place, *, cause: str | None = None) -> bool:
        """There is this trouble: whether it is to be told now. Asked once more, it is known."""
        if self._lasts(key):
            return False
        self._log.append(Kind.TROUBLE_TOLD, place, {"key": key}, cause=cause)
        return True

    def ends(self, key: str, place: Place, *, cause: str | None = None) -> bool:
        """There is no such trouble any more. Whether there was one."""
        if not self._lasts(key):
            return False
        self._log.append(Kind.TROUBLE_OVER, place, {"key": key}, cause=cause)
        return True

    def _lasts(self, key: str) -> bool:
        row = self._log.database.row(
            "SELECT kind FROM events WHERE kind IN (?, ?) AND json_extract(payload, '$.key') = ?"
            " ORDER BY seq DESC LIMIT 1",
            (Kind.TROUBLE_TOLD, Kind.TROUBLE_OVER, key),
        )
        return row is not None and row["kind"] == Kind.TROUBLE_TOLD
