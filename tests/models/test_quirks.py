"""Each quirk of a provider as raw bytes through the real client, and one more message that must still work."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.models.chat import ChatMessage, ImagePart
from qingtuan.models.client import Endpoint, Timeouts
from qingtuan.models.service import ModelConfig, Models
from qingtuan.models.wire import CUT_OFF
from tests.fakes.model_session import CallIds, ModelSession
from tests.fakes.raw_server import (
    STREAM_END,
    STREAM_HEAD,
    Cut,
    Hold,
    RawServer,
    Script,
    chunked,
    delta,
    error,
    events,
    http,
    says,
    stream,
    tool_delta,
)
from tests.fakes.strict_provider import judge

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
KEY = "sk-secret-0123456789"


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer(judge=judge) as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


def models(server: RawServer, clock: ManualClock, **changes: object) -> Models:
    config = ModelConfig(
        Endpoint(server.url, KEY),
        "test-model",
        **changes,  # type: ignore[arg-type]
    )
    return Models.of_endpoint(config, clock, random.Random(1), CallIds())


@pytest.fixture
async def session(server: RawServer, clock: ManualClock) -> AsyncIterator[ModelSession]:
    model = models(server, clock)
    yield ModelSession(model)
    await model.close()


async def goes_on(session: ModelSession, server: RawServer) -> None:
    """One more message in the same session is a request that every provider takes."""
    server.play(says("接着说"))
    answer = await session.say("还有呢")
    assert (answer.text, answer.finish, answer.usage.prompt) == ("接着说", "stop", 10)
    assert not server.scripts


FULL = '{"place":"武汉"}'
HALF_1, HALF_2 = '{"place":', '"武汉"}'

CALLS: dict[str, list[object]] = {
    "as the book says": [
        tool_delta(0, "a", "weather", ""),
        tool_delta(0, None, None, HALF_1),
        tool_delta(0, None, None, HALF_2),
    ],
    "id null": [delta(tool_calls=[{"index": 0, "id": None, "function": {"name": "weather", "arguments": FULL}}])],
    "id empty": [tool_delta(0, "", "weather", HALF_1), tool_delta(0, "", "", HALF_2)],
    "id missing and no index": [tool_delta(None, None, "weather", HALF_1), tool_delta(None, None, None, HALF_2)],
    "a new id in each piece": [tool_delta(0, "a", "weather", HALF_1), tool_delta(0, "b", None, HALF_2)],
    "name repeated in each piece": [tool_delta(0, "a", "weather", HALF_1), tool_delta(0, "a", "weather", HALF_2)],
    "name repeated, no id": [tool_delta(0, None, "weather", HALF_1), tool_delta(0, None, "weather", HALF_2)],
    "name repeated in an empty piece behind": [tool_delta(0, "a", "weather", FULL), tool_delta(0, "a", "weather", "")],
    "arguments as an object": [tool_delta(0, "a", "weather", {"place": "武汉"})],
}


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call"])
@pytest.mark.parametrize("quirk", CALLS)
async def test_one_call(quirk: str, finish: str, session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(*CALLS[quirk], delta(finish))))
    answer = await session.say("武汉天气")
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [("weather", {"place": "武汉"})]
    assert (answer.finish, answer.incomplete) == ("tool_calls", None)
    await goes_on(session, server)


A, B = '{"place":"A"}', '{"place":"B"}'

PARALLEL: dict[str, list[object]] = {
    "as the book says": [tool_delta(0, "a", "weather", A), tool_delta(1, "b", "weather", B)],
    "all with index 0, told apart by id": [tool_delta(0, "a", "weather", A), tool_delta(0, "b", "weather", B)],
    "all with index 0, in pieces": [
        tool_delta(0, "a", "weather", A[:5]),
        tool_delta(0, None, None, A[5:]),
        tool_delta(0, "b", "weather", B[:5]),
        tool_delta(0, None, None, B[5:]),
    ],
    "all with index 0, no ids": [tool_delta(0, None, "weather", A), tool_delta(0, None, "weather", B)],
    "no index, no ids": [tool_delta(None, None, "weather", A), tool_delta(None, None, "weather", B)],
    "one id for both": [tool_delta(0, "a", "weather", A), tool_delta(1, "a", "weather", B)],
    "one id and one index for both": [tool_delta(0, "a", "weather", A), tool_delta(0, "a", "weather", B)],
    "mixed, by index": [
        tool_delta(0, "a", "weather", A[:5]),
        tool_delta(1, "b", "weather", B[:5]),
        tool_delta(0, None, None, A[5:]),
        tool_delta(1, None, None, B[5:]),
    ],
    "mixed, all with index 0, by id": [
        tool_delta(0, "a", "weather", A[:5]),
        tool_delta(0, "b", "weather", B[:5]),
        tool_delta(0, "a", None, A[5:]),
        tool_delta(0, "b", None, B[5:]),
    ],
    "both in one chunk": [
        delta(
            tool_calls=[
                {"index": 0, "id": "a", "function": {"name": "weather", "arguments": A}},
                {"index": 1, "id": "b", "function": {"name": "weather", "arguments": B}},
            ]
        )
    ],
}


@pytest.mark.parametrize("quirk", PARALLEL)
async def test_two_calls_at_once(quirk: str, session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(*PARALLEL[quirk], delta("tool_calls"))))
    answer = await session.say("两地天气")
    assert [call.arguments for call in answer.calls] == [A, B]
    assert len({call.id for call in answer.calls}) == 2
    await goes_on(session, server)


async def test_two_tools_with_index_0_and_without_ids(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(tool_delta(0, None, "weather", A[:4]), tool_delta(0, None, "todo_list", "{}"))))
    answer = await session.say("天气和待办")
    assert [(call.name, call.arguments) for call in answer.calls] == [("weather", A[:4]), ("todo_list", "{}")]
    await goes_on(session, server)


async def test_an_id_that_comes_again_in_a_later_round(session: ModelSession, server: RawServer) -> None:
    for _ in range(2):
        server.play(stream(events(tool_delta(0, "call_1", "weather", FULL), delta("tool_calls"))))
        await session.say("天气")
    await goes_on(session, server)
    ids = [call.id for message in session.messages for call in message.calls]
    assert len(set(ids)) == 2


@pytest.mark.parametrize("name", ["no_such_tool", "函数.天气", "functions.weather", "", "x" * 100])
async def test_an_unknown_tool_does_not_poison_the_session(name: str, session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(tool_delta(0, "a", name, FULL), delta("tool_calls"))))
    answer = await session.say("天气")
    assert [call.name for call in answer.calls] == [name]
    await goes_on(session, server)


async def test_a_call_without_parameters(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(tool_delta(0, "a", "todo_list", ""), delta("tool_calls"))))
    assert [call.arguments for call in (await session.say("待办")).calls] == ["{}"]
    await goes_on(session, server)


async def test_arguments_cut_off_by_the_token_limit(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(tool_delta(0, "a", "weather", '{"place":"武'), delta("length"))))
    answer = await session.say("天气")
    assert [call.arguments for call in answer.calls] == ['{"place":"武'], "kept as it came, never mended"
    assert (answer.finish, answer.incomplete) == ("length", CUT_OFF)
    await goes_on(session, server)
    assert b"unparsed" not in server.asked[-1].body
    assert server.asked[-1].json["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("arguments", ['{"place":"武', "武汉", "[1]", "{}{}", "null", "[" * 100_000])
async def test_malformed_arguments_reach_the_check_as_they_are(
    arguments: str, session: ModelSession, server: RawServer
) -> None:
    server.play(stream(events(tool_delta(0, "a", "weather", arguments), delta("tool_calls"))))
    assert [call.arguments for call in (await session.say("天气")).calls] == [arguments]
    await goes_on(session, server)


async def test_calls_of_a_stream_without_a_finish(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(tool_delta(0, "a", "weather", '{"place":"武'))))
    assert (await session.say("天气")).incomplete
    await goes_on(session, server)


async def test_text_cut_off_by_the_token_limit(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(delta(content="很久以前"), delta("length"))))
    answer = await session.say("讲个故事")
    assert (answer.text, answer.finish, answer.incomplete) == ("很久以前", "length", None)
    await goes_on(session, server)


EMPTY = stream(events(delta(content=""), delta("stop")))


async def test_an_empty_answer_is_asked_for_once_more(session: ModelSession, server: RawServer) -> None:
    server.play(EMPTY, says("你好"))
    assert (await session.say("你好")).text == "你好"
    assert session.record.failures == [("test-model", "an empty answer", True)]
    await goes_on(session, server)


async def test_two_empty_answers_are_an_honest_failure(session: ModelSession, server: RawServer) -> None:
    server.play(EMPTY, stream(events(delta(content=" \n"), delta("stop"))))
    with pytest.raises(ModelUnreachable) as caught:
        await session.say("你好")
    assert caught.value.say("zh") == "模型没给出回答，换个说法再试一次吧。"
    await goes_on(session, server)


PLAIN = {
    "done is missing": events(delta(content="你好"), delta("stop"), done=False),
    "finish is missing": events(delta(content="你好")),
    "comments": b": hi\n\n" + events(delta(content="你"), b": keep-alive\n\n", delta(content="好"), delta("stop")),
    "choices null": events({"choices": None}, delta(content="你好"), {"choices": [], "usage": None}, delta("stop")),
    "extra fields": events({"x": 1, "choices": [{"index": 0, "delta": {"content": "你好", "refusal": None, "y": []}}]}),
    "an empty event": events(b"data:\n\n", delta(content="你好"), delta("stop")),
    "a role first": events(delta(role="assistant", content=None), delta(content="你好"), delta("stop")),
    "crlf": events(delta(content="你好"), delta("stop")).replace(b"\n", b"\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + events(delta(content="你好"), delta("stop")),
    "content in parts": events(
        delta(content=[{"type": "text", "text": "你"}, {"type": "text", "text": "好"}]), delta("stop")
    ),
    "no last blank line": events(delta(content="你好"), delta("stop"), done=False).rstrip(),
    "a second choice": events(
        {"choices": [{"index": 0, "delta": {"content": "你好"}}, {"index": 1, "delta": {"content": "不"}}]},
        delta("stop"),
    ),
}


@pytest.mark.parametrize("size", [1, 7, None])
@pytest.mark.parametrize("quirk", PLAIN)
async def test_harmless(quirk: str, size: int | None, session: ModelSession, server: RawServer) -> None:
    server.play(stream(PLAIN[quirk], size=size))
    answer = await session.say("你好")
    assert (answer.text, answer.finish, answer.calls) == ("你好", "stop", ())
    await goes_on(session, server)


async def test_an_emoji_that_is_cut_in_half_as_escapes(session: ModelSession, server: RawServer) -> None:
    def chunk(fields: str) -> bytes:
        return f'data: {{"choices":[{{"index":0,"delta":{{{fields}}}}}]}}\n\n'.encode()

    argument = r'"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"%s"}}]'
    chunks = [
        r'"content":"好\ud83d"',
        r'"content":"\ude42的"',
        argument % r"{\"place\":\"\ud83d",
        argument % r"\ude42\"}",
    ]
    server.play(stream(events(*map(chunk, chunks), delta("tool_calls"))))
    answer = await session.say("天气")
    assert (answer.text, [call.arguments for call in answer.calls]) == ("好🙂的", ['{"place":"🙂"}'])
    await goes_on(session, server)


async def test_half_an_emoji_alone(session: ModelSession, server: RawServer) -> None:
    server.play(stream(b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d b\\ude42"}}]}\n\ndata: [DONE]\n\n'))
    assert (await session.say("你\ud83d好")).text == "a\ufffd b\ufffd"
    await goes_on(session, server)


async def test_gzip(session: ModelSession, server: RawServer) -> None:
    text = gzip.compress(events(delta(content="你好"), delta("stop")))
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    server.play([head + b"".join(chunked(text[i : i + 9]) for i in range(0, len(text), 9)) + STREAM_END])
    assert (await session.say("你好")).text == "你好"
    await goes_on(session, server)


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain"])
async def test_an_answer_in_one_piece(content_type: str, session: ModelSession, server: RawServer) -> None:
    message = {
        "role": "assistant",
        "content": "查一下",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": FULL}}],
    }
    document = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    server.play([http(json.dumps(document).encode(), content_type=content_type)])
    answer = await session.say("天气")
    assert (answer.text, [call.arguments for call in answer.calls], answer.usage.completion) == ("查一下", [FULL], 4)
    await goes_on(session, server)


async def test_usage_in_the_last_chunk(session: ModelSession, server: RawServer) -> None:
    last = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60}}
    server.play(stream(events(delta(content="你好"), delta("stop"), last)))
    usage = (await session.say("你好")).usage
    assert (usage.prompt, usage.completion, usage.cached, usage.estimated) == (100, 7, 60, False)
    await goes_on(session, server)


async def test_usage_missing_is_estimated_and_marked(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(delta(content="你好" * 20), delta("stop"))))
    usage = (await session.say("你好")).usage
    assert usage.estimated
    assert (usage.prompt, usage.completion) == (-(-len(server.asked[0].body) // 4), 30)
    await goes_on(session, server)


async def test_thinking_in_the_text_is_never_shown(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(*(delta(content=c) for c in "<think>他在问好</think>\n你好"), delta("stop"))))
    answer = await session.say("你好")
    assert (answer.text, answer.reasoning) == ("你好", "他在问好")
    await goes_on(session, server)
    assert "他在问好" not in server.asked[-1].body.decode()


async def test_thinking_that_only_closes_is_taken_back(session: ModelSession, server: RawServer) -> None:
    server.play(stream(events(delta(content="他在问好"), delta(content="</think>你好"), delta("stop"))))
    assert ((await session.say("你好")).text, session.taken_back) == ("你好", 1)
    await goes_on(session, server)


@pytest.mark.parametrize(
    ("model", "returned"),
    [
        ("deepseek-flash", True),
        ("qwen-plus", True),
        ("glm-5", True),
        ("kimi-k2.5", True),
        ("gpt-4.1", False),
        ("gpt-5", False),
    ],
)
async def test_thinking_beside_calls_goes_back_to_whom_needs_it(
    model: str, returned: bool, session: ModelSession, server: RawServer
) -> None:
    session = session.with_params(model=model)
    chunks = [delta(reasoning_content="先查"), delta(reasoning_content="天气"), tool_delta(0, "a", "weather", FULL)]
    server.play(stream(events(*chunks, delta("tool_calls"))))
    assert (await session.say("天气")).reasoning == "先查天气"
    await goes_on(session, server)
    assert server.asked[-1].json["messages"][2].get("reasoning_content") == ("先查天气" if returned else None)


async def test_tool_choice_is_never_sent(session: ModelSession, server: RawServer) -> None:
    server.play(says("你好"))
    await session.say("你好")
    assert "tools" in server.asked[0].json
    assert "tool_choice" not in server.asked[0].json


BUSY: dict[str, tuple[Script, float | None]] = {
    "429": (error(429, "slow down"), None),
    "429, seconds": (error(429, "slow down", Retry_After="7"), 7.0),
    "429, a date": (error(429, "slow down", Retry_After="Mon, 30 Nov 2026 08:00:09 GMT"), 9.0),
    "429, a date gone by": (error(429, "slow down", Retry_After="Mon, 30 Nov 2026 07:00:00 GMT"), 0.0),
    "429, nonsense": (error(429, "slow down", Retry_After="soon"), None),
    "500": (error(500, "oops"), None),
    "502, a page": ([http(b"<html><h1>Bad gateway</h1></html>", 502, "text/html")], None),
    "503": (error(503, "busy", Retry_After="2"), 2.0),
    "529": (error(529, "overloaded"), None),
    "hung up": ([Cut()], None),
    "cut in the middle": ([STREAM_HEAD + chunked(events(delta(content="你"), done=False)), Cut()], None),
    "ended in the middle": (
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + events(delta(content="你"), done=False)],
        None,
    ),
    "half a document": ([http(b'{"choices": [{"mess')], None),
    "an error in the stream": (stream(events(delta(content="你"), {"error": {"message": "server overloaded"}})), None),
    "an error in the stream, by its event": (stream(b'event: error\ndata: {"message":"oops","code":500}\n\n'), None),
    "an error with status 200": ([http(b'{"error":{"message":"try later","code":"503"}}')], None),
    "given up by the provider": (stream(events(delta(content="你"), delta("insufficient_system_resource"))), None),
    "no JSON in the stream": (stream(b"data: {oops\n\n"), None),
    "nothing at all": ([http(b"")], None),
}


HALF_SAID = {
    "cut in the middle",
    "ended in the middle",
    "an error in the stream",
    "given up by the provider",
}


@pytest.mark.parametrize("quirk", BUSY)
async def test_tried_again_after(quirk: str, session: ModelSession, server: RawServer, clock: ManualClock) -> None:
    script, asked_to_wait = BUSY[quirk]
    server.play(script, says("你好"))
    assert (await session.say("你好")).text == "你好"
    waited = clock.monotonic()
    low, high = (0.25, 0.5) if asked_to_wait is None else (asked_to_wait, asked_to_wait + 0.5)
    assert low <= waited <= high
    assert [again for _, _, again in session.record.failures] == [True]
    assert session.taken_back == (quirk in HALF_SAID)
    await goes_on(session, server)


SILENCES: dict[str, tuple[Timeouts, Script, str]] = {
    "before the first byte": (Timeouts(first_byte=0.4), [Hold()], "no answer within 0.4 s"),
    "in the middle": (
        Timeouts(between_chunks=0.4),
        [STREAM_HEAD + chunked(events(delta(content="你"), done=False)), Hold()],
        "silent for 0.4 s",
    ),
}


@pytest.mark.parametrize("quirk", SILENCES)
async def test_silence(quirk: str, server: RawServer, clock: ManualClock) -> None:
    timeouts, script, reason = SILENCES[quirk]
    model = models(server, clock, timeouts=timeouts)
    session = ModelSession(model)
    server.play(script, says("你好"))
    assert (await session.say("你好")).text == "你好"
    assert session.record.failures == [("test-model", reason, True)]
    assert session.taken_back == (quirk == "in the middle")
    await goes_on(session, server)
    await model.close()


async def test_the_fallback_comes_after_three_attempts(server: RawServer, clock: ManualClock) -> None:
    model = models(server, clock, fallback_model="other-model")
    session = ModelSession(model)
    server.play(*[error(503, "down")] * 3, says("你好，我是替补"))
    answer = await session.say("你好")
    assert (answer.text, answer.model) == ("你好，我是替补", "other-model")
    assert session.record.models == ["test-model"] * 3 + ["other-model"]
    await goes_on(session, server)
    await model.close()


async def test_whoever_asks_for_too_long_a_wait_is_left_for_the_fallback(server: RawServer, clock: ManualClock) -> None:
    model = models(server, clock, fallback_model="other-model")
    session = ModelSession(model)
    server.play(error(429, "slow down", Retry_After="3600"), says("你好"))
    assert (await session.say("你好")).model == "other-model"
    assert clock.monotonic() == 0
    await model.close()


async def test_nobody_answers(session: ModelSession, server: RawServer) -> None:
    server.play(*[error(500, f"oops {KEY}")] * 3)
    with pytest.raises(ModelUnreachable) as caught:
        await session.say("你好")
    assert caught.value.say("zh") == "我这会儿连不上模型，稍后再试。"
    assert caught.value.detail == "HTTP 500: oops *** · error"
    assert [again for _, _, again in session.record.failures] == [True, True, False]
    await goes_on(session, server)


REFUSALS: dict[str, tuple[Script, str]] = {
    "content filter (OpenAI)": (error(400, "The response was filtered", "content_filter"), "content"),
    "content filter (Qwen)": (error(400, "Input data may be improper.", "data_inspection_failed"), "content"),
    "content filter (DeepSeek)": (error(400, "Content Exists Risk"), "content"),
    "content filter (GLM)": (error(400, "系统检测到输入或生成内容可能包含不安全或敏感内容", "1301"), "content"),
    "content filter, by its finish": (stream(events(delta(content="我"), delta("content_filter"))), "content"),
    "content filter, by its finish (GLM)": (stream(events(delta("sensitive"))), "content"),
    "content filter, in the stream": (stream(events({"error": {"message": "content filter", "code": 400}})), "content"),
    "wrong key": (error(401, f"Incorrect API key provided: {KEY}", "invalid_api_key"), "key"),
    "wrong key (400)": (error(400, "API key not valid. Please pass a valid API key."), "key"),
    "no credit": (error(402, "Insufficient Balance"), "balance"),
    "no credit (429)": (error(429, "You exceeded your current quota", "insufficient_quota"), "balance"),
    "no credit (Qwen)": (error(400, "Access denied, account is in good standing", "Arrearage"), "balance"),
    "no such model": (error(404, "The model `x` does not exist", "model_not_found"), "model"),
    "no such model (DeepSeek)": (error(400, "Model Not Exist"), "model"),
    "history": (error(400, "messages with role 'tool' must be a response to tool_calls"), "history"),
    "history (thinking)": (error(400, "The reasoning_content in the thinking mode must be passed back"), "history"),
    "history too long": (error(400, "maximum context length is 4096 tokens", "context_length_exceeded"), "history"),
    "a picture": (error(400, "unknown variant `image_url`, expected `text`"), "history"),
    "something else": (error(422, "temperature must be 1"), "request"),
    "a web page": ([http(b"<!doctype html><title>Welcome</title>", 200, "text/html")], "request"),
    "a web page (404)": ([http(b"<html>not here</html>", 404, "text/html")], "request"),
    "moved": ([http(b"", 301, Location="https://example.com/v1")], "request"),
    "an odd shape": ([http(b'{"detail":"nope"}', 400)], "request"),
}  # fmt: skip


@pytest.mark.parametrize("quirk", REFUSALS)
async def test_refused(quirk: str, session: ModelSession, server: RawServer, clock: ManualClock) -> None:
    script, reason = REFUSALS[quirk]
    server.play(script)
    with pytest.raises(ModelRefused) as caught:
        await session.say("你好")
    assert caught.value.reason == reason
    assert caught.value.say("zh")
    assert session.seen == ""
    assert clock.monotonic() == 0, "a refusal is not tried again"
    for shown in (str(caught.value), repr(caught.value), repr(session.record.failures), repr(session.model)):
        assert KEY not in shown
    await goes_on(session, server)


async def test_a_model_that_does_not_exist_makes_way_for_the_fallback(server: RawServer, clock: ManualClock) -> None:
    model = models(server, clock, fallback_model="other-model")
    session = ModelSession(model)
    server.play(error(404, "The model does not exist", "model_not_found"), says("你好"))
    assert (await session.say("你好")).model == "other-model"
    server.play(error(401, "no"), error(404, "The model does not exist"))
    with pytest.raises(ModelRefused) as caught:
        await session.say("你好")
    assert caught.value.reason == "key", "what is wrong with the first is what must be mended"
    await model.close()


PICTURE = ImagePart("image/png", b"\x89PNG", "https://example.com/a.png")


@pytest.mark.parametrize(
    ("vision", "expected"),
    [
        ("url", [{"type": "text", "text": "这是什么"}, {"type": "image_url", "image_url": {"url": PICTURE.url}}]),
        ("data", [{"type": "text", "text": "这是什么"},
                  {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}]),
        ("none", "这是什么\n\n[图片]"),
    ],
)  # fmt: skip
async def test_a_picture_goes_in_the_form_of_the_profile(
    vision: str, expected: object, server: RawServer, clock: ManualClock
) -> None:
    model = models(server, clock, profiles={"test-model": {"vision": vision}})
    session = ModelSession(model)
    server.play(says("一只猫"))
    await session.say(ChatMessage("user", "这是什么", images=(PICTURE,)))
    assert server.asked[0].json["messages"][1]["content"] == expected
    await goes_on(session, server)
    await model.close()


async def test_pictures_are_looked_at_without_tools_and_thinking(server: RawServer, clock: ManualClock) -> None:
    model = models(server, clock, vision_model="qwen-vl-max", thinking=True)
    choice = model.choose("vision")
    assert (choice.model, choice.tools, choice.thinking, choice.sees) == ("qwen-vl-max", False, False, True)
    assert model.choose("reason").thinking is True
    await model.close()


ROLES: dict[str, tuple[dict[str, object], list[str]]] = {
    "tool role refused": ({"tool_role": False}, ["system", "user", "assistant", "user", "system", "user"]),
    "system role refused": ({"system": "refused"}, ["user", "user", "assistant", "tool", "user", "user"]),
    "one system message": ({"system": "one"}, ["system", "user", "assistant", "tool", "user"]),
    "must alternate": ({"alternate": True, "tool_role": False}, ["system", "user", "assistant", "user"]),
    "all of it": (
        {"alternate": True, "tool_role": False, "system": "refused"},
        ["user", "assistant", "user"],
    ),
    "nothing": ({}, ["system", "user", "assistant", "tool", "system", "user"]),
}  # fmt: skip


@pytest.mark.parametrize("quirk", ROLES)
async def test_roles_by_profile(quirk: str, server: RawServer, clock: ManualClock) -> None:
    profile, roles = ROLES[quirk]
    model = models(server, clock, profiles={"test-model": profile})
    session = ModelSession(model)
    server.play(stream(events(tool_delta(0, "a", "weather", FULL), delta("tool_calls"))), says("晴天"))
    await session.say("天气")
    await session.say(ChatMessage("system", "现在 8 点"), "所以呢")
    messages = server.asked[-1].json["messages"]
    assert [message["role"] for message in messages] == roles
    whole = json.dumps(messages, ensure_ascii=False)
    for text in ("你是小青团。", "天气", "晴", "现在 8 点", "所以呢", "weather"):
        assert text in whole
    await goes_on(session, server)
    await model.close()


async def test_stopping_the_turn_hangs_up_and_the_next_message_works(session: ModelSession, server: RawServer) -> None:
    server.play([STREAM_HEAD + chunked(events(delta(content="你"), done=False)), Hold()])
    talking = asyncio.create_task(session.say("讲个长故事"))
    while not session.seen:  # noqa: ASYNC110 (a turn has no event of its own for this)
        await asyncio.sleep(0)
    talking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await talking
    await server.hung_up.wait()
    await goes_on(session, server)
