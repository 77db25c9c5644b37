"""Quirks in which a provider fails, refuses or is asked in its own way, and one more message that must still work."""

from __future__ import annotations

import asyncio
import json

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.models.chat import ChatMessage, ImagePart
from qingtuan.models.client import Timeouts
from tests.fakes.model_session import ModelSession
from tests.fakes.quirks import FULL, KEY, goes_on, models
from tests.fakes.raw_server import (
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
