"""`server-everything`, the reference server of the protocol's authors, through our client: stdio and streamable HTTP.

It shows whatever a server may do. Each check looks at what a turn would get of it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peers.checks import Check, Skipped
from peers.client import Client, Person, client
from peers.node import Node
from qingtuan.errors import QingtuanError, ToolFailed

_MODULE = "@modelcontextprotocol/server-everything/dist/index.js"
_PATIENCE = 30.0
"""Seconds for a check, and for the server to begin to listen."""
_UNTOLD = "PEERS_UNTOLD"
"""A variable of this process that no server is to see."""
_SECRET = "not-for-servers"
_LOGGED = re.compile(r"level[ -]message", re.IGNORECASE)

Look = Callable[[Client], Awaitable[None]]


async def lists_its_tools(one: Client) -> None:
    wanted = {"echo", "get-sum", "get-tiny-image", "get-structured-content", "trigger-long-running-operation"}
    assert wanted <= set(one.tools), f"missing: {wanted - set(one.tools)}"


async def offers_tools_that_ask_people_and_none_that_asks_models(one: Client) -> None:
    """The server offers each kind only to a client that declares it. Ours declares elicitation alone."""
    assert {"trigger-elicitation-request", "trigger-url-elicitation"} <= set(one.tools)
    asking = [name for name in one.tools if "sampling" in name or "roots" in name]
    assert asking == []


async def asks_a_person_for_a_form(one: Client) -> None:
    said = (await one.call("trigger-elicitation-request", {})).text
    assert "User provided the requested information" in said, said
    assert len(one.person.asked) > 5, "it asked for too little"
    assert '"integer": 42' in said, "its default was not taken"


async def shows_an_address_and_opens_none(one: Client) -> None:
    before = len(one.person.asked)
    url = "https://example.com/connect"
    said = (await one.call("trigger-url-elicitation", {"url": url, "message": "Connect"})).text
    assert [question.link for question in one.person.asked[before:]] == [url]
    assert "accept" in said.lower(), said


async def lists_what_can_be_read(one: Client) -> None:
    said = (await one.call("read_resource", {})).text
    assert "demo://resource/static/document/features.md" in said, said
    assert "demo://resource/dynamic/text/{resourceId}" in said, said


async def reads_a_text(one: Client) -> None:
    said = (await one.call("read_resource", {"uri": "demo://resource/dynamic/text/1"})).text
    assert "Resource 1" in said, said


async def reads_a_file(one: Client) -> None:
    result = await one.call("read_resource", {"uri": "demo://resource/dynamic/blob/1"})
    (kept,) = result.attachments
    assert kept.size > 0, kept


async def tells_what_cannot_be_read(one: Client) -> None:
    said = await _refused(one, "read_resource", {"uri": "file:///etc/passwd"})
    assert "file:///etc/passwd" in said, said


async def calls_a_tool(one: Client) -> None:
    said = (await one.call("echo", {"message": "你好 🍡"})).text
    assert "你好 🍡" in said, said


async def calls_with_numbers(one: Client) -> None:
    said = (await one.call("get-sum", {"a": 2, "b": 3.5})).text
    assert "5.5" in said, said


async def answers_many_at_once(one: Client) -> None:
    said = await asyncio.gather(*(one.call("echo", {"message": f"n{number}"}) for number in range(20)))
    assert all(f"n{number}" in result.text for number, result in enumerate(said))


async def reports_progress(one: Client) -> None:
    lines: list[str] = []
    result = await one.call("trigger-long-running-operation", {"duration": 1, "steps": 4}, lines.append)
    assert "completed" in result.text, result.text
    assert lines == ["1/4", "2/4", "3/4", "4/4"], f"progress: {lines}"


async def keeps_a_picture(one: Client) -> None:
    result = await one.call("get-tiny-image", {})
    (kept,) = result.attachments
    assert kept.kind == "image", kept.kind
    assert len(result.images) == 1
    assert (one.folder / "media" / kept.hash).stat().st_size == kept.size


async def takes_structured_content(one: Client) -> None:
    result = await one.call("get-structured-content", {"location": "Chicago"})
    assert isinstance(result.data, Mapping), result.data
    assert {"temperature", "conditions", "humidity"} <= set(result.data), result.data


async def takes_annotated_content(one: Client) -> None:
    result = await one.call("get-annotated-message", {"messageType": "error", "includeImage": True})
    assert "Error: Operation failed" in result.text, result.text
    assert len(result.images) == 1


async def names_resource_links(one: Client) -> None:
    said = (await one.call("get-resource-links", {"count": 3})).text
    assert said.count("demo://") == 3, said


async def takes_an_embedded_text(one: Client) -> None:
    said = (await one.call("get-resource-reference", {"resourceType": "Text", "resourceId": 1})).text
    assert "demo://resource/dynamic/text/1" in said, said
    assert "Resource 1" in said, said


async def takes_an_embedded_file(one: Client) -> None:
    data = f"data:text/plain;base64,{base64.b64encode(b'qingtuan').decode()}"
    result = await one.call("gzip-file-as-resource", {"name": "a.gz", "data": data, "outputType": "resource"})
    (kept,) = result.attachments
    assert (kept.kind, kept.name) == ("file", "a.gz"), (kept.kind, kept.name)


async def tells_a_failure_in_the_words_of_the_server(one: Client) -> None:
    said = await _refused(one, "get-sum", {"a": "no number", "b": 1})
    assert "number" in said, said


async def refuses_a_tool_that_wants_a_task(one: Client) -> None:
    """It says `taskSupport: required`, and tasks are an extension that the client does not have."""
    if "simulate-research-query" in one.tools:
        said = await _refused(one, "simulate-research-query", {"topic": "tea"})
        assert "task" in said.lower(), said


async def goes_on_after_a_call_was_stopped(one: Client) -> None:
    begun = asyncio.Event()
    calling = asyncio.create_task(
        one.call("trigger-long-running-operation", {"duration": 60, "steps": 120}, lambda _: begun.set())
    )
    await begun.wait()
    calling.cancel()
    assert (await asyncio.gather(calling, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    assert "after" in (await one.call("echo", {"message": "after"})).text


async def keeps_what_the_server_logs(one: Client) -> None:
    """Sent every five seconds, beside any call: over HTTP on a stream of its own."""
    await one.call("toggle-simulated-logging", {})
    log = one.folder / "logs" / "mcp-peer.log"
    while not log.is_file() or not _LOGGED.search(log.read_text("utf-8")):  # noqa: ASYNC110 (a file tells nobody)
        await asyncio.sleep(0.1)


async def hides_our_environment(one: Client) -> None:
    said = (await one.call("get-env", {})).text
    assert _SECRET not in said, "the server sees variables of ours"
    assert "told-by-the-owner" in said, "it does not see what mcp.json gives it"


async def starts_again_after_its_end(one: Client) -> None:
    await one.servers.restart("peer")
    assert "again" in (await one.call("echo", {"message": "again"})).text


async def _refused(one: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """What a turn is told of a call that fails."""
    try:
        result = await one.call(tool, arguments)
    except ToolFailed as error:
        return error.words.en
    raise AssertionError(f"it went well: {result.text[:200]}")


_EVERYWHERE: tuple[Look, ...] = (
    lists_its_tools,
    offers_tools_that_ask_people_and_none_that_asks_models,
    asks_a_person_for_a_form,
    shows_an_address_and_opens_none,
    lists_what_can_be_read,
    reads_a_text,
    reads_a_file,
    tells_what_cannot_be_read,
    calls_a_tool,
    calls_with_numbers,
    answers_many_at_once,
    reports_progress,
    keeps_a_picture,
    takes_structured_content,
    takes_annotated_content,
    names_resource_links,
    takes_an_embedded_text,
    takes_an_embedded_file,
    tells_a_failure_in_the_words_of_the_server,
    refuses_a_tool_that_wants_a_task,
    goes_on_after_a_call_was_stopped,
    keeps_what_the_server_logs,
    starts_again_after_its_end,
)


def run(node: Node) -> Iterator[tuple[str, list[Check]]]:
    """Both transports and what was seen over each.

    Raises:
        Skipped: the server does not run here.
    """
    entry = {"command": str(node.binary), "args": node.command(_MODULE, "stdio")[1:], "env": {"A": "told-by-the-owner"}}
    os.environ[_UNTOLD] = _SECRET
    yield "server-everything, stdio", asyncio.run(_looked_at(entry, (*_EVERYWHERE, hides_our_environment)))
    with _listening(node) as url:
        checks = asyncio.run(_looked_at({"url": url}, _EVERYWHERE))
    left_out = Check(_name(hides_our_environment), "left out", "the server was not started by the client")
    yield "server-everything, streamable HTTP", [*checks, left_out]


def _name(look: Look) -> str:
    return look.__name__.replace("_", " ")


async def _looked_at(entry: Mapping[str, Any], looks: tuple[Look, ...]) -> list[Check]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            async with client(entry, Path(folder), Person()) as one:
                return [await _look(look, one) for look in looks]
        except ToolFailed as error:
            return [Check("connects", "failed", error.words.en)]


async def _look(look: Look, one: Client) -> Check:
    try:
        async with asyncio.timeout(_PATIENCE):
            await look(one)
    except TimeoutError:
        return Check(_name(look), "failed", f"no end within {_PATIENCE:g} s")
    except QingtuanError as error:
        return Check(_name(look), "failed", error.words.en)
    except (AssertionError, ValueError, LookupError, OSError) as error:
        return Check(_name(look), "failed", f"{type(error).__name__}: {error}"[:300])
    return Check(_name(look), "passed")


@contextmanager
def _listening(node: Node) -> Iterator[str]:
    """The server on a free port; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        node.command(_MODULE, "streamableHttp"),
        env={**os.environ, "PORT": str(port)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise Skipped("server-everything does not begin to listen")
