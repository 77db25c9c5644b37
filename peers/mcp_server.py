"""Our MCP server, judged by others: the conformance suite of the protocol's authors in both of its releases, and their
inspector as a client, over HTTP and on the standard streams.

The suite has no key, so the server that it calls puts one before each request. Many of its scenarios call tools,
prompts and pages of the suite's own that a server made for it would have; ours has its own. They are left out by name.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from peers.checks import Check, Skipped
from peers.conformance import RELEASES, Scenario, complaint, scenarios
from peers.node import Node
from qingtuan.app import App
from qingtuan.app.http import known_keys
from qingtuan.app.mcp_server import entry_of
from qingtuan.channels.entry import Asgi
from qingtuan.channels.http.server import Server
from qingtuan.home import Home
from qingtuan.identity.keys import Grant, Writes
from qingtuan.identity.scopes import Visibility
from qingtuan.settings import load

_TOOLS = "the suite's own tools; the protocol of calls is tried by the inspector"
_PAGES = "the suite's own pages"
_PROMPTS = "there are no prompts, and the server declares none"
_QUESTIONS = "the server asks its owner, not the client: no elicitation, sampling or roots"
LEFT_OUT: Mapping[str, str] = {
    "tools-call-sampling": _QUESTIONS,
    "tools-call-elicitation": _QUESTIONS,
    "elicitation-": _QUESTIONS,
    "input-required-": _QUESTIONS,
    "tools-call-": _TOOLS,
    "json-schema-2020-12": _TOOLS,
    "server-sse-polling": "the suite's own tool; and answers that broke off are not kept for a client that comes again",
    "http-custom-header-server-validation": _TOOLS,
    "prompts-": _PROMPTS,
    "completion-": "there is nothing to complete, and the server declares nothing",
    "logging-": "the server sends no log lines, and declares none",
    "resources-read-": _PAGES,
    "resources-templates-": _PAGES,
    "resources-subscribe": "pages are not watched, and the server declares it",
    "resources-unsubscribe": "pages are not watched, and the server declares it",
    "sep-2640-": "skills are an extension that the server does not have",
    "tasks-": "tasks are an extension that the server does not have",
    "sep-2575-server-rejects-undeclared-capability": _TOOLS,
    "sep-2575-missing-capability-http-400": _TOOLS,
    "sep-2549-prompts-list-caching-hints": _PROMPTS,
}
"""Beginnings of names of scenarios and of checks that do not apply, and why."""

_INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_LISTING = 60
_RUNNING = 120
_KNOWN = "不吃香菜"


def run(node: Node) -> Iterator[tuple[str, list[Check]]]:
    """Each release of the suite, then the inspector.

    Raises:
        Skipped: one cannot be run here.
    """
    with served() as place:
        for title, module in RELEASES.items():
            found = scenarios(_listing(node, module))
            yield f"{title}, our server", [check for one in found for check in _outcome(node, module, one, place.open)]
        yield "inspector, streamable HTTP", _inspected(node, _by_http(place))
    with tempfile.TemporaryDirectory() as folder:
        yield "inspector, stdio", _inspected(node, _by_stdio(Path(folder)))


# The server


@dataclass(frozen=True, slots=True)
class Place:
    """Where it listens."""

    open: str
    """Where each request gets a key."""
    shut: str
    """Where it needs one."""
    key: str
    end: Callable[[], object]
    """To be called from any thread, once nobody calls any more."""


@contextmanager
def served() -> Iterator[Place]:
    """An instance with its server, on a thread of its own."""
    places, ready = list[Place](), threading.Event()
    working = threading.Thread(target=lambda: asyncio.run(_serve(places, ready)))
    working.start()
    ready.wait(_RUNNING)
    if not places:
        raise Skipped("the instance does not start")
    try:
        yield places[0]
    finally:
        places[0].end()
        working.join()


async def _serve(places: list[Place], ready: threading.Event) -> None:
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.prepare()
        # The suite asks more in a minute than any client of a person does.
        many = {"QINGTUAN_CHANNELS__HTTP__A_MINUTE": "10000", "QINGTUAN_CHANNELS__HTTP__AT_ONCE": "1000"}
        app = await App.open(home, load(home.path, many), watch=False)
        entry = entry_of(app, known_keys(app))
        key = app.keys.issue("suite", "owner", Visibility.PRIVATE, grant=Grant(Visibility.PRIVATE, Writes.DIRECT))
        await entry.start()
        shut = Server("127.0.0.1", 0, entry.routes)
        opened = Server("127.0.0.1", 0, {path: _with(key, asgi) for path, asgi in entry.routes.items()})
        try:
            for server in (shut, opened):
                await server.start()
            end = partial(loop.call_soon_threadsafe, ending.set)
            places.append(Place(_url(opened), _url(shut), key, end))
            ready.set()
            await ending.wait()
        finally:
            ready.set()
            await entry.stop()
            for server in (shut, opened):
                await server.stop()
            await app.close()


def _url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/mcp"


def _with(key: str, behind: Asgi) -> Asgi:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        header = (b"authorization", f"Bearer {key}".encode())
        await behind({**scope, "headers": [*scope["headers"], header]}, receive, send)

    return answer


# The suite


def left_out(name: str) -> str | None:
    """Why a scenario or a check does not apply, None if it does."""
    return next((why for beginning, why in LEFT_OUT.items() if name.startswith(beginning)), None)


def checks_of(scenario: Scenario, seen: Sequence[Mapping[str, Any]]) -> list[Check]:
    """What the suite wrote down of a scenario: one line for all that passed, and one for each that did not."""
    passed = sum(check["status"] == "SUCCESS" for check in seen)
    others = [_other(scenario, check) for check in seen if check["status"] in ("FAILURE", "WARNING")]
    return [*([Check(scenario.shown, "passed", count=passed)] if passed else []), *others]


def _other(scenario: Scenario, check: Mapping[str, Any]) -> Check:
    name, why = f"{scenario.shown} {check['id']}", left_out(str(check["id"]))
    return Check(name, "failed", complaint(check)) if why is None else Check(name, "left out", why)


def _listing(node: Node, module: str) -> str:
    done = _ran(node.command(module, "list", "--server"), _LISTING)
    if not scenarios(done.stdout):
        raise Skipped(f"it lists no scenarios: {(done.stderr or done.stdout).strip()[:200]}")
    return done.stdout


def _outcome(node: Node, module: str, scenario: Scenario, url: str) -> list[Check]:
    if (why := left_out(scenario.name)) is not None:
        return [Check(scenario.shown, "left out", why)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("server", "--url", url, "--scenario", scenario.name, "--spec-version", scenario.version)
        try:
            done = _ran(node.command(module, *arguments, "-o", folder), _RUNNING)
        except subprocess.TimeoutExpired:
            return [Check(scenario.shown, "failed", f"no end within {_RUNNING} s")]
        written = list(Path(folder).rglob("checks.json"))
        if len(written) != 1:
            said = " ".join((done.stderr or done.stdout).split())[-300:]
            return [Check(scenario.shown, "failed", f"status {done.returncode}, no result: {said}")]
        checks = checks_of(scenario, json.loads(written[0].read_text("utf-8")))
    return checks or [Check(scenario.shown, "failed", "the suite checked nothing")]


# The inspector

Ask = Callable[..., Any]
"""Runs the inspector with a method and what belongs to it; gives the JSON that it prints."""


def _by_http(place: Place) -> Callable[[Node], Ask]:
    way = ("--server-url", place.shut, "--transport", "http", "--header", f"Authorization: Bearer {place.key}")
    return lambda node: _asking(node, way, {})


def _by_stdio(folder: Path) -> Callable[[Node], Ask]:
    way = (sys.executable, "-m", "qingtuan", "mcp")
    return lambda node: _asking(node, way, {"QINGTUAN_HOME": str(folder / "home"), "QINGTUAN_LANGUAGE": "en"})


def _asking(node: Node, way: Sequence[str], environ: Mapping[str, str]) -> Ask:
    def ask(method: str, *more: str) -> Any:
        set_here = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environ} if environ else {}
        given = [part for name, value in set_here.items() for part in ("-e", f"{name}={value}")]
        command = node.command(_INSPECTOR, "--cli", *given, *way, "--method", method, *more)
        done = _ran(command, _RUNNING)
        if done.returncode:
            raise AssertionError(" ".join((done.stderr or done.stdout).split())[-300:])
        return json.loads(done.stdout)

    return ask


def _inspected(node: Node, way: Callable[[Node], Ask]) -> list[Check]:
    ask = way(node)
    return [_look(look, ask) for look in (_lists_tools, _calls, _remembers, _is_told_what_is_wrong, _lists_pages)]


def _lists_tools(ask: Ask) -> None:
    names = [tool["name"] for tool in ask("tools/list")["tools"]]
    assert names[:3] == ["memory_search", "memory_recall", "wiki_read"], names


def _calls(ask: Ask) -> None:
    found = ask("tools/call", "--tool-name", "memory_search", "--tool-arg", "query=香菜", "limit=3")
    assert isinstance(found["structuredContent"]["entries"], list), found


def _remembers(ask: Ask) -> None:
    found = ask("tools/call", "--tool-name", "remember", "--tool-arg", f"content={_KNOWN}")
    assert found["structuredContent"]["outcome"] in ("noted", "handed_over"), found


def _is_told_what_is_wrong(ask: Ask) -> None:
    said = ""
    try:
        ask("tools/call", "--tool-name", "memory_search", "--tool-arg", "query=x", "limit=500")
    except AssertionError as error:
        said = str(error)
    assert "tool_is_error" in said, said


def _lists_pages(ask: Ask) -> None:
    assert isinstance(ask("resources/list")["resources"], list)


def _look(look: Callable[[Ask], None], ask: Ask) -> Check:
    name = look.__name__.strip("_").replace("_", " ")
    try:
        look(ask)
    except (AssertionError, LookupError, TypeError, ValueError, subprocess.TimeoutExpired) as error:
        return Check(name, "failed", f"{type(error).__name__}: {error}"[:300])
    return Check(name, "passed")


def _ran(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
