"""Each quirk of a provider as raw bytes through the real client, and one more message that must still work."""

from __future__ import annotations

import gzip
import json

import pytest

from qingtuan.errors import ModelUnreachable
from qingtuan.models.wire import CUT_OFF
from tests.fakes.model_session import ModelSession
from tests.fakes.quirks import FULL, goes_on
from tests.fakes.raw_server import (
    STREAM_END,
    STREAM_HEAD,
    RawServer,
    chunked,
    delta,
    events,
    http,
    says,
    stream,
    tool_delta,
)

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
