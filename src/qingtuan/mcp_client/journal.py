"""The log file of one server: what it writes on standard error and what it says for logs. Bounded, without secrets."""

from __future__ import annotations

import os
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.tools.plain import line, without

MAX_BYTES = 512 * 1024
"""Of a file; the one before it is kept as `.old`."""
_MAX_LINE = 2_000
_BUDGET = 128 * 1024
"""Bytes that are written in a minute; a chatty server costs no more of the disk."""
_WINDOW = 60.0
_LEFT_OUT = "[more than can be kept was written here]"


class Journal:
    """Appends lines. Never raises: a disk that refuses a log refuses nothing else."""

    def __init__(self, path: Path, clock: Clock, secrets: tuple[str, ...] = ()) -> None:
        self.path = path
        self._clock = clock
        self._secrets = secrets
        self._began = clock.monotonic()
        self._spent = 0
        self._last = ""

    @property
    def last(self) -> str:
        """The last line that was written, for saying why a server ended."""
        return self._last

    def forget(self) -> None:
        """Begin anew with a new process: nothing of the one before is its last line."""
        self._last = ""

    def write(self, text: str) -> None:
        """Add one line."""
        now = self._clock.monotonic()
        if now - self._began >= _WINDOW:
            self._began, self._spent = now, 0
        if self._spent > _BUDGET:
            return
        said = line(without(text[: 2 * _MAX_LINE], self._secrets), _MAX_LINE)
        if not said:
            return
        self._last = said
        self._spent += len(said)
        self._append(f"{self._clock.now():%Y-%m-%dT%H:%M:%SZ} {said if self._spent <= _BUDGET else _LEFT_OUT}\n")

    def _append(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(self.path, flags, 0o600)
            try:
                os.write(handle, data)
                full = os.fstat(handle).st_size > MAX_BYTES
            finally:
                os.close(handle)
            if full:
                self.path.replace(self.path.with_suffix(".old"))
        except OSError:
            return
