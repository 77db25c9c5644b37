"""A web service on this machine that capabilities may ask, under names as services have them, and a fetcher that finds
it there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from qingtuan.net.fetcher import SafeFetcher
from tests.fakes.raw_http import RawHttp, raw_http

APPROVED = "api.example.com"
OTHER = "other.example.com"
"""Served, too; approved only where a test says so."""
NEAR = "near.example.com"
"""A name that stands for this machine, and of which nobody vouches."""


@dataclass(frozen=True, slots=True)
class Service:
    """One that runs."""

    server: RawHttp
    fetcher: SafeFetcher
    looked_up: list[str]
    """Every name that was resolved."""

    @property
    def host(self) -> str:
        """As an approval writes it."""
        return f"{APPROVED}:{self.server.port}"

    @property
    def other(self) -> str:
        return f"{OTHER}:{self.server.port}"

    def url(self, path: str, host: str = APPROVED) -> str:
        return self.server.url(path, host)

    def answers(self, path: str, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> str:
        """Answer a path; gives its address."""
        self.server.body(path, body, status, headers)
        return self.url(path)


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    """A service that runs while the block lasts."""
    async with raw_http() as server:
        looked_up: list[str] = []

        async def resolve(host: str, port: int) -> list[str]:
            looked_up.append(host)
            return ["127.0.0.1"]

        trusted = frozenset({(APPROVED, server.port), (OTHER, server.port)})
        yield Service(server, SafeFetcher(resolve=resolve, trusted=trusted), looked_up)
