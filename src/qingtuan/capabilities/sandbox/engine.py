"""Where the engine is, and the command that starts it with nothing in its hands (sandbox.md, Invocation)."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "run",
    "--quiet",
    "--no-prompt",
    "--no-remote",
    "--no-npm",
    "--no-config",
    "--no-lock",
    "--cached-only",
    "--no-code-cache",
    "--deny-read",
    "--deny-write",
    "--deny-net",
    "--deny-env",
    "--deny-run",
    "--deny-ffi",
    "--deny-sys",
    "--deny-import",
    "--v8-flags=--max-old-space-size=64,--max-semi-space-size=4,--stack-size=900",
)
NOT_THERE = ("location_data",)
"""Where the engine would keep `localStorage` and `caches` of the code, which need no permission: a file in their place
keeps the folder from being made."""
GUEST = Path(__file__).with_name("guest.js")
LONGEST = 60.0
"""Seconds that a call may be given at all."""
# CPU seconds (several threads may work at once), no core files, few descriptors; files of at most 64 MB, in the 512
# bytes of POSIX: the engine writes a cache. What goes over them is ended by the kernel, even where we are gone.
_LIMITED = f'ulimit -c 0; ulimit -t {int(LONGEST) * 2}; ulimit -n 128; ulimit -f 131072; exec "$@"'
_TRIAL = 10.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that runs the guest, and what stands around it."""

    program: Path
    bubblewrap: Path | None = None
    """The second wall, where there is one."""

    def command(self) -> list[str]:
        """The command of one worker."""
        inner = ["/bin/sh", "-c", _LIMITED, "sh", str(self.program), *FLAGS, str(GUEST)]
        return inner if self.bubblewrap is None else [*wrapping(self.bubblewrap, (self.program, GUEST)), *inner]

    def environment(self, cache: Path) -> dict[str, str]:
        """All that a worker finds in its environment. `cache` is a folder of its own."""
        inside = _CACHE_INSIDE if self.bubblewrap else str(cache)
        return {
            "DENO_DIR": inside,
            # Libraries that keep files of their own look up the owner's home where none is named.
            "HOME": inside,
            "XDG_CACHE_HOME": inside,
            # WebGPU needs no permission, and brings drivers into the process.
            "DENO_WEBGPU_BACKEND": "none",
            "NO_COLOR": "1",
            "DENO_NO_UPDATE_CHECK": "1",
        }


def wrapping(bubblewrap: Path, shown: Sequence[Path]) -> list[str]:
    """A namespace of its own of every kind, in which there is nothing but the system's libraries and `shown`."""
    system = [part for path in _SYSTEM if Path(path).exists() for part in _mirrored(Path(path))]
    return [
        str(bubblewrap),
        "--unshare-all",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--hostname",
        "sandbox",
        *system,
        # Of bounded size: the watchdog does not see what stands in it.
        *("--size", str(_CACHE_SIZE), "--tmpfs", "/tmp"),  # noqa: S108 (of the namespace)
        *("--dir", _CACHE_INSIDE),
        *(part for name in NOT_THERE for part in ("--ro-bind", "/dev/null", f"{_CACHE_INSIDE}/{name}")),
        *("--proc", "/proc", "--dev", "/dev"),
        *(part for path in shown for part in ("--ro-bind", str(path), str(path))),
        *("--chdir", "/", "--"),
    ]


def _mirrored(path: Path) -> Sequence[str]:
    return ("--symlink", str(path.readlink()), str(path)) if path.is_symlink() else ("--ro-bind", str(path), str(path))


def find_program() -> Path | None:
    """The engine that came with the extra `sandbox`. One that merely is in the path may be of any version."""
    try:
        package = importlib.import_module("deno")
        return Path(str(package.find_deno_bin()))
    except (ImportError, AttributeError, OSError):
        return None


def find_bubblewrap(program: Path) -> Path | None:
    """The second wall, if it is installed and may be used here: containers and some systems forbid it."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    try:
        trial = subprocess.run(
            [*wrapping(Path(found), (program,)), str(program), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"DENO_DIR": _CACHE_INSIDE},
            cwd="/",
            timeout=_TRIAL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(found) if trial.returncode == 0 else None


_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/bin/sh", "/usr/bin/dash", "/usr/bin/bash", "/bin", "/lib", "/lib64")
_CACHE_INSIDE = "/tmp/cache"  # noqa: S108
_CACHE_SIZE = 16 * 1024 * 1024
