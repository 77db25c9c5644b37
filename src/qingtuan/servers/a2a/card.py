"""The card that tells other agents what this one is, and how it is called. It says what the owner chose, and nothing of
what the assistant knows or can do besides. Written without the SDK: everybody may ask for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from qingtuan import __version__
from qingtuan.channels.http.front import Receive, Scope, Send
from qingtuan.servers.a2a.ports import About
from qingtuan.storage.files import content_hash

CARD_PATH = "/.well-known/agent-card.json"
RPC_PATH = "/a2a"
REST_PATH = "/a2a/rest"
_MAX_AGE = 300
"""Seconds for which a card may be kept without asking anew."""
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:]{2,45}\](:[0-9]{1,5})?")
_TAKES = ["text/plain", "application/json", "application/pdf", "image/png", "image/jpeg"]
_GIVES = ["text/plain"]


def card_of(about: About, base: str) -> dict[str, Any]:
    """The card of an instance that is called at `base`, as both versions of the protocol read it."""
    skills = [
        {"id": f"skill-{number}", "name": skill.name, "description": skill.about, "tags": ["assistant"]}
        for number, skill in enumerate(about.skills, 1)
    ]
    bearer = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
    return {
        "name": about.name,
        "description": about.about,
        "version": __version__,
        "supportedInterfaces": [
            {"url": base + RPC_PATH, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": base + REST_PATH, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": base + RPC_PATH, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
        "securitySchemes": {"bearer": bearer},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": _TAKES,
        "defaultOutputModes": _GIVES,
        "skills": skills,
        # What clients of version 0.3 look for.
        "protocolVersion": "0.3.0",
        "url": base + RPC_PATH,
        "preferredTransport": "JSONRPC",
    }


async def serve_card(about: About, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for the card."""
    del receive
    if scope["method"] not in ("GET", "HEAD"):
        await _respond(send, 405, {"allow": "GET, HEAD"}, b"")
        return
    body = json.dumps(card_of(about, about.url or _called(scope)), ensure_ascii=False).encode("utf-8", "replace")
    tag = f'"{content_hash(body)[:32]}"'
    headers = {"cache-control": f"public, max-age={_MAX_AGE}", "vary": "Host", "etag": tag}
    asked = _header(scope, b"if-none-match")
    if asked and ("*" in asked or tag in {one.strip().removeprefix("W/") for one in asked.split(",")}):
        await _respond(send, 304, headers, b"")
        return
    headers |= {"content-type": "application/json"}
    await _respond(send, 200, headers, body, told=scope["method"] == "GET")


def _called(scope: Scope) -> str:
    """The address at which this very request was made."""
    host = _header(scope, b"host")
    if not _HOST.fullmatch(host):
        here = scope.get("server") or ("127.0.0.1", None)
        host = f"{here[0]}:{here[1]}" if here[1] else str(here[0])
    return f"{scope.get('scheme', 'http')}://{host}"


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def _respond(send: Send, status: int, headers: Mapping[str, str], body: bytes, *, told: bool = True) -> None:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    if status != 304:
        raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body if told else b""})
