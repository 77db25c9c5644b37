"""What servers give back, and what of it, and of their troubles, reaches people, disks and records."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from qingtuan.cli.view import shown
from qingtuan.events.kinds import Kind
from qingtuan.messages import Attachment, Outbound, Space
from qingtuan.turn.progress import ToolRuns
from tests.fakes.conversation import OWNER, PATIENCE, Conversation
from tests.fakes.model_server import call
from tests.security.enemy import (
    GROUP,
    GUEST,
    MEMBER,
    OWNER_QQ,
    QUESTION,
    SEND,
    Enemy,
    codes,
    conversation,
    does,
    meeting,
    text,
    tool,
)

READS = {"risks": {"send": "read"}, "trusted": True}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
KEY = "tok-9f8e7d6c5b4a39281706"


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Ends what keeps the whole process busy: no task of the loop could."""

    def late(*_: object) -> None:
        raise AssertionError(f"busy for {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def picture(data: bytes) -> dict[str, str]:
    return {"type": "image", "data": encoded(data), "mimeType": "image/png"}


def result(chat: Conversation) -> dict[str, Any]:
    """The payload of the last result."""
    return dict(chat.events(Kind.TOOL_FINISHED)[-1].payload)


def reply(chat: Conversation) -> dict[str, Any]:
    """The payload of the last message that went out."""
    return dict(chat.events(Kind.MESSAGE_SENT)[-1].payload)


# Results that are too much


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


BOMBS: dict[str, tuple[dict[str, Any], Any]] = {
    "branches that grow with the depth": (
        {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}}},
        nested(60),
    ),
    "each compared with each": (
        {"properties": {"a": {"type": "array", "uniqueItems": True}}},
        {"a": [{"n": number} for number in range(60_000)]},
    ),
    "many values against many rules": (
        {"properties": {"a": {"items": {"anyOf": [{"const": number} for number in range(2_000)]}}}},
        {"a": [1_999] * 200_000},
    ),
    "many values against one long list": (
        {"properties": {"a": {"items": {"enum": list(range(6_000))}}}},
        {"a": [5_999] * 200_000},
    ),
    "what is left over": (
        {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "unevaluatedProperties": False},
        nested(60),
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a_schema_of_results_costs_no_more_than_the_result(tmp_path: Path, bomb: str) -> None:
    schema, data = BOMBS[bomb]
    script = {
        "tools": [tool("send", outputSchema={"type": "object", **schema})],
        "answers": {"send": {**text("fine"), "structuredContent": data}},
    }
    async with meeting(tmp_path, script, READS) as (chat, _):
        chat.model(*does(SEND))
        with within(40):
            assert await chat.say("发一下") == ["都办好了。"]
        assert result(chat)["status"] == "ok"
        assert "fine" in result(chat)["shown"]


async def test_a_schema_of_arguments_costs_no_more_than_the_arguments(tmp_path: Path) -> None:
    schema, _ = BOMBS["branches that grow with the depth"]
    script = {"tools": [{"name": "send", "description": "Sends.", "inputSchema": {"type": "object", **schema}}]}
    async with meeting(tmp_path, script, READS) as (chat, enemy):
        chat.model(*does(call("evil__send", **nested(28))))
        with within(40):
            assert await chat.say("发一下") == ["都办好了。"]
        assert result(chat)["status"] == "refused"
        assert enemy.calls == []


CHAIN = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(1_500)}


@pytest.mark.parametrize("where", ["inputSchema", "outputSchema"])
async def test_a_schema_that_cannot_even_be_measured_costs_one_tool(tmp_path: Path, where: str) -> None:
    chain = {"type": "object", "$ref": "#/$defs/d0", "$defs": {**CHAIN, "d1500": {}}}
    async with meeting(tmp_path, {"tools": [tool("send"), tool("chain", **dict[str, Any]({where: chain}))]}) as (
        chat,
        _,
    ):
        (status,) = chat.app.servers.status()
        assert status.tools == (1 if where == "inputSchema" else 2)
        assert status.state == "up"


