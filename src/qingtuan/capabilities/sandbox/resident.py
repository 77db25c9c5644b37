"""How much memory a worker and everything below it holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LINUX = sys.platform.startswith("linux")
EVERY = 0.02 if _LINUX else 0.25
"""Seconds between two looks. Elsewhere than on Linux each look is a process (`ps`)."""


def resident(pid: int) -> int:
    """Bytes in memory of a process and those that it started; 0 if it is gone."""
    return _resident_by_proc(pid) if _LINUX else _resident_by_ps(pid)


def _resident_by_proc(pid: int) -> int:
    total = 0
    for one in _tree(pid):
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_bytes().split()[1])
    return total * _PAGE


def _tree(pid: int) -> Iterator[int]:
    """The process, and those below it: a thread of its own may have started each."""
    yield pid
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, ValueError):
                for child in (thread / "children").read_bytes().split():
                    yield from _tree(int(child))


def _resident_by_ps(group: int) -> int:
    try:
        shown = subprocess.run(
            ["/bin/ps", "-A", "-o", "pgid=,rss="], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    rows = [line.split() for line in shown.stdout.splitlines()]
    return sum(int(size) for number, size in rows if number == str(group)) * 1024


_PAGE = os.sysconf("SC_PAGE_SIZE")
