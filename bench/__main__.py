"""`python -m bench`: every figure of the project beside its target.

Each module here that has a function `rows()` measures something and gives `Row`s; if it takes a parameter `short`,
it is told whether a quick look is enough. The table goes to standard output, the figures as JSON into
`bench/results/`, and the last run's stand beside them.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from bench.table import Row, table
from qingtuan.clock import SystemClock

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"


def modules(only: str | None) -> Iterator[ModuleType]:
    """The modules that measure, by name; `only` picks those whose name contains it."""
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem != "__main__" and (only is None or only in path.stem):
            module = importlib.import_module(f"bench.{path.stem}")
            if hasattr(module, "rows"):
                yield module


def measure(module: ModuleType, *, short: bool) -> list[Row]:
    takes_short = "short" in inspect.signature(module.rows).parameters
    rows: list[Row] = module.rows(short=short) if takes_short else module.rows()
    return rows


def last_figures(kind: str) -> dict[str, float]:
    """The figures of the newest stored run of this kind; names sort by time."""
    stored = sorted(RESULTS.glob(f"*-{kind}.json"))
    if not stored:
        return {}
    return {row["name"]: row["figure"] for row in json.loads(stored[-1].read_text("utf-8"))["rows"]}


def store(rows: list[Row], kind: str) -> Path:
    moment = SystemClock().now()
    record = {
        "time": moment.isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "rows": [
            {"name": row.name, "figure": row.figure, "unit": row.unit, "target": row.target, "met": row.met}
            for row in rows
        ],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{moment:%Y%m%dT%H%M%SZ}-{kind}.json"
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure and compare with the targets.")
    parser.add_argument("--short", action="store_true", help="a quick look, less exact")
    parser.add_argument("--only", metavar="PART", help="only modules whose name contains PART")
    given = parser.parse_args()
    kind = "short" if given.short else "full"
    before = last_figures(kind)
    rows: list[Row] = []
    for module in modules(given.only):
        print(f"measuring {module.__name__.removeprefix('bench.')} …", flush=True)
        rows += measure(module, short=given.short)
    if not rows:
        print("nothing to measure")
        return
    print(f"\n{table(rows, before)}\n\n{store(rows, kind).relative_to(FOLDER.parent)}")


if __name__ == "__main__":
    main()
