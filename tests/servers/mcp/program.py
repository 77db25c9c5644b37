"""Programs that call a whole instance, by the official client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from qingtuan.app.channels import channels_of
from qingtuan.channels.entry import Entries
from qingtuan.events.kinds import Kind
from qingtuan.identity.keys import LEAST, Grant, Writes
from qingtuan.identity.scopes import Visibility
from tests.fakes.conversation import Conversation
from tests.fakes.waiting import until

ALL = Grant(Visibility.PRIVATE, Writes.DIRECT)
"""What a key may have at most."""


class Programs:
    """The instance."""

    def __init__(self, folder: Path, chat: Conversation | None = None) -> None:
        """`chat`: the instance, before it is opened, on a free port (`SERVER__PORT`)."""
        self.chat = chat or Conversation(folder, SERVER__PORT="0", ACCESS__MEMBERS='["qq:10002"]')
        self.entries: Entries
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.chat)
        self.entries = await self._stack.enter_async_context(channels_of(self.chat.app))
        assert self.entries.failed == {}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def url(self) -> str:
        assert self.entries.address is not None
        return f"http://127.0.0.1:{self.entries.address[1]}/mcp"

    async def ended(self) -> None:
        """Wait until every call that began has its end in the record."""
        begun = [event.id for event in self.chat.events(Kind.PROGRAM_CALLED)]
        await until(lambda: {event.cause for event in self.chat.events(Kind.PROGRAM_ANSWERED)} >= set(begun))

    def key(self, name: str, person: str = "owner", grant: Grant = LEAST) -> str:
        """A key; it may talk as widely as its tools read."""
        return self.chat.app.keys.issue(name, person, grant.reads, grant=grant)


@asynccontextmanager
async def connected(url: str, key: str, mode: str = "auto", **more: Any) -> AsyncIterator[Client]:
    """A client with a key."""
    async with httpx2.AsyncClient(
        headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=30, follow_redirects=False
    ) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, **more) as client:
            yield client


def text_of(result: Any) -> str:
    """What a call says to a model that reads no JSON."""
    assert isinstance(result, CallToolResult)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def everything(result: Any) -> str:
    """All that a call gives back, as text."""
    assert isinstance(result, CallToolResult)
    return json.dumps(result.model_dump(mode="json", by_alias=True), ensure_ascii=False)
