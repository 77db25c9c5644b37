"""capabilities.md: the assistant writes itself a tool; what is wrong comes back to it, and a person says yes to the
whole."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.engine import find_program
from qingtuan.events.kinds import Kind
from qingtuan.turn.trace import timeline, trace
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, ToolCall, call, on_result, on_user

pytestmark = pytest.mark.skipif(find_program() is None, reason="the engine of the sandbox is not installed")

GOOD = """\
export default async function (input: { text: string }) {
  const bytes = new TextEncoder().encode(input.text);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return { hex: [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}
"""
BROKEN = GOOD.replace("const bytes =", "const bytes ==")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
HASH = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def create(code: str, expected: str = HASH, **more: Any) -> Reply:
    cases = [{"arguments": {"text": "hello"}, "expected": {"hex": expected}}]
    described = "SHA-256 of a text, as hex."
    given = {"name": "text_digest", "description": described, "schema": SCHEMA, "code": code, "cases": cases, **more}
    return Reply(calls=(ToolCall("capability_create", given),))


async def test_a_tool_is_found_missing_made_mended_confirmed_and_called_at_once(tmp_path: Path) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
    chat.model(
        on_user("哈希", call("capability_search", query="造个工具 make a tool", limit=3)),
        on_result("capability_create", create(BROKEN)),
        on_result("编译不过", create(GOOD, expected="00")),
        on_result("应该得到", create(GOOD)),
        on_result("还没有执行", ""),
        on_result("做好了", call("text_digest", text="hello")),
        on_result(HASH, "好了，是 2cf2…"),
    )
    async with chat:
        (question,) = await chat.say("写个工具算 SHA256 哈希，算算 hello 的")
        assert "crypto.subtle.digest" in question
        assert "  3│   const digest" in question
        assert "hosts" in question
        assert len(chat.events(Kind.CONFIRMATION_ASKED)) == 1
        assert chat.events(Kind.CAPABILITY_DEPLOYED) == []
        wrong = [event.payload["shown"] for event in chat.events(Kind.TOOL_FINISHED)]
        assert any("第 2 行" in text for text in wrong)
        assert any("应该得到" in text and HASH in text for text in wrong)
        assert await chat.say("确认") == ["好了，是 2cf2…"]
        assert "text_digest" in chat.asked.tools
        (called,) = chat.events(Kind.CAPABILITY_CALLED)
        assert called.payload["ok"]
        assert "代码跑完了 text_digest v1" in timeline(trace(chat.app.kit.record.log, "last"), "zh", UTC)
        assert (chat.home.capabilities / "text_digest" / "main.ts").read_text("utf-8") == GOOD
        (deployed,) = chat.events(Kind.CAPABILITY_DEPLOYED)
        assert deployed.place.person == "owner"


async def test_the_trace_shows_where_code_reached_out_to(tmp_path: Path) -> None:
    reached = {
        "method": "GET",
        "url": "https://api.example.com/?q=%E6%AD%A6",
        "status": 200,
        "sent": 0,
        "received": 512,
    }
    tried = {"method": "POST", "url": "https://evil.example.com/\u202e", "status": None, "sent": 0, "received": 0}
    reached = {**reached, "sent": 0, "received": 512, "refused": ""}
    fetched = [reached, {**tried, "refused": "not approved"}]
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
    async with chat:
        await chat.say("你好")
        log = chat.app.kit.record.log
        place = trace(log, "last").events[-1].place
        payload = {"name": "weather", "version": 2, "ok": False, "seconds": 0.5, "fetched": fetched, "message": "x"}
        log.append(Kind.CAPABILITY_CALLED, place, payload)
        shown = timeline(trace(log, "last"), "en", UTC)
        assert "code failed: weather v2  0.50 s" in shown
        assert "→ GET https://api.example.com/?q=%E6%AD%A6  200, 0 bytes out, 512 in" in shown
        assert "not let out: POST https://evil.example.com/\\u{202E}: not approved" in shown


async def test_while_a_tool_is_written_the_model_for_code_is_asked(tmp_path: Path) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off", LLM__CODE_MODEL="coder")
    chat.model(
        on_user("哈希", call("capability_search", query="造个工具", limit=3)),
        on_result("capability_create", create(GOOD)),
        on_result("还没有执行", ""),
    )
    async with chat:
        await chat.say("写个工具算哈希")
        first, second = [asked.body["model"] for asked in chat.server.requests if asked.tools][:2]
        assert (first, second) == ("scripted", "coder")
        await chat.say("你好吗，今天怎么样")
        assert chat.asked.body["model"] == "scripted"


async def test_a_no_leaves_nothing(tmp_path: Path) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
    chat.model(
        on_user("哈希", call("capability_search", query="造个工具", limit=3)),
        on_result("capability_create", create(GOOD)),
        on_result("还没有执行", ""),
    )
    async with chat:
        await chat.say("写个工具算哈希")
        await chat.say("取消")
        assert chat.events(Kind.CAPABILITY_DEPLOYED) == []
        assert not (chat.home.capabilities / "text_digest").exists()
