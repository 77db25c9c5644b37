"""The service as one program has it: in this process, or where the instance runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from qingtuan.servers.mcp.call import Report
from qingtuan.servers.mcp.ports import Answer
from qingtuan.servers.mcp.program import Program
from qingtuan.servers.mcp.reading import Listed
from qingtuan.servers.mcp.service import Service


class Bound(Protocol):
    """What the protocol is spoken over. All of it raises `QingtuanError` for what is no answer of a tool."""

    async def offers(self) -> list[dict[str, Any]]:
        """The tools, as the protocol has them."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> Answer:
        """Call one. Being cancelled takes back what it waits for."""
        ...

    async def pages(self, cursor: str | None) -> tuple[list[Listed], str | None]:
        """The pages of the wiki, and what to go on with."""
        ...

    async def page(self, uri: str) -> Answer:
        """One of them."""
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """In this process."""

    service: Service
    program: Callable[[], Program]
    """Who it is at this moment: a key may be revoked and its person become another. Raises `NotAllowed`."""

    async def offers(self) -> list[dict[str, Any]]:
        return self.service.offers(self.program())

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> Answer:
        return await self.service.call(self.program(), name, arguments, report)

    async def pages(self, cursor: str | None) -> tuple[list[Listed], str | None]:
        return self.service.pages(self.program(), cursor)

    async def page(self, uri: str) -> Answer:
        return await self.service.page(self.program(), uri)
