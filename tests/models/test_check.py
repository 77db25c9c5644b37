"""`model check` against pretended models: each with its own blind spots."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from qingtuan.clock import ManualClock
from qingtuan.models.chat import ImagePart
from qingtuan.models.check import Finding, Link, check, names_stripes, stripes
from qingtuan.models.client import Client, Endpoint
from qingtuan.models.profiles import GENERIC, Profile
from tests.fakes.model_session import CallIds
from tests.fakes.raw_server import Asked, RawServer, Script, delta, error, events, stream, tool_delta


@dataclass
class Pretended:
    """A model that understands the probes, as far as it is told to."""

    system: str = "many"
    tools: bool = True
    tool_role: bool = True
    forced: bool = True
    json: str = "schema"
    switch: str | None = "thinking"
    temperature: bool = True
    sees: tuple[str, ...] = ("data", "url")
    blind_with_tools: bool = False
    busy: int = 0

    def __call__(self, asked: Asked) -> Script:
        body = asked.json
        if self.busy:
            self.busy -= 1
            return error(503, "busy", Retry_After="1")
        if refusal := self._refusal(body):
            return error(400, refusal)
        thinks = self.switch is not None and body.get(self.switch) in (True, {"type": "enabled"})
        head = [delta(reasoning_content="嗯")] if thinks else []
        return stream(events(*head, *self._answer(body)))

    def _refusal(self, body: dict[str, Any]) -> str | None:
        roles = [message["role"] for message in body["messages"]]
        if "temperature" in body and not self.temperature:
            return "temperature is not allowed"
        if "system" in roles and (self.system == "refused" or (self.system == "one" and "system" in roles[1:])):
            return "messages: role 'system' is not allowed here"
        if "tool" in roles and not self.tool_role:
            return "messages: role 'tool' is not allowed"
        if "tool_choice" in body and not self.forced:
            return "tool_choice is not allowed"
        if body.get("response_format", {}).get("type") == "json_schema" and self.json != "schema":
            return "response_format json_schema is not allowed"
        return None

    def _answer(self, body: dict[str, Any]) -> list[object]:
        said = str(body["messages"])
        if "image_url" in said:
            blind = (self.blind_with_tools and "tools" in body) or self._form(said) not in self.sees
            return self._text("我看不到图片" if blind else "蓝色、黄色、红色")
        if "4711" in said:
            return self._text("编号是 4711")
        if "tools" in body and self.tools and ("编号" in said or "tool_choice" in body):
            return [tool_delta(0, "a", "look_up", '{"word":"青团"}'), delta("tool_calls")]
        if "暗号" in said:
            return self._text("青山白鹭")
        if "城市" in said:
            return self._text("是武汉" if self.json == "none" else '{"city":"武汉"}')
        return self._text("一，二，三")

    @staticmethod
    def _form(said: str) -> str:
        return "data" if "data:image/png" in said else "url"

    @staticmethod
    def _text(text: str) -> list[object]:
        return [*(delta(content=char) for char in text), delta("stop", usage=(9, 9))]


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


async def run(
    server: RawServer, model: Pretended, profile: Profile = GENERIC, link: Link | None = None
) -> tuple[Finding, dict[str, bool | None]]:
    server.judge = model
    clock = ManualClock(datetime(2026, 11, 30, tzinfo=UTC))
    client = Client(Endpoint(server.url), lambda _: profile, CallIds(), clock)
    finding = await check(client, clock, "m", profile, link)
    await client.close()
    return finding, {row.label.en: row.ok for row in finding.rows}


async def test_a_model_that_can_do_everything(server: RawServer) -> None:
    finding, rows = await run(server, Pretended(), link=lambda image: "https://example.com/a.png")
    assert finding.reachable
    assert finding.override == {"json": "schema", "thinking": "thinking", "tool_choice": True}
    assert all(rows.values()), rows
    assert {label for label in rows if label.startswith("picture")} == {
        f"picture, {form}{tools}{thinking}"
        for form in ("data", "url")
        for tools in ("", ", with tools")
        for thinking in ("", ", with thinking")
    }


async def test_a_model_that_can_do_little(server: RawServer) -> None:
    little = Pretended(system="refused", tools=False, json="none", switch=None, sees=(), temperature=False)
    finding, rows = await run(server, little)
    assert finding.override == {"system": "refused", "tools": False, "vision": "none", "temperature": False}
    assert rows == {
        "reachable": True,
        "streaming": True,
        "counts tokens": True,
        "system messages": False,
        "tools": False,
        "JSON": False,
        "thinking": None,
        "picture, data": False,
        "picture, url": None,
    }


@pytest.mark.parametrize(
    ("model", "override"),
    [
        (Pretended(system="one"), {"system": "one"}),
        (Pretended(tool_role=False), {"tool_role": False}),
        (Pretended(json="object"), {"json": "object"}),
        (Pretended(forced=False), {"tool_choice": False}),
        (Pretended(switch="enable_thinking"), {"thinking": "enable_thinking"}),
        (Pretended(busy=1), {}),
    ],
)
async def test_what_is_to_be_saved(model: Pretended, override: dict[str, object], server: RawServer) -> None:
    believed = Profile("x", json="schema", thinking="thinking", tool_choice=True)
    finding, _ = await run(server, model, believed)
    assert finding.override == override


async def test_a_model_that_goes_blind_with_tools(server: RawServer) -> None:
    finding, rows = await run(server, Pretended(blind_with_tools=True))
    assert rows["picture, data"] is True
    assert rows["picture, data, with tools"] is False
    assert finding.profile.vision == "data"


async def test_a_model_that_takes_links_only(server: RawServer) -> None:
    finding, _ = await run(server, Pretended(sees=("url",)), link=lambda image: "https://example.com/a.png")
    assert finding.profile.vision == "url"


async def test_nobody_there(server: RawServer) -> None:
    finding, rows = await run(server, Pretended(busy=99))
    assert (finding.reachable, rows, finding.override) == (False, {"reachable": False}, {})
    assert "503" in finding.rows[0].detail
    assert len(server.asked) == 2


def test_the_picture_is_a_picture() -> None:
    data = stripes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (96, 96)
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    pixels = zlib.decompress(data[start + 4 : start + 4 + length])
    assert len(pixels) == height * (1 + 3 * width)
    assert pixels[1:4] == bytes((20, 60, 220))
    assert len(base64.b64encode(data)) < 1000
    assert ImagePart("image/png", data)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("蓝色、黄色、红色", True),
        ("Blue, yellow and red.", True),
        ("从左到右是：**蓝**、黄、红", True),
        ("红、黄、蓝", False),
        ("我看不到图片", False),
        ("蓝色", False),
        ("", False),
    ],
)
def test_who_names_the_stripes(text: str, named: bool) -> None:
    assert names_stripes(text) is named
