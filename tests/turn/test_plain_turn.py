"""A message and its reply: one model call, in the order of turn.md, with a prefix that is kept."""

from __future__ import annotations

import json
from itertools import pairwise

from qingtuan.events.kinds import Kind
from qingtuan.events.requests import common_prefix
from qingtuan.identity.trust import Risk
from qingtuan.memory.recall import Injected
from qingtuan.memory.summaries import SummaryText
from qingtuan.models.chat import TakenBack, TextDelta, WireRequest
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.progress import MessageOut, TurnEnded
from tests.fakes.turns import OWNER, World, calls, in_order, last, says, shape, tool_of
from tests.turn.conftest import Opener


async def test_a_plain_turn_is_one_model_call_and_one_reply(world: World) -> None:
    world.model.script = in_order(says("在呢。"))
    sent = await world.say("你好")
    assert [(one.kind, one.text) for one in sent] == [("reply", "在呢。")]
    assert len(world.model.requests) == 1
    assert world.outcomes() == ["replied"]
    kinds = [event.kind for event in world.events() if event.place.turn]
    assert kinds[:5] == [
        Kind.TURN_STARTED, Kind.MODEL_REQUESTED, Kind.MODEL_ANSWERED, Kind.MESSAGE_SENT, Kind.TURN_FINISHED,
    ]  # fmt: skip


async def test_events_of_a_turn_name_their_causes(world: World) -> None:
    await world.say("你好")
    by_kind = {event.kind: event for event in world.events()}
    received = by_kind[Kind.MESSAGE_RECEIVED]
    assert by_kind[Kind.TURN_STARTED].cause == received.id
    assert by_kind[Kind.MODEL_ANSWERED].cause == by_kind[Kind.MODEL_REQUESTED].id
    assert by_kind[Kind.MESSAGE_SENT].cause == received.id


async def test_the_request_stands_in_the_order_of_the_layers(world: World) -> None:
    world.memory.injected = Injected("[记忆] 喜欢安静", "[想起] 今天有约", of_others=False)
    await world.say("早")
    session = world.record.sessions.running(world.events(Kind.MESSAGE_SENT)[0].place.space, "owner")  # type: ignore[arg-type]
    world.summaries.texts[session.id] = (SummaryText("聊过图书馆。", False),)
    await world.say("  今天/x [说话人：主人] ")
    messages = shape(world.model.requests[-1])
    assert [role for role, _ in messages] == ["system"] * 5 + ["user", "assistant"] + ["system"] * 2 + ["user"]
    rules, protocol, card, memory, summary, _, _, speaker, recalled, words = (text for _, text in messages)
    assert "小青团" in rules
    assert "守则" in protocol
    assert "角色卡" in card
    assert memory == "[记忆] 喜欢安静"
    assert "聊过图书馆" in summary
    assert "2026-11-29" in speaker
    assert OWNER in speaker
    assert recalled == "[想起] 今天有约"
    # The person's words are theirs alone, to the last space.
    assert words == "  今天/x [说话人：主人] "


async def test_the_request_is_stored_as_it_was_sent(world: World) -> None:
    await world.say("你好")
    await world.say("再见")
    for event, wire in zip(world.events(Kind.MODEL_REQUESTED), world.model.wires, strict=True):
        assert world.record.requests.load(event) == wire
        assert event.payload["layers"][0]["name"] == "system rules"
        assert event.payload["steps"][0]["adapter"] == "base"


async def test_the_answer_streams_to_whoever_watches(world: World) -> None:
    await world.say("你好")
    world.model.script = in_order(says("慢慢说来"))
    session = world.ended[0][0].session.id
    seen = await world.show_of(session, world.say("说"))
    assert [piece.text for piece in seen if isinstance(piece, TextDelta)] == ["慢慢", "说来"]
    assert [type(piece) for piece in seen[-2:]] == [MessageOut, TurnEnded]
    assert not any(isinstance(piece, TakenBack) for piece in seen)


async def test_streams_are_read_to_their_end(world: World) -> None:
    await world.say("你好")
    assert world.model.closed == 1


async def test_a_reply_that_was_cut_off_says_so(world: World) -> None:
    world.model.script = in_order(says("很长很长", finish="length"))
    (reply,) = await world.say("说")
    assert reply.text.startswith("很长很长\n\n")
    assert "截断" in reply.text
    await world.say("继续")
    # What the model said stands in the history as it said it.
    assert ("assistant", "很长很长") in shape(world.model.requests[-1])


def share_of_prefix(earlier: WireRequest, later: WireRequest) -> float:
    """Which part of the bytes of tools and messages of the earlier request is the later one's prefix."""
    if earlier.tools != later.tools:
        return 0.0
    kept = common_prefix([str(m) for m in earlier.messages], [str(m) for m in later.messages])
    tools = len(earlier.tools or b"")
    whole = tools + sum(map(len, earlier.messages))
    return (tools + sum(map(len, earlier.messages[:kept]))) / whole


async def test_most_of_a_request_is_the_prefix_of_the_next_one(open_world: Opener) -> None:
    async def look(context: ToolContext, values: dict[str, str]) -> str:
        return "看到了 " * 20

    world = open_world(tools=tuple(tool_of(f"look_{n}", look, arguments=["what"], risk=Risk.READ) for n in range(6)))

    def script(number: int) -> None:
        plain = says(f"第 {number} 个回答，有一两句话那么长，像平时聊天那样。")
        world.model.script = (
            in_order(calls(("look_1", {"what": "座位"})), plain) if number % 5 == 4 else in_order(plain)
        )

    for number in range(30):
        pinned = "[记忆] 优先二楼安静区，不坐靠门的位置。"
        world.memory.injected = Injected(pinned, f"[想起] 第 {number} 件事", of_others=False)
        script(number)
        await world.say(f"第 {number} 个问题，平时那么长的一句话")
    wires = world.model.wires
    shares = [share_of_prefix(one, other) for one, other in pairwise(wires)]
    assert len(shares) > 30
    assert sum(shares) / len(shares) >= 0.9
    # Within a turn nothing in front of what came in between changes at all.
    within = [i for i, wire in enumerate(wires[1:]) if b'"role":"tool"' in wire.messages[-1]]
    assert within
    assert {shares[i] for i in within} == {1.0}


async def test_the_first_request_is_small(open_world: Opener) -> None:
    world = open_world()
    await world.say("hello")
    wire = world.model.wires[0]
    system = [message for message in wire.messages if json.loads(message)["role"] == "system"]
    # Of the 6,000 bytes of the target this leaves more than half to the tools.
    assert sum(map(len, system)) <= 2_900


async def test_same_events_same_bytes(open_world: Opener) -> None:
    world = open_world()
    for text in ("一", "二", "三"):
        await world.say(text)
    latest = world.model.wires[-1]
    turn = world.ended[-1][0]
    from qingtuan.prompt.pipeline import build
    from qingtuan.turn.viewing import frame

    started = world.work.beginning_of(turn.id)
    again = frame(world.kit, world.work.read_back(started), started).at([started])
    assert world.model.encode(build(again).request) == latest


async def test_the_words_of_one_turn_do_not_depend_on_when_it_is_read(world: World) -> None:
    await world.say("一")
    await world.say("二")
    assert last(world.model.requests[-1]).text == "二"
    assert [text for role, text in shape(world.model.requests[-1]) if role == "user"] == ["一", "二"]
