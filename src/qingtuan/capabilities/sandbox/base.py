"""What a sandbox is to those who use it: code and arguments in, JSON or an error out (capabilities.md, Sandbox)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from qingtuan.language import Words

FaultKind = Literal["compile", "exception", "time", "memory", "output", "crash", "missing", "unavailable"]
"""What went wrong: the code cannot be used as it stands; it raised an error; took too long; too much memory; gave too
much, or what is no JSON; ended without an answer; there is no engine to run it; there is one, and it could not be
started or was closed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use."""

    seconds: float = 10.0
    """From the moment at which the job is handed over."""
    memory_mb: int = 256
    """Resident, of all processes of the call."""
    output: int = 256 * 1024
    """Bytes of the result as JSON."""
    fetches: int = 20
    """Requests, those after redirects included."""


@dataclass(frozen=True, slots=True)
class Job:
    """One call."""

    code: str
    """A module in TypeScript or JavaScript (see `runtime.RUNTIME`)."""
    arguments: Mapping[str, Any]
    hosts: tuple[str, ...] = ()
    """Whom it may ask, approved by the owner: `name`, on the usual ports of http and https, or `name:port`."""
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By such a host: what we add to its requests. The code never sees it."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Fetch:
    """One try to reach out, for the trace."""

    method: str
    url: str
    """Bounded in length."""
    status: int | None
    """None: there was no answer."""
    sent: int
    """Bytes of the body."""
    received: int
    refused: str = ""
    """Why it was not made, or gave nothing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no result. The message is for the model, in English, and may quote the code."""

    kind: FaultKind
    message: str
    line: int | None = None
    """Of the code, from 1."""
    column: int | None = None

    @property
    def before_code(self) -> bool:
        """Whether the code never ran, so that this says nothing of it."""
        return self.kind in ("missing", "unavailable")


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a call. All of it is foreign."""

    value: Any = None
    """JSON."""
    fault: Fault | None = None
    seconds: float = 0.0
    fetched: tuple[Fetch, ...] = ()
    printed: str = ""
    """What the code wrote to the console, bounded."""


@dataclass(frozen=True, slots=True)
class Wall:
    """One of the walls around the code, and whether it stands on this machine."""

    name: str
    """For programs."""
    stands: bool
    said: Words


class Sandbox(Protocol):
    """Runs code that may be hostile."""

    async def run(self, job: Job) -> Ran:
        """Run it once, in a process of its own. What goes wrong is in the answer."""
        ...

    async def check(self, code: str) -> tuple[Fault, ...]:
        """Everything that keeps a module from being used, found without running it."""
        ...

    def walls(self) -> Sequence[Wall]:
        """Which walls stand here. Looked at once; may start a short process."""
        ...

    async def close(self) -> None:
        """End everything that was started. Further calls are answered with a fault."""
        ...
