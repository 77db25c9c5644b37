"""An instance that programs call: its real server on a free port, with a scripted model behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from qingtuan.app.channels import channels_of
from qingtuan.channels.entry import Entries
from qingtuan.identity.scopes import Visibility
from qingtuan.tools.registry import Provider
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, Rule, on_user, when

SAYS: tuple[Rule, ...] = (
    on_user("慢", Reply("想好了。", pause=0.02, piece=1)),
    when(lambda asked: bool(asked.tools), "你好，我在。"),
    when(lambda asked: True, "[]"),
)


@dataclass
class Api:
    """The instance, and ways to call it."""

    chat: Conversation
    http: httpx.AsyncClient
    entries: Entries
    key: str
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @classmethod
    async def open(cls, folder: Path, tools: Mapping[str, Provider] | None = None, **environ: str) -> Self:
        stack = AsyncExitStack()
        chat = await stack.enter_async_context(Conversation(folder, tools=tools, SERVER__PORT="0", **environ))
        chat.model(*SAYS)
        entries = await stack.enter_async_context(channels_of(chat.app))
        assert entries.failed == {}
        assert entries.address is not None
        base = f"http://127.0.0.1:{entries.address[1]}"
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=base, timeout=30, trust_env=False))
        key = chat.app.keys.issue("laptop", "owner", Visibility.PRIVATE)
        return cls(chat, http, entries, key, stack)

    async def close(self) -> None:
        await self._stack.aclose()

    def headers(self, key: str | None = None) -> dict[str, str]:
        return {"authorization": f"Bearer {key or self.key}"}

    async def post(self, path: str, body: Any, *, key: str | None = None, **headers: Any) -> httpx.Response:
        return await self.http.post(path, json=body, headers={**self.headers(key), **headers})

    async def get(self, path: str, *, key: str | None = None) -> httpx.Response:
        return await self.http.get(path, headers=self.headers(key))

    async def say(self, message: str, *, key: str | None = None, **more: Any) -> dict[str, Any]:
        """The answer to `POST /chat`."""
        answer = await self.post("/chat", {"message": message, **more}, key=key)
        assert answer.status_code == 200, answer.text
        value: dict[str, Any] = answer.json()
        return value

    async def events(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> list[tuple[str, Any]]:
        """All events of a stream."""
        found = []
        async with self.http.stream("POST", path, json=body, headers=self.headers(key)) as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"].startswith("text/event-stream")
            async for one in events_of(answer):
                found.append(one)  # noqa: PERF401 (an async generator)
        return found


async def events_of(answer: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    """The events of a stream as they come: name and value; comments as `beat`."""
    name = ""
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            yield "beat", None
        elif line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
            yield name, data if data == "[DONE]" else json.loads(data)
            name = ""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    api = await Api.open(tmp_path)
    yield api
    await api.close()
