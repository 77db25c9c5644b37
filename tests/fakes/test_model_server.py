"""The scripted model service speaks the wire that real ones speak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.model_server import (
    ModelServer,
    Reply,
    ToolCall,
    call,
    model_process,
    on_result,
    on_user,
    script,
    when,
    without_tools,
)

TOOLS = [{"type": "function", "function": {"name": "remember", "parameters": {}}}]


def request(*messages: tuple[str, str], stream: bool = True, tools: bool = True) -> dict[str, Any]:
    said = [{"role": role, "content": text} for role, text in messages]
    return {"model": "m", "messages": said, "stream": stream, **({"tools": TOOLS} if tools else {})}


async def ask(server: ModelServer, body: dict[str, Any]) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{server.base_url}/chat/completions", json=body)


def joined(response: httpx2.Response) -> tuple[str, str, list[str]]:
    """Text, arguments of all calls, and finish reasons of a stream."""
    lines = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    calls = [made for choice in choices for made in choice["delta"].get("tool_calls", ())]
    arguments = "".join(made["function"]["arguments"] for made in calls)
    assert chunks[-1]["usage"]["completion_tokens"] > 0
    return text, arguments, [choice["finish_reason"] for choice in choices if choice["finish_reason"]]


async def test_rules_answer_a_dialogue_and_requests_are_kept() -> None:
    rules = script(
        on_user("香菜", call("remember", content="不吃香菜"), "早就记住了。"),
        on_result("", "记住了。" * 20),
        without_tools("[]"),
        when(lambda asked: asked.text_of("system") == "special", "特别"),
    )
    async with ModelServer(rules) as server:
        first = joined(await ask(server, request(("system", "s"), ("user", "我不吃香菜"))))
        assert first == ("", '{"content": "不吃香菜"}', ["tool_calls"])
        assert (
            joined(await ask(server, request(("user", "我不吃香菜"), ("tool", "ok"), ("system", "s"))))[0][:4]
            == "记住了。"
        )
        assert joined(await ask(server, request(("user", "我不吃香菜"))))[0] == "早就记住了。"
        assert joined(await ask(server, request(("user", "别的"), tools=False)))[0] == "[]"
        assert joined(await ask(server, request(("system", "special"), ("user", "别的"))))[0] == "特别"
        assert joined(await ask(server, request(("user", "别的"))))[0] == "好的。"
    assert [asked.tools for asked in server.requests] == [["remember"]] * 3 + [[]] + [["remember"]] * 2
    assert json.loads(server.requests[0].raw) == server.requests[0].body
    assert server.requests[0].last["content"] == "我不吃香菜"


async def test_an_answer_in_one_piece() -> None:
    reply = Reply("文", (ToolCall("remember", "{broken"), ToolCall("remember", {})), reasoning="想", finish="length")
    async with ModelServer(lambda asked: reply) as server:
        choice = (await ask(server, request(("user", "x"), stream=False))).json()["choices"][0]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["reasoning_content"] == "想"
    calls = choice["message"]["tool_calls"]
    assert [made["function"]["arguments"] for made in calls] == ["{broken", "{}"]
    assert len({made["id"] for made in calls}) == 2


async def test_errors_raw_bodies_and_broken_connections() -> None:
    replies = iter(
        [
            Reply("slow down", status=429, headers={"Retry-After": "2"}),
            Reply(raw=b"<html>", headers={"Content-Type": "text/html"}),
            Reply("x" * 200, cut_after=3, pause=0.001),
        ]
    )
    async with ModelServer(lambda asked: next(replies)) as server:
        limited = await ask(server, request(("user", "x")))
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "2")
        assert limited.json()["error"]["message"] == "slow down"
        assert (await ask(server, request(("user", "x")))).text == "<html>"
        with pytest.raises(httpx2.RemoteProtocolError):
            await ask(server, request(("user", "x")))


async def test_a_failed_assertion_in_a_script_fails_the_test() -> None:
    def refuses(asked: object) -> Reply:
        raise AssertionError("not so")

    with pytest.raises(AssertionError, match="not so"):
        async with ModelServer(refuses) as server:
            assert (await ask(server, request(("user", "x")))).status_code == 400


def test_as_a_process_with_a_script_file(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"user": "记住", "call": {"name": "remember", "arguments": {"content": "不吃香菜"}}},
        {"result": "", "text": "记住了。"},
        {"tools": False, "text": "[]"},
    ]
    with model_process(tmp_path, rules) as base_url, httpx2.Client(trust_env=False) as client:
        assert client.get(f"{base_url}/models").json()["data"][0]["id"] == "scripted"
        assert client.get(f"{base_url}/else").status_code == 404
        answers = [
            client.post(f"{base_url}/chat/completions", json=body).json()["choices"][0]["message"]
            for body in (
                request(("user", "记住：不吃香菜"), stream=False),
                request(("user", "记住"), ("tool", "ok"), stream=False),
                request(("user", "别的"), stream=False, tools=False),
            )
        ]
    assert answers[0]["tool_calls"][0]["function"] == {"name": "remember", "arguments": '{"content": "不吃香菜"}'}
    assert [answer["content"] for answer in answers[1:]] == ["记住了。", "[]"]
    assert len((tmp_path / "requests.jsonl").read_bytes().splitlines()) == 3
