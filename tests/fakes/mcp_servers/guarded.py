"""A server of tools that wants a login, with its authorization server beside it, in a thread of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

PROTECTED = "/.well-known/oauth-protected-resource/mcp"
ISSUER = "/.well-known/oauth-authorization-server"


@dataclass
class Guarded:
    """What it does, to be changed as a test goes."""

    base: str = ""
    protected: dict[str, Any] = field(default_factory=dict)
    """Parts of what it says of itself that are to be otherwise."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Parts of what the authorization server says of itself that are to be otherwise."""
    registration: dict[str, Any] = field(default_factory=dict)
    """Parts of what it registers that are to be otherwise."""
    challenge: str = ""
    """The address of the former, where it is another one."""
    iss: str | None = None
    """What comes back as the issuer, if that is a lie."""
    lasts: int | None = 3600
    """Seconds of a token."""
    greets: bool = False
    """Whether it lets everybody say hello."""
    scope: str = ""
    """What a token must be good for; empty for anything."""
    refuses: bool = False
    """Whether it refuses every call for want of `scope`, whatever the token is good for."""
    open: bool = False
    """Whether it lets everybody in."""
    valid: set[str] = field(default_factory=set)
    """Access tokens that it takes."""
    renewable: set[str] = field(default_factory=set)
    """Refresh tokens that it takes."""
    fails: int = 0
    """The status of each answer about tokens, if it is to be another than a good one."""
    leaks: dict[str, str] = field(default_factory=dict)
    """What such an answer holds besides."""
    registers_nobody: bool = False
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each request."""
    tokens: list[dict[str, str]] = field(default_factory=list)
    """What was sent for tokens."""
    granted: dict[str, str] = field(default_factory=dict)
    """What each access token is good for."""
    registered: list[dict[str, Any]] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], Any]:
        self.seen.append((method, path.partition("?")[0]))
        match method, path.partition("?")[0]:
            case "POST", "/mcp":
                return self._mcp(headers, json.loads(body))
            case "GET", "/.well-known/oauth-protected-resource/mcp":
                return 200, {}, {"resource": self.url, "authorization_servers": [self.base], **self.protected}
            case "GET", "/.well-known/oauth-authorization-server":
                return 200, {}, self._about()
            case "POST", "/register":
                wanted = json.loads(body)
                self.registered.append(wanted)
                if self.registers_nobody:
                    return 400, {}, {"error": "invalid_client_metadata", **self.leaks}
                return 201, {}, {**wanted, "client_id": f"client-{len(self.registered)}", **self.registration}
            case "GET", "/authorize":
                return self._authorize(path)
            case "POST", "/token":
                return self._token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        return 404, {}, {}

    def _about(self) -> dict[str, Any]:
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            **self.metadata,
        }

    def _mcp(self, headers: dict[str, str], message: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        where = self.challenge or f"{self.base}{PROTECTED}"
        scope = f', scope="{self.scope}"' if self.scope else ""
        if not self.open and token not in self.valid and not (self.greets and message["method"] == "initialize"):
            return 401, {"WWW-Authenticate": f'Bearer resource_metadata="{where}"{scope}'}, {}
        held = not self.scope or self.scope in self.granted.get(token, "").split()
        if message["method"] == "tools/call" and (self.refuses or not held):
            challenge = f'Bearer error="insufficient_scope", resource_metadata="{where}"{scope}'
            return 403, {"WWW-Authenticate": challenge}, {}
        if "id" not in message:
            return 202, {}, None
        tool = {"name": "send", "description": "Sends.", "inputSchema": {"type": "object", "properties": {}}}
        info = {"name": "guarded", "version": "1"}
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": {"tools": {}}},
            "tools/list": {"tools": [tool]},
            "tools/call": {"content": [{"type": "text", "text": f"sent with {token}"}]},
        }
        if (result := results.get(message["method"])) is None:
            error = {"code": -32601, "message": "Method not found"}
            return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _authorize(self, path: str) -> tuple[int, dict[str, str], Any]:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        code = f"code-{next(self._numbers)}"
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.base if self.iss is None else self.iss}
        return 302, {"Location": f"{asked['redirect_uri']}?{urlencode(back)}"}, None

    def _token(self, sent: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        self.tokens.append(sent)
        if self.fails:
            return self.fails, {}, {"error": "invalid_grant", **self.leaks}
        if sent["grant_type"] == "authorization_code":
            asked = self._codes.pop(sent["code"])
            digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
            proven = base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
            if not proven or sent["redirect_uri"] != asked["redirect_uri"] or sent.get("resource") != self.url:
                return 400, {}, {"error": "invalid_grant"}
        elif sent["refresh_token"] not in self.renewable:
            return 400, {}, {"error": "invalid_grant"}
        number = next(self._numbers)
        self.valid.add(f"access-{number}")
        if sent["grant_type"] == "authorization_code" and "scope" in asked:
            self.granted[f"access-{number}"] = asked["scope"]
        self.renewable.add(f"refresh-{number}")
        found = {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}", "token_type": "Bearer"}
        return 200, {}, {**found, **({"expires_in": self.lasts} if self.lasts is not None else {})}


@contextmanager
def guarded() -> Iterator[Guarded]:
    """One on a free port, while the block lasts."""
    server_of = Guarded()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, value = server_of.answer(self.command, self.path, headers, body)
            data = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)), **more}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._do()

        def do_POST(self) -> None:
            self._do()

        def do_DELETE(self) -> None:
            self._do()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server_of.base = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield server_of
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
