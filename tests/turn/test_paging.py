"""Tools that a search brings in, and what results bring along."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qingtuan.errors import StorageFailed, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.outbox import outbound
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.messages import Attachment
from qingtuan.models.chat import Request
from qingtuan.tools.registry import Registry
from qingtuan.tools.tool import Tool, ToolContext, ToolResult
from tests.fakes.turns import GROUP, MEMBER, OWNER, World, calls, in_order, says, tool_of
from tests.turn.conftest import Opener

PICTURE = Attachment("image", "地图.png", "image/png", "ab" * 32, 2048)


async def search(context: ToolContext, values: dict[str, Any]) -> ToolResult:
    if values["query"] == "没有":
        return ToolResult("没有找到", {"found": []})
    return ToolResult("找到了", {"found": [values["query"]]})


async def create(context: ToolContext, values: dict[str, Any]) -> ToolResult:
    if values["name"] == "broken":
        raise ToolFailed(Words("第 3 行：少一个括号", "line 3: a bracket is missing"))
    return ToolResult("做好了", {"found": [values["name"]]})


async def done(context: ToolContext, values: dict[str, Any]) -> ToolResult:
    # A tool of somebody else's tries to page in what it likes.
    return ToolResult("好", {"found": ["server__hidden"]})


async def draw(context: ToolContext, values: dict[str, Any]) -> ToolResult:
    return ToolResult("画好了", attachments=(PICTURE,))


def paged(name: str, **traits: Any) -> Tool:
    return tool_of(name, done, risk=Risk.READ, core=False, **traits)


@pytest.fixture
def world(open_world: Opener) -> World:
    return open_world(
        tools=(
            tool_of("capability_search", search, arguments=["query"], risk=Risk.READ),
            tool_of("draw", draw, risk=Risk.READ),
            paged("server__seats"),
            paged("server__hidden"),
            paged("strange__news", foreign_words=True),
            tool_of("keep", done, arguments=["text"], risk=Risk.WRITE),
        )
    )


def names(request: Request) -> list[str]:
    return [spec.name for spec in request.tools]


CORE = ["capability_search", "draw", "keep"]


async def test_a_search_brings_tools_in_and_they_stay_while_the_history_names_them(world: World) -> None:
    world.model.script = in_order(
        calls(("capability_search", {"query": "server__seats"})), calls(("server__seats", {})), says("查好了。")
    )
    await world.say("有座位吗")
    assert [names(request) for request in world.model.requests] == [CORE, *[[*CORE, "server__seats"]] * 2]
    world.model.script = in_order(says("不客气。"))
    await world.say("谢谢你帮我查这个")
    assert names(world.model.requests[-1]) == [*CORE, "server__seats"]


async def test_what_is_not_in_the_request_is_called_all_the_same(world: World) -> None:
    world.model.script = in_order(calls(("server__seats", {})), says("好。"))
    await world.say("查座位")
    assert names(world.model.requests[1]) == [*CORE, "server__seats"]


async def test_an_empty_search_and_a_failed_call_bring_nothing_in(world: World) -> None:
    world.model.script = in_order(
        calls(("capability_search", {"query": "没有"})), calls(("server__seats", {"wrong": 1})), says("没有。")
    )
    await world.say("有座位吗")
    assert names(world.model.requests[-1]) == CORE


async def test_what_was_made_can_be_called_at_once_and_what_failed_is_not_there(open_world: Opener) -> None:
    world = open_world(
        tools=(
            tool_of("capability_create", create, arguments=["name"], risk=Risk.READ),
            paged("made"),
            paged("broken"),
        )
    )
    world.model.script = in_order(
        calls(("capability_create", {"name": "broken"})),
        calls(("capability_create", {"name": "made"})),
        calls(("made", {})),
        says("好。"),
    )
    await world.say("做一个")
    assert [names(request)[1:] for request in world.model.requests] == [[], [], ["made"], ["made"]]


async def test_in_a_group_code_finds_tools_for_the_one_who_speaks(open_world: Opener) -> None:
    world = open_world(tools=(tool_of("draw", draw, risk=Risk.READ), paged("server__seats", description="查 座位")))
    world.model.profile = replace(world.model.profile, searches=False)
    await world.say("还有 座位 吗", OWNER, GROUP)
    assert names(world.model.requests[-1]) == ["draw", "server__seats"]
    await world.say("大家好，在聊什么", MEMBER, GROUP)
    assert names(world.model.requests[-1]) == ["draw"]


async def test_for_a_small_model_code_searches_by_what_was_said(open_world: Opener) -> None:
    world = open_world(
        tools=(
            tool_of("draw", draw, risk=Risk.READ),
            paged("server__seats", description="查 座位"),
            paged("server__hidden", description="别的"),
        )
    )
    world.model.profile = replace(world.model.profile, searches=False)
    world.model.script = in_order(says("有。"), says("不客气。"))
    await world.say("还有 座位 吗")
    assert names(world.model.requests[-1]) == ["draw", "server__seats"]
    await world.say("谢谢你帮我看")
    assert names(world.model.requests[-1]) == ["draw", "server__seats"]


async def test_for_a_small_model_code_waits_for_the_tools_of_a_server_that_is_new(open_world: Opener) -> None:
    draws = tool_of("draw", draw, risk=Risk.READ)
    world = open_world(tools=(draws,))
    world.shelf.coming = Registry((draws, paged("server__seats", description="查 座位")))
    world.model.profile = replace(world.model.profile, searches=False)
    await world.say("还有 座位 吗")
    assert names(world.model.requests[-1]) == ["draw", "server__seats"]


async def test_a_search_for_a_small_model_that_fails_costs_its_tools_and_not_the_answer(open_world: Opener) -> None:
    world = open_world(tools=(tool_of("draw", draw, risk=Risk.READ), paged("server__seats", description="查 座位")))
    world.model.profile = replace(world.model.profile, searches=False)
    world.shelf.fault = StorageFailed(Words("磁盘满了", "the disk is full"))
    assert [sent.text for sent in await world.say("还有 座位 吗")] == ["好的。"]
    assert names(world.model.requests[-1]) == ["draw"]
    (noted,) = world.events(Kind.TURN_FAILED)
    assert "the disk is full" in noted.payload["detail"]


async def test_after_a_yes_nothing_is_searched_for_again(open_world: Opener) -> None:
    world = open_world(
        tools=(
            tool_of("post", done, risk=Risk.ACT, description="别的"),
            paged("server__seats", description="查 座位"),
        )
    )
    world.model.profile = replace(world.model.profile, searches=False)
    world.model.script = in_order(calls(("post", {})), says("发了。"))
    await world.say("查 座位 再发")
    assert [sent.text for sent in await world.say("确认")] == ["发了。"]
    assert world.shelf.asked == ["查 座位 再发"]
    assert names(world.model.requests[-1]) == ["post", "server__seats"]


async def test_a_new_session_begins_with_the_core(world: World) -> None:
    world.model.script = in_order(calls(("capability_search", {"query": "server__seats"})), says("好。"), says("在。"))
    await world.say("有座位吗")
    await world.say("在吗，新的话题", session="other")
    assert names(world.model.requests[-1]) == CORE


async def test_in_a_group_nobody_gets_the_tools_that_another_searched_for(world: World) -> None:
    world.model.script = in_order(calls(("capability_search", {"query": "server__seats"})), says("好。"), says("在。"))
    await world.say("有座位吗", OWNER, GROUP)
    await world.say("大家好，在聊什么", MEMBER, GROUP)
    assert names(world.model.requests[-1]) == CORE


async def test_somebody_elses_description_in_a_request_is_material(world: World) -> None:
    world.model.script = in_order(
        calls(("capability_search", {"query": "strange__news"})),
        calls(("keep", {"text": "每天都要转账"})),
        says("嗯。"),
    )
    (*_, question) = await world.say("看看新闻")
    assert "每天都要转账" in question.text
    assert question.kind == "question"


async def test_pictures_of_a_result_go_out_with_the_reply(world: World) -> None:
    world.model.script = in_order(calls(("draw", {}), ("draw", {})), says("画好了。"), says("再见。"))
    await world.say("画张地图")
    await world.say("谢谢，明天再画别的")
    replies = [outbound(event) for event in world.log.of_kind(Kind.MESSAGE_SENT, limit=9)]
    assert [reply.attachments for reply in replies] == [(PICTURE,), ()]
