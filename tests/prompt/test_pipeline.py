"""From a view to a request: a pure function, in the order of the layers, within the model's context."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Piece
from qingtuan.memory.summaries import SummaryText
from qingtuan.messages import Origin, Space
from qingtuan.models import wire
from qingtuan.models.chat import Call, ChatMessage, ToolSpec
from qingtuan.models.profiles import GENERIC
from qingtuan.models.routing import Route
from qingtuan.models.service import Choice
from qingtuan.models.usage import estimate_tokens
from qingtuan.prompt import templates
from qingtuan.prompt.history import Said
from qingtuan.prompt.pipeline import PIPELINE, build
from qingtuan.prompt.view import TurnView

NOW = datetime(2026, 11, 29, 10, 5, tzinfo=ZoneInfo("Asia/Shanghai"))
OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
TOOL = ToolSpec("look", "看看。", {"type": "object", "properties": {}})
ROUTES: tuple[Route, ...] = ("vision", "flash", "code", "reason")


def said(text: str, role: str = "user", turn: str = "turn_1", **fields: Any) -> Said:
    origin = fields.pop("origin", Origin.OWNER if role == "user" else Origin.ASSISTANT)
    message = ChatMessage(role, text, fields.pop("calls", ()), fields.pop("call_id", None))  # type: ignore[arg-type]
    return Said(message, origin, "evt_1", turn, **fields)


def view(context: int = 32_000, **fields: Any) -> TurnView:
    profile = replace(GENERIC, context=context)
    plain = TurnView(
        language="zh",
        now=NOW,
        reader=OWNER,
        account="cli:local",
        before=(),
        current=(said("你好呀，帮我看看", turn="turn_9"),),
        words="你好呀，帮我看看",
        own_words="你好呀，帮我看看",
        templates=templates.load(Path("nowhere"), "zh"),
        choices={route: Choice(route, f"model-{route}", profile, None) for route in ROUTES},
        tools=(TOOL,),
    )
    return replace(plain, **fields)


def texts(one: TurnView) -> list[str]:
    return [message.text for message in build(one).request.messages]


def test_layers_stand_in_their_order_and_the_words_last() -> None:
    built = build(
        view(
            persona="爱睡觉。",
            persona_name="cat",
            owner_public="阿青",
            pinned="[记忆]",
            recalled="[想起]",
            summaries=(SummaryText("摘要一", False), SummaryText("摘要二", True)),
            before=(said("早"), said("早。", "assistant")),
        )
    )
    assert [layer.number for layer in built.layers] == ["1", "2", "3", "5", "6a", "7", "7", "4", "6b"]
    assert [message.role for message in built.request.messages] == ["system"] * 7 + ["user", "assistant"] + [
        "system", "system", "user",
    ]  # fmt: skip
    assert built.layers[6].foreign
    assert "材料" in built.layers[6].text
    assert "材料" not in built.layers[5].text


def test_what_is_not_there_takes_no_place() -> None:
    assert [layer.number for layer in build(view()).layers] == ["1", "2", "4"]


def test_the_steps_tell_what_each_adapter_changed() -> None:
    built = build(view(pinned="[记忆]"))
    assert [step.adapter for step in built.steps] == [name for name, _ in PIPELINE]
    changed = {step.adapter: step.changed for step in built.steps}
    assert changed["memory"] == ("head",)
    assert changed["tools"] == ("tools",)
    assert changed["budget"] == ()


WORDS = st.text(max_size=30)
MESSAGES = st.lists(st.tuples(WORDS, st.sampled_from(["user", "assistant"]), st.integers(0, 5)), max_size=8)


@given(MESSAGES, WORDS, WORDS, st.integers(500, 4000))
def test_same_view_same_bytes(messages: list[tuple[str, str, int]], words: str, pinned: str, context: int) -> None:
    def one() -> TurnView:
        before = tuple(said(text, role, f"turn_{turn}") for text, role, turn in messages)
        return view(context, before=before, words=words, own_words=words, pinned=pinned)

    first, second = (wire.encode(build(one()).request, GENERIC).body() for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("fields", "route", "temperature"),
    [
        ({}, "reason", 0.3),
        ({"words": "你好"}, "flash", 0.3),
        ({"words": "你好", "waiting": True}, "reason", 0.3),
        ({"words": "看看\n```\nx\n```"}, "code", 0.15),
        ({"words": "写一首诗"}, "reason", 0.8),
        ({"current": (said("看"), said("晴", "tool", call_id="c"))}, "reason", 0.1),
    ],
)
def test_route_and_temperature_follow_from_the_turn(fields: dict[str, Any], route: str, temperature: float) -> None:
    built = build(view(**fields))
    assert (built.draft.route, built.request.params.model) == (route, f"model-{route}")
    assert built.request.params.temperature == temperature


def test_the_last_round_and_a_model_without_tools_get_none() -> None:
    assert build(view()).request.tools == (TOOL,)
    assert build(view(last_round=True)).request.tools == ()
    without = {route: Choice(route, "m", replace(GENERIC, tools=False), None) for route in ROUTES}
    assert build(view(choices=without)).request.tools == ()


class TestMaterial:
    def test_it_is_what_is_foreign_each_kind_once(self) -> None:
        one = view(
            before=(said("网页", origin=Origin.WEB), said("网页", origin=Origin.WEB), said("话", quotes=True)),
            summaries=(SummaryText("摘要", True),),
            memory_of_others=True,
        )
        assert one.material == (
            Piece(Origin.WEB), Piece(Origin.FORWARD), Piece(Origin.TOOL), Piece(Origin.PERSON),
        )  # fmt: skip
        assert view().material == ()

    @pytest.mark.parametrize(
        ("fields", "origin"),
        [
            ({}, Origin.ASSISTANT),
            ({"before": (said("回复", "assistant", origin=Origin.WEB),)}, Origin.WEB),
            ({"before": (said("文件", origin=Origin.FILE), said("程序", origin=Origin.AGENT))}, Origin.AGENT),
            ({"before": (said("引用", quotes=True),)}, Origin.FORWARD),
            ({"summaries": (SummaryText("摘要", True),)}, Origin.TOOL),
        ],
    )
    def test_what_is_made_from_it_inherits_the_least_trusted(self, fields: dict[str, Any], origin: Origin) -> None:
        assert build(view(**fields)).made_from is origin


def turns(count: int, length: int = 100) -> tuple[Said, ...]:
    call = Call("c", "look", "{}")
    return tuple(
        item
        for number in range(count)
        for item in (
            said(f"{number:04}" * (length // 4), turn=f"turn_{number}"),
            said("", "assistant", f"turn_{number}", calls=(replace(call, id=f"c{number}"),)),
            said("结果", "tool", f"turn_{number}", call_id=f"c{number}"),
            said("好的。", "assistant", f"turn_{number}"),
        )
    )


def size(one: TurnView) -> int:
    request = build(one).request
    return sum(estimate_tokens(message.text) for message in request.messages)


class TestBudget:
    def test_whole_oldest_turns_leave(self) -> None:
        one = view(4_000, before=turns(200))
        kept = build(one).draft.before
        assert size(one) <= 3_000
        assert kept
        assert kept[-1] == one.before[-1]
        assert kept[0].message.role == "user"
        assert len(kept) % 4 == 0

    def test_nothing_leaves_while_there_is_room(self) -> None:
        one = view(32_000, before=turns(100))
        assert build(one).draft.before == one.before

    def test_they_leave_in_steps_so_that_the_beginning_stays_the_same_for_a_while(self) -> None:
        history = turns(400)
        beginnings = [build(view(4_000, before=history[: 4 * count])).draft.before[0].turn for count in range(100, 200)]
        assert len(set(beginnings)) < 20

    def test_long_material_of_this_turn_loses_its_middle_and_the_words_stay(self) -> None:
        lines = "\n".join(f"> 第 {number} 行" for number in range(5_000))
        material, words = said(f"[材料：文件]\n{lines}", origin=Origin.FILE), said("总结" * 50)
        built = build(view(8_000, current=(material, words)))
        shown, bare = (item.message.text for item in built.draft.current)
        assert bare == "总结" * 50
        assert size(view(8_000, current=(material, words))) <= 6_000
        assert shown.startswith("[材料：文件]\n> 第 0 行")
        assert shown.endswith("> 第 4999 行")
        # Every line that is left is marked, but for the sentence that code wrote.
        unmarked = [line for line in shown.split("\n")[1:] if not line.startswith("> ")]
        assert len(unmarked) == 1
        assert "略去" in unmarked[0]

    def test_many_long_results_still_fit(self) -> None:
        current = [said("查一查")]
        for number in range(11):
            call = Call(f"c{number}", "look", "{}")
            current += [said("", "assistant", calls=(call,)), said("结果" * 4_000, "tool", call_id=call.id)]
        assert size(view(32_000, current=tuple(current))) <= 28_000

    @given(st.integers(0, 400), st.integers(300, 20_000), st.integers(0, 30_000))
    def test_no_call_ever_loses_its_result(self, count: int, context: int, length: int) -> None:
        current = (said("甲" * length, origin=Origin.FILE), said("看"))
        messages = build(view(context, before=turns(count), current=current)).request.messages
        open_calls: list[str] = []
        for message in messages:
            if message.role == "tool":
                open_calls.remove(message.call_id or "")
            open_calls += [call.id for call in message.calls]
        assert open_calls == []
        assert messages[-1].text == "看"


def test_who_speaks_is_said_with_role_account_and_place() -> None:
    assert "[说话人：主人，账号 cli:local，私聊。由系统按账号判定]" in texts(view())[-2]
    guest = Reader("qq-2", Role.GUEST, Space("group", "qq:777"))
    assert "[说话人：非主人（访客），账号 qq:2，群聊 qq:777。" in texts(view(reader=guest, account="qq:2"))[-2]
    english = texts(view(language="en"))[-2]
    assert "[Speaker: the owner, account cli:local, private chat." in english
    assert "[Now: 2026-11-29 10:05 (Asia/Shanghai)." in english
