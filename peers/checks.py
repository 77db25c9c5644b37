"""What a suite found, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["passed", "failed", "left out"]
_MARKS: dict[State, str] = {"passed": "✓", "failed": "✗", "left out": "–"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a suite asks for."""

    name: str
    state: State
    why: str = ""
    """Of one that failed, what was seen; of one that was left out, why it does not apply."""
    count: int = 1
    """How many checks of the suite this line stands for."""


class Skipped(Exception):
    """Raised where a suite cannot be run here; the message says why."""


def told(title: str, checks: Sequence[Check]) -> str:
    """A suite as lines: one for each check that ran, one for each reason to leave some out, then the counts."""
    ran = [check for check in checks if check.state != "left out"]
    width = max((len(check.name) for check in ran), default=0)
    lines = [f"{_MARKS[check.state]} {check.name.ljust(width)}  {_shown(check)}" for check in ran]
    without: dict[str, list[str]] = {}
    for check in checks:
        if check.state == "left out":
            without.setdefault(check.why, []).append(check.name)
    lines += [f"{_MARKS['left out']} left out, {why}: {', '.join(names)}" for why, names in without.items()]
    return "\n".join([f"== {title}", *lines, f"{title}: {summed(checks)}"])


def _shown(check: Check) -> str:
    counted = f"{check.count} " if check.count != 1 else ""
    return f"{counted}{check.state}: {check.why}" if check.why else f"{counted}{check.state}"


def summed(checks: Iterable[Check]) -> str:
    """`41 passed, 0 failed, 12 left out`."""
    counts: dict[State, int] = dict.fromkeys(_MARKS, 0)
    for check in checks:
        counts[check.state] += check.count
    return ", ".join(f"{count} {state}" for state, count in counts.items())
