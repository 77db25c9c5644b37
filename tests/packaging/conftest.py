"""Wheels built from this tree, and a place where they alone are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.package import ROOT, SERVER, Built, build

_WATCH = """\
import os
import sys

def watch(event, arguments, source={source!r}, own={own!r}, log={log!r}):
    if event in ("open", "os.listdir", "os.scandir") and arguments and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if path.startswith(source) and not path.startswith(own):
            with open(log, "a") as written:
                written.write(path + chr(10))

sys.addaudithook(watch)
"""
"""Notes whatever is read of the source tree, but for the packages that both environments share."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that holds the wheels, and the packages of the running one beside them."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "venv" / "bin"

    @property
    def read_from_source(self) -> set[str]:
        """What the commands here have read of the source tree so far."""
        log = self.folder / "read"
        return set(log.read_text("utf-8").splitlines()) if log.exists() else set()

    def run(self, *command: str, home: Path, environ: Mapping[str, str] | None = None) -> str:
        """What a script of the environment prints, from a new home and outside of the source tree."""
        home.mkdir(exist_ok=True)
        given = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **(environ or {})}
        done = subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=home, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(ROOT, tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(SERVER, tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="session")
def place(product: Built, server: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheels installed without network.

    The packages of the running environment come in by a line that adds their folder at the end of the path. The `.pth`
    files in that folder are not read then, so what this environment has installed to be edited in place stays out.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv")
    installer = _installer(folder / "venv" / "bin" / "python")
    subprocess.run([*installer, product.wheel, server.wheel], check=True, capture_output=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\nimport _watch\n", "utf-8")
    watch = _WATCH.format(source=f"{ROOT}{os.sep}", own=f"{sys.prefix}{os.sep}", log=str(folder / "read"))
    (site / "_watch.py").write_text(watch, "utf-8")
    return Installed(folder)


def _installer(python: Path) -> Sequence[str]:
    """The command that installs wheels for that Python; it is whichever made this environment."""
    try:
        import pip  # noqa: F401
    except ImportError:
        uv = shutil.which("uv")
        assert uv is not None, "neither pip nor uv is there: how was this environment made?"
        return [uv, "pip", "install", "--offline", "--no-deps", "--python", str(python)]
    pip_of_ours = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    return [*pip_of_ours, "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check"]
