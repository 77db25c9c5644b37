"""A scripted model service: the OpenAI-compatible wire over real HTTP, with answers that a test decides.

In a test:

    rules = script(on_user("记住", call("remember", content="不吃香菜")), on_result("", "记住了。"))
    async with ModelServer(rules) as server:
        ...  # server.base_url, server.requests

As a process of its own, for kill tests and benchmarks, with the same rules as JSON:

    python -m tests.fakes.model_server --port 0 script.json --log requests.jsonl

It prints its base URL on the first line (`model_process` starts it and reads that). `script.json` is a list of rules,
of which the first that fits answers:

    {"user": "记住", "call": {"name": "remember", "arguments": {"content": "不吃香菜"}}}
    {"result": "", "text": "记住了。"}
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model makes. `arguments` may be text, to be as broken as a test likes."""

    name: str
    arguments: Mapping[str, Any] | str

    @property
    def json(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the service."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: str | None = None
    """`stop` or `tool_calls` by what the answer holds, unless given."""
    delay: float = 0.0
    """Seconds before the first byte."""
    pause: float = 0.0
    """Seconds between two pieces of a stream."""
    piece: int = 24
    """Characters of text or arguments in one piece."""
    cut_after: int | None = None
    """The connection is dropped after so many pieces."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """The body as it stands, instead of what the fields above would give."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        messages: Sequence[Mapping[str, Any]] = self.body.get("messages", ())
        return messages

    @property
    def tools(self) -> list[str]:
        """The names of the tools it carries, in order."""
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]

    @property
    def last(self) -> Mapping[str, Any]:
        """The last message that is no system message."""
        return next((message for message in reversed(self.messages) if message["role"] != "system"), {})

    def text_of(self, role: str) -> str:
        """The text of the last message of `role`."""
        return next((_text(message) for message in reversed(self.messages) if message["role"] == role), "")


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


Script = Callable[[Asked], Reply]
Answer = Reply | str | Script


@dataclass(slots=True)
class Rule:
    """When a request fits, and what is answered; the last answer serves all further times."""

    fits: Callable[[Asked], bool]
    answers: Sequence[Answer]
    used: int = 0

    def answer(self, asked: Asked) -> Reply:
        chosen = self.answers[min(self.used, len(self.answers) - 1)]
        self.used += 1
        if isinstance(chosen, str):
            return Reply(chosen)
        return chosen if isinstance(chosen, Reply) else chosen(asked)


def call(name: str, **arguments: Any) -> Reply:
    """An answer that calls one tool."""
    return Reply(calls=(ToolCall(name, arguments),))


def on_user(part: str, *answers: Answer) -> Rule:
    """Fits when the person spoke last and said `part`."""
    return Rule(lambda asked: asked.last.get("role") == "user" and part in _text(asked.last), answers)


def on_result(part: str, *answers: Answer) -> Rule:
    """Fits when the result of a tool stands last and holds `part`."""
    return Rule(lambda asked: asked.last.get("role") == "tool" and part in _text(asked.last), answers)


def without_tools(*answers: Answer) -> Rule:
    """Fits auxiliary calls (extraction, summary, condition) and last rounds: they carry no tools."""
    return Rule(lambda asked: not asked.tools, answers)


def when(fits: Callable[[Asked], bool], *answers: Answer) -> Rule:
    """Fits by a test's own condition."""
    return Rule(fits, answers)


def script(*rules: Rule) -> Script:
    """The first rule that fits answers; without one, `好的。`, or `[]` where no tools are shown."""
    every = (*rules, without_tools("[]"), when(lambda _: True, "好的。"))

    def answer(asked: Asked) -> Reply:
        return next(rule for rule in every if rule.fits(asked)).answer(asked)

    return answer


def script_from_json(entries: Sequence[Mapping[str, Any]]) -> Script:
    """The rules of a script file: `user`, `result` or `tools` say when; all else is the reply."""
    return script(*(_rule_from_json(entry) for entry in entries))


def _rule_from_json(entry: Mapping[str, Any]) -> Rule:
    fields = dict(entry)
    role, part = "", ""
    if "user" in fields:
        role, part = "user", fields.pop("user")
    elif "result" in fields:
        role, part = "tool", fields.pop("result")
    shown = fields.pop("tools", None)
    calls = [fields.pop("call")] if "call" in fields else fields.pop("calls", [])
    if "raw" in fields:
        fields["raw"] = fields["raw"].encode()
    reply = Reply(calls=tuple(ToolCall(made["name"], made.get("arguments", {})) for made in calls), **fields)

    def fits(asked: Asked) -> bool:
        if shown is not None and bool(asked.tools) is not shown:
            return False
        return not role or (asked.last.get("role") == role and part in _text(asked.last))

    return Rule(fits, (reply,))


