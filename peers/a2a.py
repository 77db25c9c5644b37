"""Other agents: somebody else's client (`@a2a-js/sdk`) against our server, and the A2A TCK, where its folder is named.

The TCK is in no registry: `A2A_TCK` names a folder in which somebody has it, with what it needs installed in `.venv`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from peers.checks import Check
from peers.node import HERE, Node
from tests.fakes.agents import Asked
from tests.fakes.model_server import Reply, on_user, when

_PATIENCE = 300.0
_LIMITS = {"LIMITS__MEMBER__PRIVATE_COOLDOWN": "0"}


def run(node: Node) -> Iterator[tuple[str, list[Check]]]:
    """Both."""
    yield "@a2a-js/sdk 1.3.0 against our server", asyncio.run(_client(node))
    yield "A2A TCK against our server", asyncio.run(_tck())


async def _asked(folder: Path) -> Asked:
    asked = await Asked.open(folder, None, EMBEDDING__MODEL="off", **_LIMITS)
    asked.chat.model(
        on_user("慢", Reply("想好了。", delay=2)),
        when(lambda one: bool(one.tools), "周三下午有空。"),
        when(lambda _: True, "[]"),
    )
    return asked


async def _client(node: Node) -> list[Check]:
    with tempfile.TemporaryDirectory() as folder:
        asked = await _asked(Path(folder))
        try:
            command = [str(node.binary), str(HERE / "a2a.mjs"), str(node.modules), asked.base, asked.key]
            out, code = await _ran(command, HERE)
        finally:
            await asked.close()
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    checks = [Check(one["name"], "passed" if one["ok"] else "failed", "" if one["ok"] else one["why"]) for one in found]
    if code or not checks:
        checks.append(Check("it ran to its end", "failed", out[-300:]))
    return checks


async def _tck() -> list[Check]:
    named = os.environ.get("A2A_TCK")
    if not named:
        return [Check("all of it", "left out", "A2A_TCK names no folder, and no registry has it")]
    folder = Path(named)
    with tempfile.TemporaryDirectory() as home:
        asked = await _asked(Path(home))
        try:
            python = folder / ".venv" / "bin" / "python"
            auth = {"A2A_AUTH_TYPE": "bearer", "A2A_AUTH_TOKEN": asked.key}
            command = [str(python), "run_tck.py", "--sut-host", asked.base, "--transport", "jsonrpc,http_json"]
            out, _ = await _ran(command, folder, **auth)
        finally:
            await asked.close()
    return _counted(out)


def _counted(out: str) -> list[Check]:
    """The counts of the last line of pytest's summary, and each test that failed."""
    failed = re.findall(r"^FAILED (\S+)", out, re.MULTILINE)
    checks = [Check(name, "failed", "see its report") for name in failed]
    for word in ("passed", "skipped"):
        count = [int(number) for number in re.findall(rf"(\d+) {word}", out)][-1:]
        if count and word == "passed":
            checks.append(Check("passed", "passed", count=count[0]))
        elif count:
            checks.append(Check("skipped", "left out", "it skips them", count=count[0]))
    return checks or [Check("it ran to its end", "failed", out[-300:])]


async def _ran(command: list[str], folder: Path, **environ: str) -> tuple[str, int]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out.decode("utf-8", "replace"), process.returncode or 0
