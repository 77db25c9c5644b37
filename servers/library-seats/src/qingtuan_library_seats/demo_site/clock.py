"""The demo library's time."""

from __future__ import annotations

from datetime import datetime, timedelta


class Clock:
    """The library's time: that of the machine, or shifted so that it began at a given moment."""

    def __init__(self, began: datetime | None = None) -> None:
        """`began` is local time without a zone; None leaves the machine's."""
        self._first = timedelta() if began is None else began - datetime.now()
        self._shift = self._first

    def now(self) -> datetime:
        """Local time without a zone: a library stands in one place."""
        return datetime.now() + self._shift

    def set(self, moment: datetime) -> None:
        """It is this moment now, and time goes on from there."""
        self._shift = moment - datetime.now()

    def reset(self) -> None:
        """As if it had never been set."""
        self._shift = self._first
