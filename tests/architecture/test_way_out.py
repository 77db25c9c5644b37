"""There is one way out to addresses that are not from the settings: `qingtuan.net`. Whatever else opens connections
says here whose addresses it asks, and why that needs no fence."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tests.architecture.source import PACKAGE, REPOSITORY, nodes_of, python_files

CLIENTS = frozenset({
    "aiohttp", "ftplib", "http.client", "httpcore", "httpcore2", "httpx", "httpx2", "imaplib", "poplib", "requests",
    "smtplib", "socket", "socketserver", "telnetlib", "urllib.request", "urllib3", "websockets", "a2a.client",
    "mcp.client", "xmlrpc",
})  # fmt: skip
"""What can open connections, or brings a client that does."""
CALLS = frozenset({
    "create_connection", "create_datagram_endpoint", "create_unix_connection", "getaddrinfo", "gethostbyname",
    "open_connection", "open_unix_connection", "sock_connect", "urlopen", "urlretrieve",
})  # fmt: skip

WAY_OUT = "net"
REASONS = {
    "a2a_client/calling.py": "agents stand in the settings; the SDK's client goes through `net.transport` all the same",
    "channels/cli/client.py": "run.sock, in the data folder",
    "channels/http/server.py": "listens",
    "channels/onebot/adapter.py": "channels.onebot.urls, of the settings",
    "channels/onebot/napcat.py": "channels.onebot.napcat_url, of the settings",
    "channels/telegram/adapter.py": "channels.telegram.api_server, of the settings; a file there is a path below it",
    "channels/wxclaw/wire.py": "hosts of channels.wxclaw, of the settings, and hosts beside them (`same_domain`); no "
    "redirects",
    "cli/notifying.py": "the socket that systemd names",
    "indexes/endpoint.py": "embedding.base_url, of the settings",
    "mcp_client/connection.py": "no connection of its own: words of the SDK for what went wrong",
    "mcp_client/http.py": "url of mcp.json, which the owner writes; no redirects",
    "mcp_client/logins.py": "url of mcp.json; all that the server leads to goes through `net.transport2` (`sign_in`)",
    "mcp_client/sign_in.py": "url of mcp.json; all that the server leads to goes through `net.transport2`",
    "models/client.py": "llm.base_url and so on, of the settings",
    "models/embedded/prefix.py": "the model's process on this machine",
    "models/embedded/sources.py": "where the weights come from, listed in it or set; checked by their hashes",
}
"""By module below `src/qingtuan`: whose addresses it asks."""


def hidden_for_types(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """All that is imported for annotations alone."""
    blocks = [
        node for node in nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]  # fmt: skip
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def clients_in(nodes: Collection[ast.AST]) -> Iterator[str]:
    """What a module has that opens connections."""
    for node in set(nodes) - hidden_for_types(nodes):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            yield from (client for client in CLIENTS if name == client or name.startswith(f"{client}."))
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func).rpartition(".")[2]) in CALLS:
            yield called


def below(path: Path) -> str:
    return str((REPOSITORY / path).relative_to(PACKAGE))


def test_every_client_says_whose_addresses_it_asks() -> None:
    found = {
        below(path): sorted(set(clients_in(nodes_of(path))))
        for path in python_files("src/qingtuan")
        if not below(path).startswith(f"{WAY_OUT}/")
    }
    using = {path: clients for path, clients in found.items() if clients}
    assert {path: clients for path, clients in using.items() if path not in REASONS} == {}
    assert sorted(REASONS.keys() - using.keys()) == [], "no longer needed"


def test_nobody_follows_where_a_server_leads() -> None:
    """A redirect of a server that the settings name leads to an address that they do not. Weights of models are
    looked at by their hashes, wherever they lie in the end."""
    following = [
        below(path)
        for path in python_files("src/qingtuan")
        for node in nodes_of(path)
        if isinstance(node, ast.keyword)
        and node.arg in ("follow_redirects", "allow_redirects")
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]
    assert following == ["models/embedded/sources.py"]


def test_no_certificate_goes_unlooked_at() -> None:
    """But for this machine's own (`channels/wxclaw/wire.py`)."""
    careless = [
        below(path)
        for path in python_files("src/qingtuan")
        for node in nodes_of(path)
        if (isinstance(node, ast.Attribute) and node.attr in ("CERT_NONE", "_create_unverified_context"))
        or (isinstance(node, ast.keyword) and node.arg == "verify" and ast.unparse(node.value) in ("False", "not here"))
    ]
    assert careless == ["channels/wxclaw/wire.py"]


def test_only_tests_trust_hosts_for_nothing() -> None:
    trusting = [
        below(path)
        for path in python_files("src/qingtuan")
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("SafeFetcher")
        and any(keyword.arg in ("trusted", "resolve", "tls") for keyword in node.keywords)
    ]
    assert trusting == []


def test_the_looking() -> None:
    source = """
import socket as s
from urllib import request, parse
from asyncio import open_connection
import mcp.client.sse
if TYPE_CHECKING:
    import httpx
def f():
    import httpx2._api
    return asyncio.open_connection("a", 1)
"""
    assert sorted(set(clients_in(tuple(ast.walk(ast.parse(source)))))) == [
        "httpx2", "mcp.client", "open_connection", "socket", "urllib.request",
    ]  # fmt: skip
