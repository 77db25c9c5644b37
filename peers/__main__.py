"""`python -m peers`: suites that others wrote, run against the product.

They are fetched from their registries in locked versions and lie in a folder of their own; nothing of them stands in
this repository. Prints what passed, what failed, and what was left out and why. The status is 1 if something that
applies failed; a suite that cannot be had here is named, and is no failure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from peers import a2a, conformance, everything, mcp_server, onebot, telegram, weixin
from peers.checks import Check, Skipped, summed, told
from peers.node import installed

SUITES: dict[str, Callable[[], Iterator[tuple[str, list[Check]]]]] = {
    "a2a": lambda: a2a.run(installed()),
    "conformance": lambda: conformance.run(installed()),
    "everything": lambda: everything.run(installed()),
    "mcp-server": lambda: mcp_server.run(installed()),
    "onebot": onebot.run,
    "telegram": lambda: telegram.run(installed()),
    "weixin": lambda: weixin.run(installed()),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m peers", description="Run the suites that others wrote.")
    parser.add_argument("--only", choices=SUITES, help="this one alone")
    given = parser.parse_args()
    names = [given.only] if given.only else list(SUITES)
    every: list[Check] = []
    for name in names:
        try:
            for title, checks in SUITES[name]():
                print(told(title, checks), flush=True)
                every += checks
        except Skipped as skipped:
            print(f"SKIPPED {name}: {skipped}")
    print(f"\n{summed(every)}")
    return int(any(check.state == "failed" for check in every))


if __name__ == "__main__":
    sys.exit(main())
