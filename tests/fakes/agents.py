"""An instance as other agents see it: its server on a free port, a key, and the SDK's own client."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.client.client import Client
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, StreamResponse, Task

from qingtuan.app.channels import channels_of
from qingtuan.channels.entry import Entries
from qingtuan.identity.accounts import AGENTS
from qingtuan.identity.scopes import Visibility
from qingtuan.tools.registry import Provider
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, Rule, on_user, when

SAYS: tuple[Rule, ...] = (
    on_user("慢", Reply("想好了。", pause=0.02, piece=1)),
    when(lambda asked: bool(asked.tools), "周三下午有空。"),
    when(lambda asked: True, "[]"),
)
MEMBERS = '["a2a:doudou", "a2a:other"]'


def message(text: str, **more: Any) -> Message:
    """A message of an agent."""
    return Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)], **more)


@dataclass
class Asked:
    """The instance, and ways to ask it."""

    chat: Conversation
    http: httpx.AsyncClient
    entries: Entries
    key: str
    base: str
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @classmethod
    async def open(cls, folder: Path, tools: Mapping[str, Provider] | None = None, **environ: str) -> Self:
        stack = AsyncExitStack()
        environ = {"ACCESS__MEMBERS": MEMBERS, "SERVER__PORT": "0", **environ}
        chat = await stack.enter_async_context(Conversation(folder, tools=tools, **environ))
        chat.model(*SAYS)
        key = chat.app.keys.issue("doudou", "a2a-doudou", Visibility.PUBLIC, AGENTS)
        asked = cls(chat, await stack.enter_async_context(_client()), Entries([]), key, "", stack)
        await asked.listen()
        return asked

    async def listen(self) -> None:
        """Let the instance be called; anew after its restart."""
        self.entries = await self._stack.enter_async_context(channels_of(self.chat.app))
        assert self.entries.failed == {}
        assert self.entries.address is not None
        self.base = f"http://127.0.0.1:{self.entries.address[1]}"

    async def close(self) -> None:
        await self._stack.aclose()

    def headers(self, key: str | None = None) -> dict[str, str]:
        return {"authorization": f"Bearer {key or self.key}", "a2a-version": "1.0"}

    async def rpc(self, method: str, params: Any, *, key: str | None = None, **headers: str) -> dict[str, Any]:
        """The answer to one call, as JSON."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.http.post(f"{self.base}/a2a", json=body, headers={**self.headers(key), **headers})
        value: dict[str, Any] = answer.json()
        return value

    async def client(self, *, key: str | None = None, streaming: bool = True, binding: str = "JSONRPC") -> Client:
        """The SDK's client, by the card that is served."""
        card = parse_agent_card((await self.http.get(f"{self.base}/.well-known/agent-card.json")).json())
        http = await self._stack.enter_async_context(_client(headers=self.headers(key)))
        config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
        return ClientFactory(config).create(card)

    async def say(self, client: Client, text: str, **more: Any) -> list[StreamResponse]:
        """All that comes of a message."""
        request = SendMessageRequest(message=message(text, **more))
        return [piece async for piece in client.send_message(request)]

    async def ask(self, text: str, **more: Any) -> Task:
        """The task that a message became, once there is nothing to wait for."""
        [piece] = await self.say(await self.client(streaming=False), text, **more)
        return piece.task

    async def ask_again(self, task: str) -> Task:
        """The task as it is now."""
        return await (await self.client()).get_task(GetTaskRequest(id=task))


def _client(**more: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=30, trust_env=False, **more)


def answer_of(task: Task) -> str:
    """The words of a task's answer."""
    return "\n".join(part.text for artifact in task.artifacts for part in artifact.parts)
