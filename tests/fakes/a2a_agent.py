"""Another agent, made with the SDK's own server: a colleague who answers, asks back, takes long, or refuses.

    async with Colleague() as colleague:
        … QINGTUAN_AGENTS__KNOWN={"doudou": {"url": colleague.url}} …

As a program: `python -m tests.fakes.a2a_agent`, which prints its address and runs until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Self

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard, Part, Task, TaskState, TaskStatus
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

from qingtuan.channels.http.server import Server

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
ADDRESS = "http://127.0.0.1:{port}"


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as it came in."""

    text: str
    context: str
    task: str
    hops: str
    authorization: str


class _Work(AgentExecutor):
    """Does what the words call for."""

    def __init__(self, colleague: Colleague) -> None:
        self._colleague = colleague

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        headers = context.call_context.state["headers"] if context.call_context else {}
        self._colleague.heard.append(
            Heard(
                text,
                context.context_id or "",
                context.task_id or "",
                headers.get("x-qingtuan-hops", ""),
                headers.get("authorization", ""),
            )
        )
        if context.current_task is None:
            first = Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
            )
            await event_queue.enqueue_event(first)
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.start_work(updater.new_agent_message([Part(text="在看")]))
        await self._answer(text, updater, context.current_task)

    async def _answer(self, text: str, updater: TaskUpdater, task: Task | None) -> None:
        if task is not None and task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await updater.add_artifact([Part(text=f"订好了：{text}")], name="booking")
            await updater.complete()
        elif "订" in text:
            await updater.requires_input(updater.new_agent_message([Part(text="哪一天？")]))
        elif "登录" in text:
            await updater.requires_auth(updater.new_agent_message([Part(text="先到 https://login.example 登录")]))
        elif "拒绝" in text:
            await updater.reject(updater.new_agent_message([Part(text="这个我不做")]))
        elif "密钥" in text:
            await updater.add_artifact([Part(text=self._colleague.heard[-1].authorization)], name="key")
            await updater.complete()
        elif "坏" in text:
            await updater.failed(updater.new_agent_message([Part(text="机器坏了")]))
        elif "慢" in text:
            self._colleague.working.set()
            await self._colleague.released.wait()
            await updater.add_artifact([Part(text="慢慢做好了")], name="slow")
            await updater.complete()
        elif "文件" in text:
            raw = Part(raw=b"%PDF-1.4 a paper", filename="../../etc/passwd.pdf", media_type="application/pdf")
            await updater.add_artifact([Part(text="给你"), raw], name="file")
            await updater.complete()
        else:
            await updater.add_artifact([Part(text=f"听到了：{text}")], name="echo")
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self._colleague.canceled.append(context.task_id or "")
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.cancel()


@dataclass
class Colleague:
    """The agent, on a free port."""

    name: str = "豆豆"
    streaming: bool = True
    key: str = ""
    """Without this bearer key nobody is answered, if it is set."""
    binding: str = "JSONRPC"
    version: str = "1.0"
    heard: list[Heard] = field(default_factory=list)
    canceled: list[str] = field(default_factory=list)
    working: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    card: dict[str, Any] = field(default_factory=dict)
    """What the card says; may be changed while it runs."""
    instead: Callable[[Send], Awaitable[None]] | None = None
    """Answers every call instead of it, if there is one."""
    _server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return ADDRESS.format(port=self._server.port)

    async def __aenter__(self) -> Self:
        routes: dict[str, Any] = {"/": self._answer}
        self._server = Server("127.0.0.1", 0, routes)
        await self._server.start()
        self.card = {
            "name": self.name,
            "description": "Keeps timetables and books rooms.",
            "version": "1",
            "supportedInterfaces": [
                {"url": f"{self.url}/rpc", "protocolBinding": self.binding, "protocolVersion": self.version}
            ],
            "capabilities": {"streaming": self.streaming},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "book", "name": "订教室", "description": "替人订一间教室", "tags": ["room"]}],
        }
        card = ParseDict(self.card, AgentCard())
        handler = DefaultRequestHandler(_Work(self), InMemoryTaskStore(), card)
        rpc = create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)
        self._app = Starlette(routes=[*rpc, *create_rest_routes(handler, path_prefix="/rpc")])
        return self

    async def __aexit__(self, *_: object) -> None:
        self.released.set()
        assert self._server is not None
        await self._server.stop()

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if scope["path"] == "/.well-known/agent-card.json":
            await respond(send, 200, json.dumps(self.card).encode())
        elif self.key and headers.get(b"authorization", b"").decode() != f"Bearer {self.key}":
            await respond(send, 401, b"{}")
        elif self.instead is not None:
            await self.instead(send)
        else:
            await self._app(scope, receive, send)


async def respond(send: Send, status: int, body: bytes, **headers: str) -> None:
    """One whole answer."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def _main() -> None:
    async with Colleague() as colleague:
        sys.stdout.write(f"{colleague.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
