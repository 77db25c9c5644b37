"""Where in a data folder a text still lies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from qingtuan.home import Home


def holding(home: Home, text: str) -> list[str]:
    """Every place that holds a text, in its bytes as they lie on the disk or in what git keeps packed. Backups are no
    part of it."""
    return sorted(set(_holding(home.path, text)))


def _holding(home: Path, text: str) -> Iterator[str]:
    needles = [text.encode(), text.encode("utf-16-le"), text.encode("unicode_escape")]
    for path in home.rglob("*"):
        name = str(path.relative_to(home))
        if name.startswith("backups/"):
            continue
        if text in name or (path.is_file() and any(needle in path.read_bytes() for needle in needles)):
            yield name
    for folder in home.rglob(".git*"):
        if (folder / "objects").is_dir():
            done = subprocess.run(
                ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
                env={"GIT_DIR": str(folder), "PATH": "/usr/bin:/bin:/usr/local/bin"},
                capture_output=True,
                check=True,
            )
            if text.encode() in done.stdout:
                yield f"{folder.relative_to(home)} (objects)"
