"""Questions of servers to people (elicitation), in both ways that the protocol has for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams

from qingtuan.errors import ToolFailed
from qingtuan.mcp_client import eliciting
from qingtuan.mcp_client.asking import Question, Said
from qingtuan.mcp_client.calling import Calls
from qingtuan.mcp_client.eliciting import Eliciting
from qingtuan.tools.tool import ToolContext
from tests.mcp_client.bench import Bench
from tests.security.enemy import Enemy, tool

WISH = {"type": "string", "title": "Floor"}


class Person:
    """Answers what it is asked, one thing after the other."""

    def __init__(self, *answers: str | Said, slow: float = 0.0) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []
        self.slow = slow
        self.taken_back = 0

    async def ask(self, question: Question, context: ToolContext) -> Said:
        self.questions.append(question)
        try:
            await asyncio.sleep(self.slow)
        except asyncio.CancelledError:
            self.taken_back += 1
            raise
        answer = self.answers.pop(0) if self.answers else Said("cancelled")
        if isinstance(answer, Said):
            return answer
        if question.choices:
            return Said("answered", answer, (question.choices.index(answer),))
        return Said("answered", answer)


@pytest.fixture(params=["2025-11-25", "2026-07-28"])
def modern(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "2026-07-28")


Meet = Callable[..., Any]


async def met(
    bench: Bench, folder: Path, person: Person | None, *asks: Any, modern: bool = False, **entry: Any
) -> Enemy:
    """A server that asks this when its tool is called."""
    script = entry.pop("script", {})
    enemy = Enemy(folder)
    enemy.says(tools=[tool("send")], asks={"send": list(asks)}, modern=modern, **script)
    bench.people = person
    await bench.begin({"evil": enemy.entry(**entry)})
    await bench.listed("evil")
    return enemy


def heard(enemy: Enemy) -> list[Any]:
    """What the server was answered."""
    path = enemy.folder / "heard.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [answer for one in found for answer in (one["responses"].values() if "responses" in one else [one])]


def form(message: str = "Where?", required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"mode": "form", "message": message, "requestedSchema": schema}


async def test_a_form_is_asked_field_by_field(bench: Bench, tmp_path: Path, modern: bool) -> None:
    person = Person("二楼", "2", "是", "Red", Said("answered", "", (0, 1)), "2026-12-01")
    wanted = form(
        "Which seat?",
        ("floor", "count", "quiet", "colour", "days", "when"),
        floor=WISH,
        count={"type": "integer", "minimum": 1, "maximum": 4},
        quiet={"type": "boolean", "description": "Quiet?"},
        colour={"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]},
        days={"type": "array", "items": {"type": "string", "enum": ["Mon", "Tue"]}},
        when={"type": "string", "format": "date"},
    )
    enemy = await met(bench, tmp_path, person, wanted, modern=modern)
    assert (await bench.call("evil__send")).text == "did send"
    content = {
        "floor": "二楼", "count": 2, "quiet": True, "colour": "#f00", "days": ["Mon", "Tue"], "when": "2026-12-01"
    }  # fmt: skip
    assert heard(enemy) == [{"action": "accept", "content": content}]
    first, count, quiet, colour, days, when = person.questions
    assert (first.server, first.text, first.trusted) == ("evil", "Which seat?\nFloor", False)
    assert first.hint is not None
    assert first.hint.zh.startswith("（1/6）")
    assert count.hint is not None
    assert count.hint.zh == "（2/6）要一个整数。至少 1。最多 4。"
    assert quiet.choices == ("是", "否")
    assert (colour.choices, colour.values) == (("Red", "Green"), ("#f00", "#0f0"))
    assert days.several
    assert when.hint is not None
    assert "2026-12-01" in when.hint.en
    if modern:
        assert '"state": "state-1"' in (enemy.folder / "heard.jsonl").read_text()


async def test_a_wrong_answer_is_asked_again_twice(bench: Bench, tmp_path: Path, modern: bool) -> None:
    person = Person("viele", "-3", "4")
    number = {"type": "integer", "minimum": 1}
    enemy = await met(bench, tmp_path, person, form(required=("n",), n=number), modern=modern)
    await bench.call("evil__send")
    assert heard(enemy) == [{"action": "accept", "content": {"n": 4}}]
    assert person.questions[1].hint is not None
    assert person.questions[1].hint.zh == "刚才的不行：这里要一个数。要一个整数。至少 1。"
    person.answers = ["a", "b", "c", "5"]
    await bench.call("evil__send")
    assert heard(enemy)[1:] == [{"action": "cancel"}]


async def test_what_may_be_left_open_is_and_defaults_are_told(bench: Bench, tmp_path: Path, modern: bool) -> None:
    person = Person(Said("skipped"), Said("skipped"))
    asked = form(required=("floor",), floor={**WISH, "default": "1F"}, note={"type": "string"})
    enemy = await met(bench, tmp_path, person, asked, modern=modern)
    await bench.call("evil__send")
    assert heard(enemy) == [{"action": "accept", "content": {"floor": "1F"}}]
    assert person.questions[0].hint is not None
    assert "跳过就是 1F" in person.questions[0].hint.zh


@pytest.mark.parametrize(("said", "action"), [(Said("declined"), "decline"), (Said("cancelled"), "cancel")])
async def test_a_no_is_told_as_one_and_not_asked_again(
    bench: Bench, tmp_path: Path, modern: bool, said: Said, action: str
) -> None:
    person = Person(said, "a", "b")
    enemy = await met(bench, tmp_path, person, form(floor=WISH), form("Really?", floor=WISH), modern=modern)
    await bench.call("evil__send")
    assert heard(enemy)[0]["action"] == action
    assert len(person.questions) == (1 if action == "decline" else 2)


async def test_an_address_is_shown_and_never_fetched(bench: Bench, tmp_path: Path, modern: bool) -> None:
    person = Person("我来打开")
    url = "https://xn--pple-43d.example/pay?x=1"
    asked = {"mode": "url", "message": "Pay", "url": url, "elicitationId": "e1"}
    enemy = await met(bench, tmp_path, person, asked, modern=modern)
    await bench.call("evil__send")
    assert heard(enemy) == [{"action": "accept"}]
    assert person.questions[0].link == url
    assert person.questions[0].hint is not None
    assert "xn--pple-43d.example" in person.questions[0].hint.zh


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "file:///etc/passwd", "http://pay.example", "https://me:pw@pay.example", "https://",
        "https://pay.example/ x", "https://pay.example/\u202e", "https://[", f"https://a.example/{'x' * 3000}",
    ],
)  # fmt: skip
async def test_an_address_that_nobody_should_open_is_not_shown(bench: Bench, tmp_path: Path, url: str) -> None:
    person = Person("我来打开")
    enemy = await met(bench, tmp_path, person, {"mode": "url", "message": "Pay", "url": url, "elicitationId": "e"})
    await bench.call("evil__send")
    assert person.questions == []
    assert "code" in heard(enemy)[0]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "192.168.1.1", "[::1]", "localhost", "2130706433", "0x7f.1", "nas.local"]
)
async def test_an_address_nearby_is_shown_with_a_warning(bench: Bench, tmp_path: Path, host: str) -> None:
    person = Person("我来打开")
    asked = {"mode": "url", "message": "Pay", "url": f"https://{host}/reboot", "elicitationId": "e"}
    await met(bench, tmp_path, person, asked)
    await bench.call("evil__send")
    assert person.questions[0].hint is not None
    assert "家里网络" in person.questions[0].hint.zh


async def test_an_address_that_must_be_dealt_with_first_is_and_the_call_is_made_again(
    bench: Bench, tmp_path: Path
) -> None:
    person = Person("在那边办好了", "在那边办好了")
    elicitation = {"mode": "url", "message": "Sign in", "url": "https://pay.example", "elicitationId": "e1"}
    error = {"code": -32042, "message": "sign in", "data": {"elicitations": [elicitation]}}
    enemy = await met(bench, tmp_path, person, script={"answers": {"send": {"error": error}}})
    with pytest.raises(ToolFailed, match="address"):
        await bench.call("evil__send")
    assert len(enemy.calls) == 2
    assert len(person.questions) == 1


async def test_time_stands_still_while_a_person_thinks(bench: Bench, tmp_path: Path, modern: bool) -> None:
    person = Person("二楼", slow=2.5)
    enemy = await met(bench, tmp_path, person, form(floor=WISH), modern=modern, timeout=1)
    assert (await bench.call("evil__send")).text == "did send"
    assert heard(enemy)[0]["action"] == "accept"


async def test_a_call_that_is_stopped_takes_its_question_back(bench: Bench, tmp_path: Path, modern: bool) -> None:
    person = Person("二楼", slow=60)
    await met(bench, tmp_path, person, form(floor=WISH), modern=modern)
    calling = asyncio.create_task(bench.call("evil__send"))
    await bench.until(lambda: bool(person.questions))
    calling.cancel()
    await asyncio.wait([calling])
    await bench.until(lambda: person.taken_back == 1)


async def test_a_server_asks_only_so_often(bench: Bench, tmp_path: Path) -> None:
    person = Person(*["x"] * 20)
    enemy = await met(bench, tmp_path, person, *[form(floor=WISH)] * 9)
    await bench.call("evil__send")
    assert len(person.questions) == eliciting.MAX_ASKED
    assert sum("code" in answer for answer in heard(enemy)) == 9 - eliciting.MAX_ASKED


async def test_a_server_that_insists_is_given_up(bench: Bench, tmp_path: Path) -> None:
    person = Person(*["x"] * 50)
    await met(bench, tmp_path, person, form(floor=WISH), modern=True, script={"insists": True})
    with pytest.raises(ToolFailed, match="asks without end"):
        await bench.call("evil__send")
    assert len(person.questions) == eliciting.MAX_ASKED


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list"])
async def test_models_and_folders_are_refused_politely(bench: Bench, tmp_path: Path, method: str) -> None:
    params = {"messages": [], "maxTokens": 5} if method.startswith("sampling") else {}
    person = Person("x")
    await met(bench, tmp_path, person, {"method": method, "params": params}, modern=True)
    with pytest.raises(ToolFailed, match="no server is given"):
        await bench.call("evil__send")
    assert person.questions == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {f"p{n}": WISH for n in range(17)}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": [f"o{n}" for n in range(101)]}}},
        {"type": "object", "properties": {"a": {**WISH, "description": "x" * 40_000}}},
        {"type": "object", "properties": {"a": "string"}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
    ],
)
async def test_what_is_no_form_is_asked_of_nobody(bench: Bench, tmp_path: Path, schema: Any) -> None:
    person = Person("x")
    enemy = await met(bench, tmp_path, person, {"mode": "form", "message": "?", "requestedSchema": schema})
    await bench.call("evil__send")
    assert person.questions == []
    assert "code" in heard(enemy)[0]


async def test_a_question_after_the_end_reaches_nobody(bench: Bench, tmp_path: Path) -> None:
    person = Person("x")
    enemy = await met(bench, tmp_path, person, script={"asks_after": [form(floor=WISH)]})
    await bench.call("evil__send")
    await bench.until(lambda: bool(heard(enemy)))
    assert heard(enemy) == [{"action": "cancel"}]
    assert person.questions == []


@pytest.mark.parametrize("visited", [False, True])
async def test_what_is_asked_at_once_is_not_asked_any_more_after_a_no(
    bench: Bench, tmp_path: Path, visited: bool
) -> None:
    person = Person(Said("declined"), "x", "x", slow=0.05)
    await met(bench, tmp_path, person)
    one = Eliciting(bench.servers.config("evil"), person, bench.context())
    params = ElicitRequestFormParams(message="?", requested_schema=form(floor=WISH)["requestedSchema"])
    answers = [asyncio.ensure_future(one.answer(params)) for _ in range(3)]
    if visited:
        assert not await one.visited("?", "https://pay.example/")
    for answer in await asyncio.gather(*answers):
        assert answer.model_dump(exclude_none=True)["action"] == "decline"
    assert len(person.questions) == 1


async def test_a_server_that_works_for_two_may_ask_neither(bench: Bench, tmp_path: Path) -> None:
    """By a request of its own it does not say on whose behalf it asks."""
    person = Person("x", "x")
    await met(bench, tmp_path, person)
    calls = Calls(bench.servers.config("evil"), person, bench.clock)
    params = ElicitRequestFormParams(message="?", requested_schema=form(floor=WISH)["requestedSchema"])
    mine = bench.context()
    with calls.begun(mine, 5), calls.begun(replace(mine, turn="turn_2"), 5):
        assert (await calls.asked(None, params)).model_dump(exclude_none=True)["action"] == "cancel"
    with calls.begun(mine, 5), calls.begun(mine, 5):
        assert (await calls.asked(None, params)).model_dump(exclude_none=True)["action"] == "accept"
    assert len(person.questions) == 1


async def test_without_anybody_to_ask_it_is_not_even_offered(bench: Bench, tmp_path: Path) -> None:
    enemy = await met(bench, tmp_path, None, form(floor=WISH))
    await bench.call("evil__send")
    assert heard(enemy)[0]["message"] == "Elicitation not supported"


async def test_what_a_server_keeps_for_us_stands_in_no_question(bench: Bench, tmp_path: Path) -> None:
    person = Person("x")
    asked = form("key: sk-very-secret-000", floor=WISH)
    await met(bench, tmp_path, person, asked, env={"API_KEY": "sk-very-secret-000"})
    await bench.call("evil__send")
    assert "sk-very-secret" not in person.questions[0].text
