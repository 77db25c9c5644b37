"""`qingtuan model check`: finds out by asking what a model can really do, and what its profile should say.

Documentation and behaviour differ: some providers accept a parameter and ignore it, some go blind when tools are
sent. So every probe is judged by what the answer says. About twenty short requests; nothing is printed here.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from qingtuan.clock import Clock
from qingtuan.errors import ModelRefused, RefusalReason
from qingtuan.language import Words
from qingtuan.models.chat import Answer, ChatMessage, ImagePart, Params, Request, TextDelta, ToolSpec, WireRequest
from qingtuan.models.client import Client
from qingtuan.models.failures import Interrupted
from qingtuan.models.profiles import Profile, ThinkingSwitch, override
from qingtuan.models.wire import encode

Link = Callable[[ImagePart], str | None]
"""Puts a picture where the provider can fetch it and gives the address; None if nobody outside reaches us."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    label: Words
    ok: bool | None
    """None: could not be tried."""
    found: Words
    detail: str = ""
    """What the provider said, for the owner."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found."""

    model: str
    rows: tuple[Row, ...]
    profile: Profile
    override: Mapping[str, object]
    """What must be saved for this model, as fields of `Profile`; empty if all was known."""

    @property
    def reachable(self) -> bool:
        return self.rows[0].ok is True


@dataclass(frozen=True, slots=True)
class _Reply:
    answer: Answer | None
    pieces: int = 0
    """How many deltas the text came in."""
    refused: RefusalReason | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        return self.answer.text if self.answer else ""


class _Unheard:
    """A recorder for what belongs to no turn."""

    def requested(self, wire: WireRequest, model: str) -> None:
        pass

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Probe:
    """Asks one model short questions."""

    client: Client
    clock: Clock
    model: str
    link: Link | None

    async def ask(
        self,
        profile: Profile,
        *messages: ChatMessage,
        tools: tuple[ToolSpec, ...] = (),
        forced: bool = False,
        params: Params | None = None,
    ) -> _Reply:
        """One answer; a provider that is busy is asked once more."""
        wire = encode(Request(messages, tools, params or Params(self.model)), profile)
        if forced:
            wire = replace(wire, params=json.dumps(json.loads(wire.params) | {"tool_choice": "required"}).encode())
        try:
            return await self._once(wire)
        except Interrupted as error:
            await self.clock.sleep(min(error.retry_after or 2, 30))
        try:
            return await self._once(wire)
        except Interrupted as error:
            return _Reply(None, detail=error.detail)

    async def _once(self, wire: WireRequest) -> _Reply:
        pieces = 0
        try:
            async for event in self.client.send(wire, self.model, _Unheard()):
                if isinstance(event, Answer):
                    return _Reply(event, pieces)
                pieces += isinstance(event, TextDelta)
        except ModelRefused as error:
            return _Reply(None, refused=error.reason, detail=error.detail)
        return _Reply(None, detail="no answer")


_Step = Callable[[_Probe, Profile], Awaitable[tuple[list[Row], Profile]]]


async def check(client: Client, clock: Clock, model: str, profile: Profile, link: Link | None = None) -> Finding:
    """Ask `model` until it is known what it can do; `profile` is what was believed before."""
    probe = _Probe(client, clock, model, link)
    rows: list[Row] = []
    found = profile
    for step in _STEPS:
        new, found = await step(probe, found)
        rows += new
        if not rows[0].ok:
            break
    changed = {
        field.name: getattr(found, field.name)
        for field in fields(Profile)
        if getattr(found, field.name) != getattr(profile, field.name)
    }
    return Finding(model, tuple(rows), found, changed)


