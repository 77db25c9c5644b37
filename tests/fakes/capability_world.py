"""A registry of capabilities on a real log, folder and git; with a sandbox that a test decides, or the real one.

world = CapabilityWorld(tmp_path)
await world.registry.deploy(adder(), OWNER)
assert (await world.call("adder", a=1, b=2)).value == 3
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.capabilities import ledger
from qingtuan.capabilities.definition import Case, Definition
from qingtuan.capabilities.disk import Disk
from qingtuan.capabilities.ledger import By, Ledger
from qingtuan.capabilities.registry import Capabilities
from qingtuan.capabilities.sandbox.base import Fault, Job, Ran, Sandbox, Wall
from qingtuan.capabilities.store import Store
from qingtuan.capabilities.surroundings import Rules, Surroundings
from qingtuan.capabilities.values import Asking, Called
from qingtuan.clock import ManualClock
from qingtuan.events.log import Log
from qingtuan.identity.scopes import Reader, Role
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.storage.git import Repository
from qingtuan.storage.sqlite import Database
from qingtuan.tools.tool import Tool

OWNER = By(sure=True)
"""The owner, who has decided."""
PROGRAM = By(how="http")
"""A program with the owner's key: it decides nothing."""
MEMBER = By("qq-10002", how="asked")
READER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
START = datetime(2026, 11, 29, 10, tzinfo=ZoneInfo("Asia/Shanghai"))

Behaviour = Callable[[Job], Ran]


class ScriptedSandbox:
    """Runs nothing: code is a name of a behaviour in a comment, `// does: add`. What holds `syntax error` does not
    compile."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.does: dict[str, Behaviour] = {
            "add": lambda job: Ran(job.arguments["a"] + job.arguments["b"]),
            "echo": lambda job: Ran(dict(job.arguments)),
            "fail": lambda job: Ran(fault=Fault("exception", "Error: no luck", 2, 3)),
        }
        self.missing = False

    async def run(self, job: Job) -> Ran:
        self.jobs.append(job)
        if self.missing:
            return Ran(fault=Fault("missing", "no engine"))
        found = re.search(r"// does: (\w+)", job.code)
        return self.does[found[1]](job) if found else Ran(None)

    async def check(self, code: str) -> tuple[Fault, ...]:
        if self.missing:
            return (Fault("missing", "no engine"),)
        for number, line in enumerate(code.split("\n"), 1):
            if "syntax error" in line:
                return (Fault("compile", "Unexpected token", number, 1),)
        return ()

    def walls(self) -> Sequence[Wall]:
        return ()

    async def close(self) -> None:
        return


@dataclass
class Others:
    """The other tools; and what is offered to the catalog."""

    names: set[str] = field(default_factory=set)
    tools: list[Tool] = field(default_factory=list)
    found: list[str] | None = None
    allowed: set[Role] = field(default_factory=lambda: {Role.OWNER})

    def taken(self) -> Collection[str]:
        return self.names

    def offer(self, tools: Sequence[Tool]) -> None:
        self.tools = list(tools)

    async def find(self, query: str, reader: Reader, limit: int) -> Sequence[str]:
        found = [tool.name for tool in self.tools] if self.found is None else self.found
        return [name for name in found if self.permits(name, reader)][:limit]

    def permits(self, name: str, reader: Reader) -> bool:
        return reader.role in self.allowed


class CapabilityWorld:
    """One registry, on a data folder that a second one can be opened on."""

    def __init__(
        self,
        folder: Path,
        *,
        resident: int = 100,
        sandbox: Sandbox | None = None,
        clock: ManualClock | None = None,
        headers: Mapping[str, Mapping[str, str]] | None = None,
        shipped: Sequence[Definition] = (),
    ) -> None:
        self.folder = folder / "capabilities"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.clock = clock or ManualClock(START)
        self.database = Database(folder / "state.sqlite")
        self.log = Log(self.database, self.clock, Ids(self.clock), [ledger.project])
        self.ledger = Ledger(self.log)
        self.scripted = ScriptedSandbox()
        self.others = Others()
        self.told: list[tuple[str, Words | None]] = []
        self.registry = Capabilities(
            Surroundings(
                ledger=self.ledger,
                store=Store(self.ledger, Disk(self.folder), Repository(self.folder, self.clock), self.clock),
                sandbox=sandbox or self.scripted,
                clock=self.clock,
                neighbours=self.others,
                rules=Rules(resident=resident),
                headers=lambda: headers or {},
                tell=lambda key, words: self.told.append((key, words)),
                shipped=shipped,
            )
        )

    async def call(self, name: str, **arguments: Any) -> Called:
        return await self.registry.run(name, arguments, Asking(READER))

    def file(self, name: str, file: str = "main.ts") -> Path:
        return self.folder / name / file

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(self.folder), *arguments], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    def warnings(self) -> list[str]:
        return [key for key, words in self.told if words is not None]


def adder(name: str = "adder", **changes: Any) -> Definition:
    """Adds two numbers; `changes` are fields of the definition."""
    fields: dict[str, Any] = {
        "name": name,
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        "code": "// does: add\nexport default async function (input) { return input.a + input.b }\n",
        "cases": (Case({"a": 1, "b": 2}, 3),),
        **changes,
    }
    return Definition(**fields)


def second() -> Definition:
    """Another version of it, all three files of which differ."""
    code = "// does: echo\nexport default (input) => input\n"
    return adder(description="Give two numbers back.", code=code, cases=(Case({"a": 1, "b": 2}, {"a": 1, "b": 2}),))
