"""`/context`: what the last request of a session was made of, layer by layer, and which memory stood in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.errors import NotThere
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.privacy import Prints
from qingtuan.language import Language, Words
from qingtuan.prompt.view import LAYERS
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.kit import Kit

_BEHIND_THE_TALK = frozenset({"4", "6b"})
"""Layers that stand behind the recent messages: they are others in each turn (turn.md, Context order)."""


def context_commands(kit: Kit) -> list[Command]:
    """The command over one instance."""
    return [
        Command(
            ("上下文", "context"),
            Words(
                "上一个请求里有哪些层、多长、哪些记忆", "the layers of the last request, their sizes, the memory in it"
            ),
            _Shows(kit).context,
            owner_only=True,
            prints=Prints.INTERNALS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Shows:
    kit: Kit

    async def context(self, invocation: Invocation) -> CommandReply:
        requests = self.kit.record.log.of_session(invocation.session.id, kinds=[Kind.MODEL_REQUESTED])
        layered = [event for event in requests if event.payload.get("layers")]
        if not layered:
            raise NotThere(_NO_REQUEST)
        request, language = layered[-1], invocation.language
        began = (e for e in self.kit.record.log.of_turn(request.place.turn or "") if e.kind is Kind.TURN_STARTED)
        started = next(began, None)
        memory = started.payload.get("memory", {}) if started else {}
        lines = [
            self._head(request, invocation),
            *_layers(request, memory, language),
            *_missing(request, memory, language),
        ]
        return CommandReply("\n".join(lines))

    def _head(self, request: Event, invocation: Invocation) -> str:
        try:
            wire = self.kit.record.requests.load(request)
        except KeyError:
            return _PARTLY.say(invocation.language)
        zone = self.kit.zone_of(invocation.reader)
        return _HEAD.say(invocation.language).format(
            time=f"{request.time.astimezone(zone):%Y-%m-%d %H:%M:%S}",
            model=request.payload.get("model", ""),
            bytes=len(wire.body()),
            tools=len(json.loads(wire.tools)) if wire.tools else 0,
        )


def _layers(request: Event, memory: Mapping[str, Any], language: Language) -> Iterator[str]:
    """A line for each layer, in the order in which they stand."""
    layers: list[Mapping[str, Any]] = request.payload["layers"]
    talk = request.payload.get("talk", {})
    yield from (_line(layer, memory, language) for layer in layers if layer["number"] not in _BEHIND_THE_TALK)
    if "before" in talk:
        yield _messages("8", talk["before"], language)
    yield from (_line(layer, memory, language) for layer in layers if layer["number"] in _BEHIND_THE_TALK)
    if "current" in talk:
        yield _messages("9", talk["current"], language)


def _line(layer: Mapping[str, Any], memory: Mapping[str, Any], language: Language) -> str:
    number = layer["number"]
    entries = memory.get(_ENTRIES_OF.get(number, ""), "")
    said = _LAYER.say(language).format(number=number, name=LAYERS[number].say(language), chars=layer["chars"])
    return f"{said}{_COLON.say(language)}{_named(entries, language)}" if entries else said


def _messages(number: str, extent: list[int], language: Language) -> str:
    count, chars = extent
    name = LAYERS[number].say(language)
    return _TALK.say(language).format(number=number, name=name, count=count, chars=chars)


def _named(entries: str, language: Language) -> str:
    """The numbers of entries; what was written by hand and has none yet is counted."""
    numbers = entries.split()
    named = [number for number in numbers if number != "#"]
    nameless = len(numbers) - len(named)
    return " ".join([*named, *([_NAMELESS.say(language).format(count=nameless)] if nameless else [])])


def _missing(request: Event, memory: Mapping[str, Any], language: Language) -> Iterator[str]:
    """What did not fit."""
    if memory.get("unread"):
        yield _UNREAD.say(language)
    if count := memory.get("left_out", 0):
        yield _LEFT_OUT.say(language).format(count=count)
    if pins := memory.get("pins_left_out"):
        yield _PINS.say(language).format(names=" ".join(f"#{name}" for name in pins))
    if count := request.payload.get("talk", {}).get("left_out", 0):
        yield _TOO_OLD.say(language).format(count=count)


_ENTRIES_OF = {"6a": "in_front", "6b": "behind"}
_NO_REQUEST = Words("这个对话还没问过模型。", "No model was asked in this session yet.")
_HEAD = Words(
    "上一个请求（{time}，{model}，{bytes} 字节，{tools} 个工具），按先后：",
    "The last request ({time}, {model}, {bytes} bytes, {tools} tools), from its beginning:",
)
_PARTLY = Words(
    "上一个请求里有后来抹掉的内容，原文不全了。它的各层：",
    "The last request held something that was erased since, so it is not whole any more. Its layers:",
)
_LAYER = Words("{number} {name} {chars} 字", "{number} {name}, {chars} characters")
_TALK = Words("{number} {name} {count} 条，{chars} 字", "{number} {name}: {count}, {chars} characters")
_COLON = Words("：", ": ")
_NAMELESS = Words("没编号的 {count} 条", "{count} without a number")
_UNREAD = Words("记忆没读出来，这一轮没带。", "The memory could not be read; this turn went without.")
_LEFT_OUT = Words("没放下的记忆 {count} 条。", "Entries left out for lack of room: {count}.")
_PINS = Words("其中置顶的：{names}", "Of these, pinned: {names}")
_TOO_OLD = Words(
    "更早的 {count} 条消息超过模型的上下文，没放下。", "Earlier messages left out, beyond the model's context: {count}."
)
