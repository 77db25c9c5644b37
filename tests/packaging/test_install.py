"""`scripts/install.sh`: once, one at a time, whole or not at all, and nothing when nothing changed.

It is the real script, in a folder whose name has a space, with a uv and a Python of ours that note what they are asked.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.package import ROOT

_UV = """#!/bin/sh
case "$1" in
--version) [ ! -f "$CONTROL/no-uv" ]; exit ;;
venv) mkdir -p .venv/bin; cp "$CONTROL/python" .venv/bin/python; exit ;;
esac
printf 'uv %s\\n' "$*" >>"$CONTROL/calls"
[ ! -p "$CONTROL/hold" ] || cat "$CONTROL/hold"
. "$CONTROL/verdict"
"""
_PYTHON = """#!/bin/sh
case "$1 $2 $3" in
-c*) exec "{real}" "$@" ;;
"-m venv "*) mkdir -p "$3/bin"; cp "$CONTROL/python" "$3/bin/python"; exit ;;
"-m ensurepip " | "-m pip --version") exit ;;
esac
printf 'python %s\\n' "$*" >>"$CONTROL/calls"
. "$CONTROL/verdict"
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A clone of the project and a machine that it is installed on."""

    clone: Path
    control: Path

    @property
    def venv(self) -> Path:
        return self.clone / ".venv"

    @property
    def calls(self) -> list[str]:
        """What was installed so far, in order: the last word of each call, and by what."""
        path = self.control / "calls"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [f"{line.split()[0]} {line.split()[-1]}" for line in lines]

    def verdict(self, shell: str) -> None:
        """What installing comes to; `$*` is what is installed."""
        (self.control / "verdict").write_text(shell, "utf-8")

    def begin(self, kind: str = "run") -> subprocess.Popen[str]:
        path = f"{self.control}{os.pathsep}{os.environ['PATH']}"
        return subprocess.Popen(
            ["sh", str(self.clone / "scripts" / "install.sh"), kind],
            cwd=self.control,
            env={**os.environ, "PATH": path, "CONTROL": str(self.control)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def install(self, kind: str = "run") -> tuple[int, str]:
        """The status and what it said to the person."""
        running = self.begin(kind)
        said, told = running.communicate(timeout=30)
        assert said == ""
        return running.returncode, told


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    clone, control = tmp_path / "小青团 of mine", tmp_path / "control"
    control.mkdir()
    (clone / "servers" / "seats").mkdir(parents=True)
    (clone / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "install.sh", clone / "scripts")
    for name in ("pyproject.toml", *LOCKS, "servers/seats/pyproject.toml"):
        (clone / name).write_text("1\n", "utf-8")
    for name, script in (("uv", _UV), ("python", _PYTHON.format(real=sys.executable))):
        (control / name).write_text(script, "utf-8")
        (control / name).chmod(0o755)
    shutil.copy(control / "python", control / "python3")
    made = Machine(clone, control)
    made.verdict("exit 0")
    yield made
    (control / "hold").unlink(missing_ok=True)


LOCKS = [f"requirements{extra}.lock" for extra in ("", "-documents", "-a2a", "-local", "-sandbox")]
ALL = [*LOCKS, ".", "servers/seats"]


def test_everything_is_installed_once(machine: Machine) -> None:
    status, told = machine.install()
    assert (status, machine.calls) == (0, [f"uv {name}" for name in ALL])
    assert "Installing" in told
    assert machine.install() == (0, "")
    assert len(machine.calls) == len(ALL)


def test_pip_does_it_where_there_is_no_uv(machine: Machine) -> None:
    (machine.control / "no-uv").touch()
    assert machine.install()[0] == 0
    assert machine.calls == [f"python {name}" for name in ALL]


def test_pip_does_it_where_uv_cannot(machine: Machine) -> None:
    machine.verdict('case "$0" in */uv) exit 1 ;; esac')
    status, told = machine.install()
    assert status == 0
    assert "trying pip" in told
    assert machine.calls == [f"uv {ALL[0]}", *(f"python {name}" for name in ALL)]


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements.lock", "servers/seats/pyproject.toml"])
def test_what_changed_is_installed_again(changed: str, machine: Machine) -> None:
    machine.install()
    (machine.clone / changed).write_text("2\n", "utf-8")
    assert machine.install()[0] == 0
    assert len(machine.calls) == 2 * len(ALL)


def test_tools_for_tests_bring_what_the_product_needs(machine: Machine) -> None:
    (machine.clone / "requirements-dev.lock").write_text("1\n", "utf-8")
    machine.install("dev")
    before = machine.calls
    assert before[0] == "uv requirements-dev.lock"
    assert machine.install("run") == (0, "")
    assert machine.calls == before


def test_a_clone_that_was_moved_gets_a_new_environment(machine: Machine) -> None:
    machine.install()
    (machine.venv / "old").touch()
    moved = Machine(machine.clone.with_name("moved"), machine.control)
    machine.clone.rename(moved.clone)
    assert moved.install()[0] == 0
    assert not (moved.venv / "old").exists()


def test_what_failed_is_tried_again_on_what_is_there(machine: Machine) -> None:
    machine.verdict("exit 1")
    status, told = machine.install()
    assert status == 1
    assert "Run this again" in told
    (machine.venv / "kept").touch()
    machine.verdict("exit 0")
    assert machine.install()[0] == 0
    assert (machine.venv / "kept").exists()


def test_without_the_embedded_model_all_else_works(machine: Machine) -> None:
    machine.verdict('case "$*" in *-local.lock) exit 1 ;; esac')
    status, told = machine.install()
    assert status == 0
    assert "The embedded model cannot be installed" in told
    assert machine.install() == (0, "")
    stamp = machine.venv / ".installed-run"
    stamp.write_text("another day", "utf-8")
    machine.verdict("exit 0")
    assert machine.install()[0] == 0
    assert not (machine.venv / ".without-model").exists()


def wait_for(condition: object, what: str) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_of_two_at_once_the_second_waits(machine: Machine) -> None:
    os.mkfifo(machine.control / "hold")
    first = machine.begin()
    wait_for(lambda: machine.calls, "the first began")
    second = machine.begin()
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    hold = machine.control / "hold"
    released = hold.rename(machine.control / "released")
    with released.open("w"):
        pass
    assert first.communicate(timeout=30)[0] == ""
    assert second.communicate(timeout=30) == ("", "")
    assert (first.returncode, second.returncode) == (0, 0)
    assert machine.calls == [f"uv {name}" for name in ALL]


def test_what_was_killed_is_made_anew(machine: Machine) -> None:
    os.mkfifo(machine.control / "hold")
    killed = machine.begin()
    wait_for(lambda: machine.calls, "it began")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=30)
    (machine.venv / "half").touch()
    (machine.control / "hold").unlink()
    assert machine.install()[0] == 0
    assert not (machine.venv / "half").exists()
    assert machine.install() == (0, "")