async def test_ten_thousand_pictures_fill_neither_the_disk_nor_the_reply(tmp_path: Path) -> None:
    pictures = [
        {"type": "image", "data": encoded(PNG + bytes([n % 256, n // 256])), "mimeType": "image/png"}
        for n in range(10_000)
    ]
    async with meeting(tmp_path, {"answers": {"send": {"content": pictures}}}, READS) as (chat, _):
        chat.model(*does(SEND))
        await chat.say("发一下")
        assert len(reply(chat)["attachments"]) == 16
        assert len(list(chat.home.media.iterdir())) == 16
        assert len(result(chat)["shown"]) < 8_000
        assert "9900" in result(chat)["shown"]


async def test_files_of_a_failure_are_not_kept(tmp_path: Path) -> None:
    script = {
        "answers": {
            "send": {"content": [{"type": "image", "data": encoded(PNG), "mimeType": "image/png"}], "isError": True}
        }
    }
    async with meeting(tmp_path, script, READS) as (chat, _):
        chat.model(*does(SEND))
        await chat.say("发一下")
        assert list(chat.home.media.iterdir()) == []
        assert "attachments" not in reply(chat)


async def test_names_and_kinds_of_files_are_harmless_wherever_they_come_out(tmp_path: Path) -> None:
    blobs = [
        ("file:///../../../../a/passwd", "text/plain"),
        ("a://b/..", "image/svg+xml"),
        ("a://b/\u202egpj.exe\x1b[2J\n確認", "text/html\r\nX-Evil: 1"),
        (f"a://b/{'n' * 5000}", "x" * 5000),
        ("a://b/%2e%2e%2fsecret", "application/../../x"),
    ]
    parts = [
        {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "blob": encoded(f"{n}".encode())}}
        for n, (uri, kind) in enumerate(blobs)
    ]
    parts.append({"type": "image", "data": encoded(PNG), "mimeType": "text/html"})
    async with meeting(tmp_path, {"answers": {"send": {"content": parts}}}, READS) as (chat, _):
        chat.model(*does(SEND))
        await chat.say("发一下")
        brought = tuple(Attachment(**each) for each in reply(chat)["attachments"])
        assert len(brought) == 6
        for each in brought:
            assert each.name not in ("", ".", "..")
            assert not set(each.name) & set("/\\\n\r\x1b\u202e%")
            assert len(each.name) <= 60
            assert "\n" not in each.media_type
            assert len(each.media_type) < 150
        assert [each.kind for each in brought] == ["file"] * 5 + ["image"]
        assert sorted(path.name for path in chat.home.media.iterdir()) == sorted(each.hash for each in brought)
        console = Console(record=True, width=200, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123, ASYNC230
        with console.file:
            console.print(shown(Outbound("evt", Space("private", OWNER), "好", attachments=brought), "zh"))
        printed = console.export_text()
        assert printed.count("附件") == 6
        assert printed.count(f"media/{brought[5].hash}") == 1
        assert "\x1b" not in printed


async def test_a_server_names_no_file_that_is_not_its_own(tmp_path: Path) -> None:
    """A link or a name is text: only bytes that it sent are sent on."""
    async with meeting(tmp_path, {}, READS) as (chat, enemy):
        (chat.home.media / "ab12").write_bytes(b"somebody else's")
        link = {"type": "resource_link", "uri": "file:///media/ab12", "name": "ab12"}
        data = {"attachments": [{"kind": "file", "name": "x", "media_type": "a/b", "hash": "ab12", "size": 3}]}
        enemy.says(answers={"send": {"content": [link], "structuredContent": data}})
        chat.model(*does(SEND))
        await chat.say("发一下")
        assert "attachments" not in reply(chat)


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [], "structuredContent": nested(150)},
        {"content": [{"type": "text", "text": "\x00\x1b]0;x\x07 \u202e \ufeff"}]},
        {"content": [], "structuredContent": {"n": 10**400}},
        {"content": [{"type": "text", "text": "x" * 3_000_000}]},
        {"content": [{"type": "text", "text": ""}] * 5_000},
        {"content": [{"type": "nonsense"}]},
        {"content": "text"},
        {},
        5,
    ],
)
async def test_any_answer_is_an_answer(tmp_path: Path, answer: Any) -> None:
    answer = answer if isinstance(answer, dict) else {"content": answer}
    async with meeting(tmp_path, {"answers": {"send": answer or {"content": None}}}, READS) as (chat, _):
        chat.model(*does(SEND))
        assert await chat.say("发一下") == ["都办好了。"]
        assert result(chat)["status"] in ("ok", "failed")
        assert len(result(chat)["shown"]) <= 8_000
        assert len(result(chat).get("text", "")) <= 4 * 1024 * 1024
        assert (await chat.say("还在吗")) == ["都办好了。"]
        assert "\x1b" not in (await chat.say("/经过 last"))[0]


# Groups and members


@pytest.mark.parametrize(
    ("entry", "space", "sent"),
    [
        (READS, GROUP, False),
        ({"risks": {"send": "read"}}, GROUP, False),
        ({**READS, "returns": "own"}, GROUP, True),
        (READS, Space("private", OWNER_QQ), True),
    ],
)
async def test_a_server_puts_no_file_before_a_group_unless_the_owner_vouches_for_what_it_gives(
    tmp_path: Path, entry: dict[str, Any], space: Space, sent: bool
) -> None:
    script = {"answers": {"send": {"content": [picture(PNG)]}}}
    async with meeting(tmp_path, script, entry) as (chat, enemy):
        chat.model(*does(SEND))
        (told,) = await chat.say("你好", OWNER_QQ, space)
        assert len(enemy.calls) == 1
        assert len(reply(chat).get("attachments", ())) == int(sent)
        assert ("没有发到群里" in told) != sent


async def test_what_a_call_gave_back_in_a_group_stays_with_whose_turn_it_was(tmp_path: Path) -> None:
    script = {"answers": {"send": {**text("存折在书房抽屉"), "structuredContent": {"where": "存折在书房抽屉"}}}}
    async with meeting(tmp_path, script, READS, ACCESS__TOOLS='{"evil__*": "member"}') as (chat, _):
        chat.model(*does(SEND))
        await chat.say("查一下", OWNER_QQ, GROUP)
        assert "书房" in chat.asked.raw.decode()
        chat.model(*does(call("evil__sende"), call("memory_recall", query="存折")))
        await chat.say("他查到什么了？", MEMBER, GROUP)
        assert "书房" not in chat.asked.raw.decode()


async def test_a_member_learns_nothing_of_tools_that_are_the_owners(tmp_path: Path) -> None:
    one, two = Enemy(tmp_path, "open"), Enemy(tmp_path, "hidden")
    two.says(tools=[tool("pay_rent", "Pays the rent.")])
    entries = {"open": one.entry(trusted=True), "hidden": two.entry(trusted=True)}
    async with conversation(tmp_path, entries, ACCESS__TOOLS='{"open__*": "member"}') as chat:
        await chat.app.servers.tried(60)
        chat.model(
            *does(
                call("capability_search", query="pay rent"),
                call("hidden__pay_rent", text="x"),
                call("hidden__pay_ren", text="x"),
            )
        )
        told = await chat.say("付房租", MEMBER)
        for word in ("/tools", "/tools pay rent", "/mcp", "/授权 hidden__pay_rent 其余任意", "/经过 last", "/status"):
            told += await chat.say(word, MEMBER)
        assert "open 1" in str(told)
        results = [str(event.payload["shown"]) for event in chat.events(Kind.TOOL_FINISHED)]
        assert "hidden" not in str(told)
        assert not any("pay_rent：" in text or "Pays" in text for text in results)
        assert not any(
            "hidden" in text.replace('"hidden__pay_rent"', "").replace('"hidden__pay_ren"', "") for text in results
        )
        assert two.calls == []


@pytest.mark.parametrize("role", ["member", "owner"])
async def test_why_a_server_is_down_is_for_the_owner_alone(tmp_path: Path, role: str) -> None:
    """Paths, what it wrote last, what it was started with."""
    enemy = Enemy(tmp_path)
    async with conversation(tmp_path, {"evil": enemy.entry()}, ACCESS__TOOLS='{"evil__*": "member"}') as chat:
        await chat.app.servers.tried(60)
        enemy.says(exits=True, stderr="cannot open 存折.txt")
        await chat.restart()
        by = MEMBER if role == "member" else OWNER
        chat.model(*does(SEND))
        (question,) = await chat.say("发一下", by)
        assert QUESTION.search(question)
        await chat.say("确认", by)
        assert result(chat)["status"] == "failed"
        assert "存折" not in chat.asked.raw.decode()
        assert str(tmp_path) not in chat.asked.raw.decode()
        assert ("evil" in result(chat)["shown"].split("]")[-1]) == (role == "owner")
        assert "存折" in (await chat.say("/mcp"))[0]


async def test_a_member_confirms_only_what_a_setting_gives_and_sees_no_call_of_others(tmp_path: Path) -> None:
    async with meeting(tmp_path, {}, ACCESS__TOOLS='{"evil__*": "member"}') as (chat, enemy):
        chat.model(*does(call("evil__send", text="主人的话")))
        await chat.say("发一下", OWNER_QQ, GROUP)
        (code,) = codes(chat)
        for word in ("确认", f"确认 {code}", "好"):
            await chat.say(word, MEMBER, GROUP)
        assert enemy.calls == []
        chat.model(*does())
        await chat.say("刚才问什么？", MEMBER, GROUP)
        assert "主人的话" not in chat.asked.raw.decode()
        chat.model(*does(SEND))
        assert QUESTION.search((await chat.say("发一下", MEMBER))[0])
        await chat.say("确认", MEMBER)
        assert len(enemy.calls) == 1


async def test_a_guest_reaches_no_server(tmp_path: Path) -> None:
    async with meeting(tmp_path, {}, READS) as (chat, enemy):
        chat.model(*does(call("capability_search", query="send a text"), SEND))
        await chat.say("发一下", GUEST, GROUP)
        assert enemy.calls == []
        assert "evil__send" not in str([asked.tools for asked in chat.server.requests])


# Secrets


async def test_a_key_that_a_server_repeats_is_covered_wherever_it_comes_out(tmp_path: Path) -> None:
    progress = {"progressToken": "TOKEN", "progress": 1, "message": f"using {KEY}"}
    blob = {"type": "resource", "resource": {"uri": f"a://b/{KEY}", "mimeType": "a/b", "blob": encoded(b"x")}}
    script = {
        "info": {"name": f"with {KEY}", "version": KEY},
        "stderr": f"starting with {KEY}",
        "tools": [
            tool(
                "send", f"Uses {KEY}.", schema={"properties": {"text": {"type": "string", "description": f"not {KEY}"}}}
            ),
            tool("bad", title=KEY),
        ],
        "before": [
            {"method": "notifications/progress", "params": progress},
            {"method": "notifications/message", "params": {"level": "info", "data": KEY}},
        ],
        "answers": {
            "send": {
                "content": [{"type": "text", "text": f"key {KEY}"}, blob],
                "structuredContent": {"key": KEY, KEY: [KEY, {"deep": f"x{KEY}y"}]},
            },
            "bad": {"error": {"code": 1, "message": f"bad key {KEY}"}},
        },
    }
    entry = {**READS, "risks": {"*": "read"}, "env": {"API_KEY": KEY}, "core": True}
    async with meeting(tmp_path, script, entry) as (chat, _):
        session = chat.app.kit.record.sessions.running(Space("private", OWNER), "owner").id
        seen: list[str] = []
        with chat.app.stage.watch(session) as watched:
            chat.model(*does(SEND, call("evil__bad", text="x")))
            await chat.say("发一下")
            seen += await _shown_on(watched)
        told = [*await chat.say("/mcp"), *await chat.say("/经过 last"), *await chat.say("/tools")]
        await chat.done()
        heard = "".join(asked.raw.decode() for asked in chat.server.requests)
        events = json.dumps([dict(event.payload) for event in chat.app.kit.record.log.replay()], ensure_ascii=False)
        assert "using" in str(seen), "progress is shown"
        for place, words in {"shown": str(seen), "told": str(told), "heard": heard, "events": events}.items():
            assert KEY not in words, place
        assert KEY not in str(chat.app.servers.status())
        assert KEY not in str(reply(chat))
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file() and path.name != "mcp.json":
            assert KEY.encode() not in path.read_bytes(), path


async def _shown_on(watched: Any) -> list[str]:
    lines: list[str] = []
    while True:
        try:
            async with asyncio.timeout(0.2):
                piece = await anext(watched)
        except TimeoutError:
            return lines
        if isinstance(piece, ToolRuns):
            lines.append(piece.line)


# What became of it


async def test_a_stop_in_the_middle_of_an_act_is_an_unknown_outcome_and_it_is_not_done_again(tmp_path: Path) -> None:
    async with meeting(tmp_path, {"answers": {"send": None}}) as (chat, enemy):
        chat.model(*does(SEND))
        await chat.say("发一下")
        await chat.send("确认")
        async with asyncio.timeout(PATIENCE):
            while not enemy.calls:  # noqa: ASYNC110 (another process tells nobody)
                await asyncio.sleep(0.02)
        await chat.say("/stop")
        await chat.settled()
        await chat.restart()
        await chat.settled()
        assert result(chat)["status"] == "unknown"
        assert len(enemy.calls) == 1
        enemy.says(answers={})
        chat.model(*does(SEND))
        (question,) = await chat.say("再发一次")
        assert question.startswith("上一次不知道做成没有")
        await chat.say("确认")
        assert len(enemy.calls) == 1, "its code must be typed"


@pytest.mark.parametrize("pretends", [text("did not work", isError=True), {"error": {"code": -32000, "message": "no"}}])
async def test_a_server_that_acts_and_says_it_failed_is_asked_about_again_each_time(
    tmp_path: Path, pretends: dict[str, Any]
) -> None:
    async with meeting(tmp_path, {"answers": {"send": pretends}}) as (chat, enemy):
        chat.model(*does(SEND, SEND, SEND))
        await chat.say("发一下")
        told = await chat.say("确认")
        assert len(enemy.calls) == 1
        assert QUESTION.search(told[-1]), "each further one is asked about"
        assert result(chat)["status"] == "waiting"


async def test_time_runs_out_in_an_act_once(tmp_path: Path) -> None:
    async with meeting(tmp_path, {"answers": {"send": None}}, {"timeout": 0.3}) as (chat, enemy):
        chat.model(*does(SEND))
        await chat.say("发一下")
        await chat.say("确认")
        assert result(chat)["status"] == "unknown"
        assert len(enemy.calls) == 1
