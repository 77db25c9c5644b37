"""How much a worker and everything below it holds: in memory, and on the disk in what its engine writes for it."""

from __future__ import annotations

import os
import re
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


def stored(folder: Path) -> int:
    """Bytes of the files below a folder, counted until they are more than `MOST_STORED`. The engine keeps what it made
    of TypeScript there, and whoever brings it ever more of that fills the disk."""
    total = count = 0
    folders = [folder]
    while folders and total <= MOST_STORED:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                count += 1
                if count > _MOST_FILES:
                    return MOST_STORED + 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    total += _size(entry)
    return total


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0  # it went meanwhile


def _resident_by_proc(pid: int) -> int:
    total = 0
    for one in _tree(pid):
        with suppress(OSError):
            status = Path(f"/proc/{one}/status").read_bytes()
            total += sum(int(kilobytes) for kilobytes in _HELD.findall(status))
    return total * 1024


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


MOST_STORED = 32 * 1024 * 1024
"""Bytes. An ordinary call leaves 300 KB."""
_MOST_FILES = 500
_HELD = re.compile(rb"^Vm(?:RSS|Swap):\s+(\d+) kB$", re.MULTILINE)
"""What was swapped out to make room is held all the same."""
