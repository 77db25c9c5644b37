"""The demo library on a free port, with a way to break things in it, and the seats server before it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2

from qingtuan.home import Home
from qingtuan_library_seats.demo_site.running import Options, running

NOW = datetime(2026, 11, 29, 10)
"""The moment at which conversations of the tests begin, on the library's wall."""
SERVER = "library-seats"
COMMAND = str(Path(sys.executable).parent / "qingtuan-library-seats")
_TOKEN = "for-tests"


@dataclass(frozen=True, slots=True)
class Library:
    """A demo library that is open."""

    address: str

    async def booked(self) -> list[tuple[str, str, str, str]]:
        """Who has which seat, from when to when: all that was not cancelled."""
        rows = (await self._ask("GET", "/admin/reservations"))["reservations"]
        return [
            (row["account"], row["seat_id"], row["start"], row["end"]) for row in rows if row["state"] != "cancelled"
        ]

    async def arm(self, fault: str, page: str | None = None, **more: Any) -> None:
        """Let something go wrong: `hang-after` the `reserve` page, `expire-sessions` …"""
        await self._ask("POST", "/admin/faults", {"fault": fault, **({"page": page} if page else {}), **more})

    async def struck(self) -> None:
        """Wait until everything that was armed has gone wrong."""
        async with asyncio.timeout(60):
            while (await self._ask("GET", "/admin/faults"))["armed"]:  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.01)

    async def lose(self, seat: str, start: str = "09:00", end: str = "12:00") -> None:
        """Another reader takes a seat tomorrow."""
        await self.arm("take-seat", seat_id=seat, date="2026-11-30", start=start, end=end)

    async def reset(self) -> None:
        """As on the first day."""
        await self._ask("POST", "/admin/reset")

    def entry(self, user: str = "demo", **more: Any) -> dict[str, Any]:
        """What stands in `mcp.json` for a reader of this library."""
        variables = {"LIBRARY_URL": self.address, "LIBRARY_USER": user, "LIBRARY_PASSWORD": user}
        return {"command": COMMAND, "env": variables, "trusted": True, "returns": "own", **more}

    async def _ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {_TOKEN}"}
        async with httpx2.AsyncClient(base_url=self.address, headers=headers, verify=False) as client:
            answer = await client.request(method, path, json=body)
            assert answer.is_success, answer.text
            return answer.json()


@asynccontextmanager
async def open_library() -> AsyncIterator[Library]:
    """A library with the readers demo and lin."""
    accounts = {"demo": "demo", "lin": "lin"}
    async with running(Options(accounts=accounts, now=NOW, admin_token=_TOKEN)) as address:
        yield Library(address)


@contextmanager
def library_processes() -> Iterator[tuple[str, str]]:
    """A library and its seats server over HTTP, as processes of their own; their addresses."""
    site = [COMMAND, "demo-site", "--port", "0", "--admin-token", _TOKEN, "--now", NOW.isoformat()]
    with _process(site, {}) as address, _process([COMMAND, "--http", "0"], Library(address).entry()["env"]) as server:
        yield address, server


@contextmanager
def _process(command: list[str], variables: Mapping[str, str]) -> Iterator[str]:
    """A process that says its address in its first line."""
    environ = {**os.environ, **variables}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def configure(home: Home, **servers: dict[str, Any]) -> None:
    """Write `mcp.json`; `_` in a name stands for `-`."""
    home.prepare()
    entries = {name.replace("_", "-"): entry for name, entry in servers.items()}
    home.mcp_file.write_text(json.dumps({"mcpServers": entries}), "utf-8")


def kill_servers() -> int:
    """SIGKILL for every seats server that this process started; how many there were."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
    mine = [int(pid) for pid in children if b"qingtuan-library-seats" in _command_of(pid)]
    for pid in mine:
        os.kill(pid, signal.SIGKILL)
    return len(mine)


def _command_of(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
