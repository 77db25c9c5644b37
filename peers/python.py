"""Python packages of others, each set in an environment of its own: fetched when first needed, in locked versions."""

from __future__ import annotations

import hashlib
import shutil
import sys
import venv
from pathlib import Path

from peers.node import FOLDER, fetch


def installed(lock: Path, *sources: str, folder: Path = FOLDER) -> Path:
    """The Python of an environment with what a lock file names, made if it is not there as the file wants it.
    `sources` are packages that exist as source alone.

    Raises:
        Skipped: they cannot be had here; the message says why.
    """
    place = folder / lock.stem
    python, stamp = place / "venv" / "bin" / "python", place / "stamp"
    wanted = hashlib.sha256(lock.read_bytes() + str(sys.version_info[:2]).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        venv.create(place / "venv", with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        built = [option for name in sources for option in ("--no-binary", name)]
        fetch([*command, "--only-binary", ":all:", *built, "--require-hashes", "-r", str(lock)], place, lock.stem)
        stamp.write_text(wanted, "utf-8")
    return python
