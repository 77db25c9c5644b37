"""A demo library on a free port, a reader's server before it, and what is asked of both in tests."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.types import CallToolResult, TextContent

from qingtuan_library_seats.demo_site.running import Options, running
from qingtuan_library_seats.desk import Desk
from qingtuan_library_seats.drivers.demo import DemoDriver
from qingtuan_library_seats.drivers.web import Patience
from qingtuan_library_seats.server import build_server
from qingtuan_library_seats.settings import Settings

NOW = datetime(2026, 11, 30, 10, 0)
"""A Monday, in the opening hours."""
DAY = "2026-12-01"
SEAT = "二楼安静区-A12"
WISH = {"seat_id": SEAT, "date": DAY, "start": "09:00", "end": "12:00"}
PERIOD = {name: WISH[name] for name in ("date", "start", "end")}
TOKEN = "for-tests"
QUICK = Patience(pause=0.001, longest=0.01)
"""A real site deserves longer pauses."""
HASTY = replace(QUICK, answer=0.5)
"""For a site that hangs on purpose; on a busy machine an answer may be missed, and asked for again."""

COMMAND = str(Path(sys.executable).parent / "qingtuan-library-seats")


@dataclass(frozen=True)
class Library:
    """A running demo library."""

    address: str

    @property
    def settings(self) -> Settings:
        """Those of the reader `demo`."""
        return Settings(self.address, "demo", "demo")

    @property
    def environment(self) -> dict[str, str]:
        """The same for a process."""
        return {"LIBRARY_URL": self.address, "LIBRARY_USER": "demo", "LIBRARY_PASSWORD": "demo"}

    async def arm(self, fault: str, page: str | None = None, **more: Any) -> None:
        """Let something go wrong."""
        wish = {"fault": fault, **more} | ({} if page is None else {"page": page})
        await self._ask("POST", "/admin/faults", wish)

    async def take(self, seat_id: str = SEAT, page: str | None = None) -> None:
        """Somebody else takes a seat, at once or right after a page was shown."""
        await self.arm("take-seat", page, seat_id=seat_id, **PERIOD)

    async def set_clock(self, moment: str) -> None:
        """It is this moment now."""
        await self._ask("POST", "/admin/clock", {"now": moment})

    async def reset(self) -> None:
        """As on the first day."""
        await self._ask("POST", "/admin/reset")

    async def books(self, *, account: str = "demo", every: bool = False) -> list[dict[str, str]]:
        """What the library has in its books for a reader; `every` with what was cancelled."""
        found = await self._ask("GET", "/admin/reservations")
        rows: list[dict[str, str]] = found["reservations"]
        return [row for row in rows if row["account"] == account and (every or row["state"] != "cancelled")]

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        # There is no TLS here, and a context for it takes longer to make than the library takes to answer.
        async with httpx2.AsyncClient(base_url=self.address, headers=headers, verify=False) as client:
            answer = await client.request(method, path, json=body)
            assert answer.is_success, answer.text
            return answer.json()


@asynccontextmanager
async def library(options: Options | None = None) -> AsyncIterator[Library]:
    """A demo library that answers to tests."""
    wanted = options or Options()
    async with running(replace(wanted, now=wanted.now or NOW, admin_token=TOKEN)) as address:
        yield Library(address)


class Reader:
    """A model's client of the server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.steps: list[str] = []

    async def call(self, name: str, **arguments: Any) -> CallToolResult:
        """Call a tool, and keep the steps that it told of."""

        async def step(progress: float, total: float | None, message: str | None) -> None:
            self.steps.append(message or "")

        return await self.client.call_tool(name, arguments, progress_callback=step)

    async def values(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool gives that must work out."""
        result = await self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def refusal(self, name: str, **arguments: Any) -> str:
        """The sentence of a tool that must not work out."""
        result = await self.call(name, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)


def texts_of(result: CallToolResult) -> list[str]:
    """The texts that a result carries."""
    texts = [content.text for content in result.content if isinstance(content, TextContent)]
    assert len(texts) == len(result.content)
    return texts


def text_of(result: CallToolResult) -> str:
    """The one text that a result carries."""
    [text] = texts_of(result)
    return text


@asynccontextmanager
async def reading(settings: Settings, patience: Patience = QUICK) -> AsyncIterator[Reader]:
    """A client of a server in this process, with the real driver."""
    desk = Desk(lambda: DemoDriver(settings, patience))
    try:
        async with Client(build_server(desk)) as client:
            yield Reader(client)
    finally:
        await desk.close()


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """That of this process without what would set up a library, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIBRARY_")}
    return {**kept, **(more or {})}
