"""What a process that stays for long does without."""

from __future__ import annotations

import sys
from types import ModuleType


def leave_out() -> None:
    """Before anything imports httpx: let it come without its own command line, which would bring rich and pygments
    along, 6 MiB for the whole life of the process."""
    if "httpx" in sys.modules:
        return
    stand_in = ModuleType("httpx._main")

    def main() -> None:
        """Nobody calls it here."""

    stand_in.main = main  # type: ignore[attr-defined]
    sys.modules.setdefault("httpx._main", stand_in)
