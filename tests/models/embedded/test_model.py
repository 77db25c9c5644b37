"""The embedded model around a scripted engine: calls, streams, corrections, crashes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence

import pytest

from bench.embedded_cases import NOW, SHANGHAI, Case, Faults, request_of
from qingtuan.clock import ManualClock
from qingtuan.errors import ModelUnreachable
from qingtuan.models.chat import (
    Answer,
    Call,
    ChatEvent,
    ChatMessage,
    Params,
    Request,
    TakenBack,
    TextDelta,
    WireRequest,
)
from qingtuan.models.embedded.model import EmbeddedModel
from qingtuan.models.embedded.process import Done, EngineDied, EngineRefused

Script = Sequence[str | Done | Exception]
"""What one request of the engine gives, piece by piece."""
END = Done("stop", prompt=10, cached=4, completion=3)


class Scripted:
    """An engine that answers as told, and keeps what it was asked."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.bodies: list[dict[str, object]] = []
        self.stopped = False

    async def chat(self, body: bytes) -> AsyncGenerator[str | Done, None]:
        self.bodies.append(json.loads(body))
        for piece in self._scripts.pop(0):
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def stop(self) -> None:
        self.stopped = True


class Recorded(Faults):
    """Also keeps what was about to be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.wires: list[WireRequest] = []

    def requested(self, wire: WireRequest, model: str) -> None:
        self.wires.append(wire)


def reply(text: str, done: Done = END) -> Script:
    raw = json.dumps({"reply": text}, ensure_ascii=False)
    return (*(raw[start : start + 4] for start in range(0, len(raw), 4)), done)


def call(tool: str, **arguments: object) -> Script:
    return (json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False), END)


async def run(
    words: str | Case, *scripts: Script, current: Sequence[ChatMessage] = ()
) -> tuple[list[ChatEvent], Recorded]:
    request = request_of(Case(words) if isinstance(words, str) else words, current)
    recorder = Recorded()
    engine = Scripted(*scripts)
    model = EmbeddedModel(engine, "small", ManualClock(NOW), SHANGHAI)
    events = [event async for event in model.stream(request, recorder)]
    assert len(engine.bodies) == len(scripts)
    return events, recorder


def answer_of(events: Sequence[ChatEvent]) -> Answer:
    assert isinstance(events[-1], Answer)
    assert not any(isinstance(event, Answer) for event in events[:-1])
    return events[-1]


def shown(events: Sequence[ChatEvent]) -> str:
    """What a channel would show in the end."""
    text = ""
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, TakenBack):
            text = ""
    return text


async def test_a_reply_streams_by_sentences() -> None:
    events, _ = await run("讲讲北京", reply("北京很大。人很多。春天好"))
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(deltas) == shown(events) == answer_of(events).text == "北京很大。人很多。春天好"
    assert len(deltas) == 3
    assert answer_of(events).finish == "stop"


async def test_a_call_becomes_a_call_with_the_days_that_were_said() -> None:
    events, _ = await run("明天早上八点提醒我交作业", call("reminder_create", text="交作业", at="2026-12-01T08:00"))
    (made,) = answer_of(events).calls
    assert made.name == "reminder_create"
    assert json.loads(made.arguments) == {"text": "交作业", "at": "2026-12-02T08:00"}
    assert answer_of(events).finish == "tool_calls"
    assert shown(events) == ""


async def test_calls_have_ids_of_their_own() -> None:
    one, _ = await run("我不吃香菜", call("remember", content="用户不吃香菜"))
    two, _ = await run("我不吃香菜", call("remember", content="用户不吃香菜"))
    assert answer_of(one).calls[0].id != answer_of(two).calls[0].id


async def test_what_comes_again_becomes_a_rule() -> None:
    events, _ = await run("每天晚上9点提醒我吃药", call("reminder_create", text="吃药", at="2026-12-01T21:00"))
    assert json.loads(answer_of(events).calls[0].arguments)["rrule"] == "FREQ=DAILY"


async def test_empty_optional_arguments_are_left_out() -> None:
    script = call("seats__find_seats", date="2026-12-02", start="09:00", end="11:00", area="")
    events, _ = await run("看看明天9点到11点有没有座位", script)
    assert "area" not in json.loads(answer_of(events).calls[0].arguments)


async def test_a_lost_negation_is_replaced_by_the_persons_own_words() -> None:
    events, _ = await run("我周五不要安排会议", call("remember", content="用户周五安排会议"))
    assert json.loads(answer_of(events).calls[0].arguments) == {"content": "周五不要安排会议"}


async def test_a_claim_without_a_call_is_never_shown_and_asked_again() -> None:
    events, recorder = await run("我不吃香菜", reply("好的，记住了。"), call("remember", content="用户不吃香菜"))
    assert answer_of(events).calls[0].name == "remember"
    assert shown(events) == ""
    assert not any(isinstance(event, TakenBack) for event in events)
    assert recorder.reasons == ["claims what no call did"]
    assert len(recorder.wires) == 2
    assert recorder.wires[1].messages[: len(recorder.wires[0].messages)] == recorder.wires[0].messages


async def test_a_second_empty_claim_ends_in_an_honest_sentence() -> None:
    events, recorder = await run("讲讲北京", reply("你好。记住了。"), reply("已经记住了。"))
    assert "没有做成" in answer_of(events).text
    assert shown(events) == answer_of(events).text
    assert any(isinstance(event, TakenBack) for event in events)
    assert len(recorder.reasons) == 2


async def test_a_claim_that_a_call_of_the_turn_made_true_stands() -> None:
    current = (
        ChatMessage("assistant", "", calls=(Call("1", "remember", '{"content": "不吃香菜"}'),)),
        ChatMessage("tool", "已记住", call_id="1"),
    )
    events, recorder = await run("我不吃香菜", reply("记住了。"), current=current)
    assert answer_of(events).text == "记住了。"
    assert recorder.reasons == []
    events, _ = await run("我不吃香菜", reply("记住了，我会提醒你。"), current=current)
    assert answer_of(events).text == "已记住"


async def test_a_call_that_was_not_carried_out_backs_no_claim() -> None:
    current = (
        ChatMessage("assistant", "", calls=(Call("1", "seats__reserve_seat", '{"seat_id": "A12"}'),)),
        ChatMessage("tool", "还没有执行：系统正在问对方，等确认。", call_id="1"),
    )
    events, _ = await run("帮我约 A12", reply("已经为你预约了 A12。"), current=current)
    assert answer_of(events).text == "这件事还没有办成。"
    events, recorder = await run("帮我约 A12", reply("要约 A12，等你确认。"), current=current)
    assert recorder.reasons == []


async def test_a_reminder_is_confirmed_with_its_time() -> None:
    current = (
        ChatMessage("assistant", "", calls=(Call("1", "reminder_create", '{"text": "交作业"}'),)),
        ChatMessage("tool", "已设提醒：12月2日 周三 08:00 交作业", call_id="1"),
    )
    events, _ = await run("明天早上八点提醒我交作业", reply("好的，我记住了。"), current=current)
    assert answer_of(events).text == shown(events) == "已设提醒：12月2日 周三 08:00 交作业"
    events, _ = await run("明天早上八点提醒我交作业", reply("好的，明天早上八点提醒你。"), current=current)
    assert answer_of(events).text == "好的，明天早上八点提醒你。"


async def test_what_was_talked_about_is_looked_up_first() -> None:
    events, _ = await run("我昨天跟你说了什么？", reply("没有记录。"), call("memory_recall", query="昨天"))
    assert answer_of(events).calls[0].name == "memory_recall"


async def test_made_up_numbers_become_a_call() -> None:
    events, recorder = await run("明天杭州多少度？", reply("大约 15 度。"), call("weather", place="杭州"))
    assert answer_of(events).calls[0].name == "weather"
    assert recorder.reasons == ["made up numbers"]


async def test_an_invented_memory_becomes_a_search() -> None:
    events, recorder = await run("我叫什么名字？", reply("你叫王小明。"), call("memory_search", query="名字"))
    assert answer_of(events).calls[0].name == "memory_search"
    assert recorder.reasons == ["tells a memory that stands nowhere"]
    schema = json.loads(recorder.wires[1].params)["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["tool"] == {"const": "memory_search"}


async def test_after_a_search_that_found_nothing_the_answer_is_no_record() -> None:
    current = (
        ChatMessage("assistant", "", calls=(Call("1", "memory_search", '{"query": "名字"}'),)),
        ChatMessage("tool", "没有找到", call_id="1"),
    )
    events, _ = await run("我叫什么名字？", reply("你叫王小明。"), reply("你叫李雷。"), current=current)
    assert answer_of(events).text == shown(events) == "这件事我没有记录。"


async def test_a_memory_that_stays_unsaid_is_cited() -> None:
    case = Case("我一般喜欢坐图书馆哪里？", memory=("图书馆优先坐二楼安静区",))
    events, _ = await run(case, reply("你喜欢坐图书馆。"), reply("图书馆。"))
    assert answer_of(events).text == "记录里写的是：图书馆优先坐二楼安静区"


async def test_a_question_is_not_taken_for_something_to_write_down() -> None:
    case = Case("我一般喜欢坐图书馆哪里？", memory=("图书馆优先坐二楼安静区",))
    events, _ = await run(case, reply("记住了，图书馆优先坐二楼安静区。"), reply("你优先坐二楼安静区。"))
    assert answer_of(events).text == "你优先坐二楼安静区。"
    events, _ = await run(case, reply("记住了，二楼安静区。"), reply("记住了，二楼安静区。"))
    assert answer_of(events).text == "记录里写的是：图书馆优先坐二楼安静区"


async def test_a_made_up_id_is_not_called_with() -> None:
    find = call("seats__find_seats", date="2026-12-02", start="09:00", end="11:00")
    reserve = call("seats__reserve_seat", seat_id="777", date="2026-12-02", start="09:00", end="11:00")
    events, recorder = await run("约 A12 明天9点到11点", reserve, find)
    assert answer_of(events).calls[0].name == "seats__find_seats"
    assert recorder.reasons == ["made up an id"]


async def test_a_lasting_wish_is_written_down() -> None:
    events, _ = await run("以后回复我简短一点", reply("好的，我会尽量简短。"), call("remember", content="简短"))
    assert json.loads(answer_of(events).calls[0].arguments) == {"content": "以后回复我简短一点", "kind": "rule"}


async def test_what_the_person_tells_of_themselves_is_written_down() -> None:
    events, recorder = await run(
        "我喜欢安静的地方", reply("我也喜欢。"), call("remember", content="用户喜欢安静的地方")
    )
    assert json.loads(answer_of(events).calls[0].arguments) == {"content": "喜欢安静的地方", "kind": "preference"}
    assert recorder.reasons == ["what should be kept was not written down"]


@pytest.mark.parametrize(
    ("words", "content", "kept"),
    [
        ("我不吃香菜", "用户说我不吃香菜", "不吃香菜"),
        ("我不吃香菜", "我不吃香菜", "不吃香菜"),
        ("我们周三开会，我喜欢早点", "我们周三开会", "我们周三开会"),
        ("I prefer tea", "The user prefers tea", "prefers tea"),
        ("我和用户研究小组开会喜欢早一点", "用户研究小组开会喜欢早一点", "用户研究小组开会喜欢早一点"),
    ],
)
async def test_what_is_written_down_reads_as_a_note_about_the_speaker(words: str, content: str, kept: str) -> None:
    events, _ = await run(words, call("remember", content=content))
    assert json.loads(answer_of(events).calls[0].arguments)["content"] == kept


async def test_an_answer_that_speaks_past_the_person_may_stand_in_the_end() -> None:
    events, _ = await run("我不吃香菜吧？", reply("用户不吃香菜。"), reply("用户不吃香菜。"))
    assert shown(events) == answer_of(events).text


async def test_a_reply_that_was_cut_off_says_so() -> None:
    events, _ = await run("讲个长故事", ('{"reply": "从前有座山。山里', Done("length", 5, 0, 5)))
    assert (answer_of(events).finish, answer_of(events).text) == ("length", "从前有座山。山里")


async def test_a_call_that_was_cut_off_must_not_run() -> None:
    events, _ = await run("我不吃香菜", ('{"tool": "remember", "argum', Done("length", 5, 0, 5)))
    assert answer_of(events).calls == ()
    assert answer_of(events).incomplete is not None


async def test_auxiliary_answers_are_the_json_that_was_asked_for() -> None:
    raw = '{"facts": []}'
    engine = Scripted((raw, END))
    model = EmbeddedModel(engine, "small", ManualClock(NOW), SHANGHAI)
    request = Request((ChatMessage("user", "我不吃香菜"),), (), Params("small", schema={"type": "object"}))
    events = [event async for event in model.stream(request, Recorded())]
    assert answer_of(events).text == shown(events) == raw


async def test_a_crash_is_tried_again_and_the_text_taken_back() -> None:
    broken: Script = ('{"reply": "半句。', "后", EngineDied("ended with 3"))
    events, recorder = await run("讲讲北京", broken, reply("北京很大。"))
    assert shown(events) == answer_of(events).text == "北京很大。"
    assert recorder.reasons == ["ended with 3"]


async def test_two_crashes_are_an_error_for_the_owner() -> None:
    with pytest.raises(ModelUnreachable) as caught:
        await run("你好", (EngineDied("one"),), (EngineDied("two"),))
    assert caught.value.detail == "two"


async def test_an_engine_that_cannot_be_loaded_is_not_tried_again() -> None:
    with pytest.raises(ModelUnreachable, match="no engine"):
        await run("你好", (EngineRefused("no engine"),))


async def test_usage_is_that_of_all_answers() -> None:
    events, _ = await run("我不吃香菜", reply("记住了。"), call("remember", content="用户不吃香菜"))
    usage = answer_of(events).usage
    assert (usage.prompt, usage.cached, usage.completion, usage.estimated) == (20, 8, 6, False)
    assert answer_of(events).model == "small"


async def test_what_is_encoded_is_what_is_sent() -> None:
    engine = Scripted(reply("你好！"))
    model = EmbeddedModel(engine, "small", ManualClock(NOW), SHANGHAI)
    request = request_of(Case("你好"))
    _ = [event async for event in model.stream(request, Recorded())]
    assert json.loads(model.encode(request).body()) == engine.bodies[0]
    assert model.encode(request) == model.encode(request)
    assert engine.bodies[0]["temperature"] == 0


async def test_warming_reads_the_prompt_and_says_nothing() -> None:
    engine = Scripted(("{", END))
    model = EmbeddedModel(engine, "small", ManualClock(NOW), SHANGHAI)
    await model.warm(request_of(Case("你好")))
    assert engine.bodies[0]["max_tokens"] == 1
    await model.close()
    assert engine.stopped
