"""Each part in a process of its own, so that what one has imported or left in memory slows no other down."""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from bench.table import Row, Skipped

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"

FULL_ONLY = frozenset({"embedded_cases", "recalled_e5"})
"""Parts that a short run leaves out whole: the larger local models take as long as all others together."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a module found."""

    rows: list[Row] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What is not among them, and why."""
    failed: bool = False


def modules(only: str | None) -> list[str]:
    """The modules here, by name; `only` picks those whose name contains it."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    return [name for name in names if name != "__main__" and (only is None or only in name)]


def measure(name: str, *, short: bool) -> Measured | None:
    """What one module measures; None if it measures nothing."""
    if short and name in FULL_ONLY:
        return Measured([], [f"left out of a short run: {name}"])
    try:
        module = importlib.import_module(f"bench.{name}")
        if not hasattr(module, "rows"):
            return None
        print(f"measuring {name} …", flush=True)
        left_out = [f"left out of a short run: {row}" for row in getattr(module, "LEFT_OUT", ()) if short]
        takes_short = "short" in inspect.signature(module.rows).parameters
        return Measured(module.rows(short=short) if takes_short else module.rows(), left_out)
    except Skipped as skipped:
        return Measured([], [f"SKIPPED {name}: {skipped}"])
    except Exception as error:  # noqa: BLE001 (one that breaks must not take the others' figures with it)
        traceback.print_exc()
        return Measured([], [f"FAILED {name}: {error!r}"], failed=True)


def measured(names: Sequence[str], *, short: bool) -> Iterator[Measured]:
    """What they measure, one after the other."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for name in names:
            found = processes.submit(measure, name, short=short).result()
            if found is not None:
                yield found