async def _reach(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    """Whether it answers at all: with fewer parameters if it refuses some."""
    message = ChatMessage("user", "从一数到十，用逗号隔开。")
    tried = profile
    first = reply = await probe.ask(tried, message)
    for spared in ("temperature", "stream_usage"):
        if reply.refused == "request":
            tried = override(tried, {spared: False})
            reply = await probe.ask(tried, message)
    if reply.answer is None:
        return [Row(_REACHED, False, Words("没有回答", "no answer"), first.detail)], profile
    streams = reply.pieces > 1
    counted = not reply.answer.usage.estimated
    return [
        Row(_REACHED, True, Words("有回答", "it answers")),
        Row(_STREAMS, streams, _YES if streams else Words("一整段才来", "comes in one piece")),
        Row(_COUNTS, counted, _YES if counted else Words("不报，按长度估", "no; estimated by length")),
    ], tried


async def _system(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    """Where system messages are heeded: half of a word stands in each of two."""
    messages = (
        ChatMessage("system", "暗号的前一半是「青山」。"),
        ChatMessage("user", "你好"),
        ChatMessage("assistant", "你好"),
        ChatMessage("system", "暗号的后一半是「白鹭」。"),
        ChatMessage("user", "暗号是哪四个字？只回这四个字。"),
    )
    found: Mapping[str, Words] = {
        "many": Words("哪里都行", "anywhere"),
        "one": Words("只能一条，放最前", "one only, in front"),
        "refused": Words("不能用，改成用户消息", "none; told as user messages"),
    }
    reply = _Reply(None)
    for way in ("many", "one", "refused"):
        tried = replace(profile, system=way)
        reply = await probe.ask(tried, *messages)
        if "青山" in reply.text and "白鹭" in reply.text:
            return [Row(_SYSTEM, way == "many", found[way])], tried
    return [Row(_SYSTEM, None, Words("看不出来", "cannot be told"), reply.detail or reply.text[:100])], profile


_LOOK_UP = ToolSpec(
    "look_up",
    "查一个词的编号。",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "要查的词"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
_QUESTION = ChatMessage("user", "用工具查「青团」的编号，然后告诉我编号。")


async def _tools(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    """Whether it calls a tool, and takes the result."""
    reply = await probe.ask(replace(profile, tools=True), _QUESTION, tools=(_LOOK_UP,))
    answer = reply.answer
    if answer is None and not reply.refused:
        return [Row(_TOOLS, None, _NOT_TRIED, reply.detail)], profile
    if answer is None or not answer.calls or "青团" not in answer.calls[0].arguments:
        said = Words("不接受工具", "refuses tools") if reply.refused else Words("不调用工具", "calls no tools")
        return [Row(_TOOLS, False, said, reply.detail or reply.text[:100])], replace(profile, tools=False)
    history = (
        _QUESTION,
        ChatMessage("assistant", answer.text, calls=answer.calls, reasoning=answer.reasoning),
        *(ChatMessage("tool", "编号是 4711", call_id=call.id) for call in answer.calls),
    )
    for tool_role in (True, False):
        tried = replace(profile, tools=True, tool_role=tool_role)
        reply = await probe.ask(tried, *history, tools=(_LOOK_UP,))
        if "4711" in reply.text:
            said = _YES if tool_role else Words("能，结果得写成文字", "yes; results must be told in words")
            return [Row(_TOOLS, True, said)], tried
    return [Row(_TOOLS, False, Words("不理会结果", "ignores the result"), reply.detail or reply.text[:100])], profile


async def _tool_choice(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    if not profile.tools:
        return [], profile
    reply = await probe.ask(profile, ChatMessage("user", "你好"), tools=(_LOOK_UP,), forced=True)
    ok = bool(reply.answer and reply.answer.calls)
    return [Row(_TOOL_CHOICE, ok, _YES if ok else _NO, reply.detail)], replace(profile, tool_choice=ok)


_CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


async def _json(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    """The strictest form of JSON that it keeps to."""
    found: Mapping[str, Words] = {
        "schema": Words("按给定的结构", "by a schema"),
        "object": Words("只保证是 JSON", "JSON, of any shape"),
        "none": Words("只能写在提示里", "only by asking for it"),
    }
    message = ChatMessage("user", "从这句话里找出城市：我明天坐火车去武汉看樱花。")
    params = Params(probe.model, temperature=0.1, schema=_CITY)
    details: list[str] = []
    for form in ("schema", "object", "none"):
        tried = replace(profile, json=form)
        reply = await probe.ask(tried, message, params=params)
        if _city(reply.text) == "武汉":
            return [Row(_JSON, form != "none", found[form], "; ".join(details))], tried
        details.append(f"{form}: {reply.detail or reply.text[:80]}")
    return [Row(_JSON, False, _NO, "; ".join(details))], replace(profile, json="none")


def _city(text: str) -> str | None:
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    city = answer.get("city") if isinstance(answer, dict) else None
    return city.removesuffix("市") if isinstance(city, str) else None


async def _thinking(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    """Which switch turns thinking on and off. Where thinking is hidden, what is believed stays."""
    message = ChatMessage("user", "9.11 和 9.9 哪个大？只回一个数。")
    switches: list[ThinkingSwitch] = [profile.thinking] if profile.thinking != "none" else []
    switches += [s for s in ("enable_thinking", "thinking", "template") if s != profile.thinking]
    thinks = False
    for switch in switches:
        tried = replace(profile, thinking=switch)
        on = await probe.ask(tried, message, params=Params(probe.model, thinking=True))
        off = await probe.ask(tried, message, params=Params(probe.model, thinking=False))
        thinks_on, thinks_off = (bool(r.answer and r.answer.reasoning) for r in (on, off))
        if thinks_on and off.answer and not thinks_off:
            return [Row(_THINKING, True, Words(f"能开关（{switch}）", f"can be switched ({switch})"))], tried
        thinks = thinks or thinks_on or thinks_off
    if thinks:
        return [Row(_THINKING, False, Words("会思考，关不掉", "it thinks, and cannot be stopped"))], profile
    return [Row(_THINKING, None, Words("看不到思考", "no thinking to be seen"))], profile


async def _pictures(probe: _Probe, profile: Profile) -> tuple[list[Row], Profile]:
    """Each form of a picture, with and without tools and thinking."""
    rows: list[Row] = []
    seen: list[Literal["data", "url"]] = []
    image = ImagePart("image/png", stripes())
    link = probe.link(image) if probe.link else None
    forms: tuple[tuple[Literal["data", "url"], ImagePart], ...] = (("data", image), ("url", replace(image, url=link)))
    for form, sent in forms:
        tried = replace(profile, vision=form)
        for tools, thinking in ((False, False), (True, False), (False, True), (True, True)):
            if (tools and not profile.tools) or (thinking and profile.thinking == "none"):
                continue
            label = _picture_label(form, tools=tools, thinking=thinking)
            if form == "url" and link is None:
                rows.append(Row(label, None, Words("没有公网地址，没试", "not tried: we have no public address")))
                break
            params = Params(probe.model, thinking=thinking if profile.thinking != "none" else None)
            message = ChatMessage("user", _STRIPES_QUESTION, images=(sent,))
            reply = await probe.ask(tried, message, tools=(_LOOK_UP,) if tools else (), params=params)
            ok = names_stripes(reply.text)
            rows.append(Row(label, ok, _SEEN if ok else _UNSEEN, "" if ok else reply.detail or reply.text[:100]))
            if ok and not (tools or thinking):
                seen.append(form)
            if not ok and not (tools or thinking):
                break
    return rows, replace(profile, vision=seen[0] if seen else "none")


def _picture_label(form: str, *, tools: bool, thinking: bool) -> Words:
    zh = ["图片", "随信" if form == "data" else "链接", *(["带工具"] * tools), *(["带思考"] * thinking)]
    en = ["picture", form, *(["with tools"] * tools), *(["with thinking"] * thinking)]
    return Words("，".join(zh), ", ".join(en))


_STRIPES = (("蓝", "blue", (20, 60, 220)), ("黄", "yellow", (250, 220, 20)), ("红", "red", (220, 20, 30)))
"""An order that nobody names by habit: a model that does not see will not hit it."""
_STRIPES_QUESTION = "图里有三条竖条。从左到右分别是什么颜色？只回三种颜色。"
_SIDE = 96
"""Pixels; some models refuse pictures that are smaller than a few of their tiles."""


def stripes() -> bytes:
    """A PNG of three upright stripes."""
    width = _SIDE // len(_STRIPES)
    row = b"\0" + b"".join(bytes(colour) * width for _, _, colour in _STRIPES)
    head = struct.pack(">IIBBBBB", width * len(_STRIPES), _SIDE, 8, 2, 0, 0, 0)
    blocks = ((b"IHDR", head), (b"IDAT", zlib.compress(row * _SIDE)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in blocks
    )


def names_stripes(text: str) -> bool:
    """Whether an answer names the colours of `stripes` in their order."""
    lowered = text.lower()
    places = [max(lowered.find(zh), lowered.find(en)) for zh, en, _ in _STRIPES]
    return places[0] >= 0 and places == sorted(places)


_STEPS: tuple[_Step, ...] = (_reach, _system, _tools, _tool_choice, _json, _thinking, _pictures)

_YES = Words("能", "yes")
_NO = Words("不能", "no")
_NOT_TRIED = Words("没试成", "could not be tried")
_SEEN = Words("看得见", "seen")
_UNSEEN = Words("看不见", "not seen")
_REACHED = Words("连得上", "reachable")
_STREAMS = Words("边想边说", "streaming")
_COUNTS = Words("报用量", "counts tokens")
_SYSTEM = Words("系统消息", "system messages")
_TOOLS = Words("工具", "tools")
_TOOL_CHOICE = Words("点名要工具", "forced tool choice")
_JSON = Words("JSON", "JSON")
_THINKING = Words("思考", "thinking")
