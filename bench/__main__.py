"""`python -m bench`: every figure of the project beside its target.

Each module here that has a function `rows()` measures something and gives `Row`s, in a process of its own; if it takes
a parameter `short`, it is told whether a quick look is enough, and may name in `LEFT_OUT` what it then leaves out. What
cannot be measured here is named too (`Skipped`). The table goes to standard output, the figures as JSON into
`bench/results/`, and the last ones of the same kind of run stand beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from bench.measuring import FOLDER, RESULTS, measured, modules
from bench.table import Row, table
from qingtuan.clock import SystemClock

_QUIET = 1.2
"""Processes to a core. A measurement keeps one of them busy itself."""


def last_figures(kind: str) -> dict[str, float]:
    """The newest stored figure of each row, of runs of this kind; names of files sort by time."""
    stored = [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob(f"*-{kind}.json"))]
    return {row["name"]: row["figure"] for run in stored for row in run["rows"]}


def store(rows: list[Row], kind: str) -> Path:
    moment = SystemClock().now()
    record = {
        "time": moment.isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 2),
        "rows": [
            {"name": row.name, "figure": row.figure, "unit": row.unit, "target": row.target, "met": row.met}
            for row in rows
        ],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{moment:%Y%m%dT%H%M%SZ}-{kind}.json"
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return path


def main() -> int:
    """Measure, print, store. The status is 1 if something broke; a target that is missed is for people to judge."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure and compare with the targets.")
    parser.add_argument("--short", action="store_true", help="a quick look, less exact")
    parser.add_argument("--only", metavar="PART", help="only modules whose name contains PART")
    given = parser.parse_args()
    kind = "short" if given.short else "full"
    before = last_figures(kind)
    found = list(measured(modules(given.only), short=given.short))
    rows = [row for one in found for row in one.rows]
    if rows:
        print(f"\n{table(rows, before)}\n\n{store(rows, kind).relative_to(FOLDER.parent)}")
    for line in (line for one in found for line in one.missing):
        print(line)
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    if busy > _QUIET:
        print(f"The machine is busy ({busy:.1f} processes to a core): wall times say little here; CPU times do.")
    return int(any(one.failed for one in found))


if __name__ == "__main__":
    sys.exit(main())
