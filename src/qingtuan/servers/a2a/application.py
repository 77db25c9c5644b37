"""The routes behind the front. Imports the SDK: loaded with the first request."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from starlette.applications import Starlette

from qingtuan.channels.entry import Asgi
from qingtuan.channels.http.front import BODY, Receive, Scope, Send
from qingtuan.servers.a2a.card import REST_PATH, RPC_PATH
from qingtuan.servers.a2a.handler import Contexts, Handler
from qingtuan.servers.a2a.ports import Ports
from qingtuan.servers.a2a.tasks import Tasks


def application(tasks: Tasks, ports: Ports) -> Asgi:
    """All routes."""
    handler, contexts = Handler(tasks, ports), Contexts()
    routes = [
        *create_jsonrpc_routes(handler, RPC_PATH, contexts, enable_v0_3_compat=True),
        *create_rest_routes(handler, contexts, path_prefix=REST_PATH),
    ]
    app = Starlette(routes=routes)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, _again(scope, receive), send)

    return answer


def _again(scope: Scope, receive: Receive) -> Receive:
    """The body that the front has read, for who reads it once more."""
    left = [json.dumps(scope[BODY], ensure_ascii=False).encode("utf-8")] if BODY in scope else []

    async def read() -> MutableMapping[str, Any]:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return read
