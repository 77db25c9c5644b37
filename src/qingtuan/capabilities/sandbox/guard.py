"""Ends the workers when we no longer can: after a `kill -9` of our own process."""

from __future__ import annotations

import subprocess
from contextlib import suppress

# A shell that is told of each worker, and ends those left when the pipe from us breaks. It works on every system that
# has a shell, and also where a worker is too busy to notice that nobody listens any more.
_SCRIPT = """
all=
while read -r what pid; do
  if [ "$what" = + ]; then all="$all $pid"; continue; fi
  left=
  for one in $all; do [ "$one" = "$pid" ] || left="$left $one"; done
  all=$left
done
for one in $all; do kill -9 "-$one"; done 2>/dev/null
"""


class Guard:
    """One small process beside all workers, started with the first of them. Used by one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, pid: int) -> None:
        """Guard the group of this process."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={},
                cwd="/",
                start_new_session=True,
            )
        self._tell(f"+ {pid}\n")

    def remove(self, pid: int) -> None:
        """It is gone: its number may soon be another's."""
        self._tell(f"- {pid}\n")

    def close(self) -> None:
        """End it, when no worker is left."""
        if self._process is not None:
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()
            self._process.wait()
            self._process = None

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(line.encode())