class ModelServer:
    """The service, on a free port of the loopback address, for as long as the `async with` lasts.

    An assertion that fails in the script is answered with 400 and raised at the end of the `async with`.
    """

    def __init__(self, answer: Script | None = None, *, port: int = 0, log: Path | None = None) -> None:
        """`log` gets the body of each chat request, one a line."""
        self.answer = answer or script()
        self.requests: list[Asked] = []
        """Chat requests only, in order of arrival."""
        self._port = port
        self._log = log
        self._ids = itertools.count(1)
        self._failure: AssertionError | None = None
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=1 << 24)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = [task for task in self._connections.values() if task is not None]
        for writer in self._connections:
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        if self._failure is not None and kind is None:
            raise self._failure

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections[writer] = asyncio.current_task()
        try:
            while (asked := await _read_request(reader)) is not None:
                if not await self._respond(asked, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections.pop(writer, None)
            writer.close()

    async def _respond(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False if the connection is to be dropped."""
        if not asked.path.endswith("/chat/completions"):
            known = asked.path.endswith("/models")
            writer.write(_whole(200, _MODELS, {}) if known else _whole(404, b"{}", {}))
            await writer.drain()
            return True
        self._note(asked)
        try:
            reply = self.answer(asked)
        except AssertionError as error:
            self._failure = error
            reply = Reply(f"the script says no: {error}", status=400)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.raw is not None or reply.status != 200 or not asked.body.get("stream"):
            writer.write(_whole(reply.status, self._body(reply, asked), reply.headers))
            await writer.drain()
            return True
        return await self._stream(reply, asked, writer)

    def _note(self, asked: Asked) -> None:
        self.requests.append(asked)
        if self._log is not None:
            with self._log.open("ab") as file:
                file.write(asked.raw.replace(b"\n", b" ") + b"\n")

    async def _stream(self, reply: Reply, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        head = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **reply.headers}
        writer.write(_head(200, head))
        for number, data in enumerate(self._pieces(reply, asked)):
            if number == reply.cut_after:
                writer.transport.abort()
                return False
            line = b"data: " + data + b"\n\n"
            writer.write(b"%x\r\n%s\r\n" % (len(line), line))
            if reply.pause:
                await writer.drain()
                await asyncio.sleep(reply.pause)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _pieces(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})
        for part in _parts(reply.reasoning, reply.piece):
            yield self._chunk({"reasoning_content": part})
        for part in _parts(reply.text, reply.piece):
            yield self._chunk({"content": part})
        for index, made in enumerate(reply.calls):
            function = {"name": made.name, "arguments": ""}
            yield self._chunk(
                {"tool_calls": [{"index": index, "id": self._call_id(), "type": "function", "function": function}]}
            )
            for part in _parts(made.json, reply.piece):
                yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        yield self._chunk({}, finish=_finish(reply))
        yield json.dumps({**_ENVELOPE, "choices": [], "usage": _usage(reply, asked)}).encode()
        yield b"[DONE]"

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return json.dumps({**_ENVELOPE, "choices": [choice]}, ensure_ascii=False).encode()

    def _body(self, reply: Reply, asked: Asked) -> bytes:
        if reply.raw is not None:
            return reply.raw
        if reply.status != 200:
            return json.dumps({"error": {"message": reply.text or "scripted error", "code": reply.status}}).encode()
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": self._call_id(),
                    "type": "function",
                    "function": {"name": made.name, "arguments": made.json},
                }
                for made in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        whole = {**_ENVELOPE, "object": "chat.completion", "choices": [choice], "usage": _usage(reply, asked)}
        return json.dumps(whole, ensure_ascii=False).encode()

    def _call_id(self) -> str:
        return f"call_{next(self._ids)}"


_ENVELOPE = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
_MODELS = json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}).encode()


def _parts(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _usage(reply: Reply, asked: Asked) -> dict[str, int]:
    prompt = len(asked.raw) // 4
    completion = (len(reply.text) + sum(len(made.json) for made in reply.calls)) // 2 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode()


def _whole(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    return _head(status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}) + body


async def _read_request(reader: asyncio.StreamReader) -> Asked | None:
    """The next request of a connection, or None when it has ended."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split(" ")[1], headers, raw, json.loads(raw) if raw else {})


@contextlib.contextmanager
def model_process(folder: Path, rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The service as a process of its own; gives its base URL. Its requests stand in `folder/requests.jsonl`."""
    path = folder / "script.json"
    path.write_text(json.dumps(rules, ensure_ascii=False), "utf-8")
    command = [sys.executable, "-m", "tests.fakes.model_server", str(path), "--log", str(folder / "requests.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def _run(server: ModelServer) -> None:
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model service.")
    parser.add_argument("script", type=Path, nargs="?", help="JSON list of rules")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append the body of each chat request, one a line")
    given = parser.parse_args()
    answer = script_from_json(json.loads(given.script.read_text("utf-8"))) if given.script else None
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(ModelServer(answer, port=given.port, log=given.log)))


if __name__ == "__main__":
    main()
