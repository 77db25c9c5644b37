"""The embedded default as a `ChatModel`."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import tzinfo
from typing import Any, Protocol

from qingtuan.clock import Clock
from qingtuan.errors import ModelUnreachable
from qingtuan.language import Words
from qingtuan.models.chat import (
    Answer,
    Call,
    ChatEvent,
    Finish,
    Recorder,
    Request,
    TakenBack,
    TextDelta,
    ToolSpec,
    Usage,
    WireRequest,
)
from qingtuan.models.embedded import guards
from qingtuan.models.embedded.days import with_said_days, with_said_rule
from qingtuan.models.embedded.judge import fault_of, may_stream
from qingtuan.models.embedded.kinds import about_the_speaker, addressed, kind_of
from qingtuan.models.embedded.process import Done, EngineDied, EngineRefused
from qingtuan.models.embedded.prompt import Shaped, corrected, shape
from qingtuan.models.embedded.schema import Answered, ReplyReader, read_answer

_BROKE_DOWN = Words("本机的小模型出错了，请再说一次。", "The local model broke down. Please say it again.")
_CANNOT_LOAD = Words(
    "本机的小模型用不了：{why}。可以设置 OPENAI_API_KEY 用别的模型，或运行 qingtuan model check 看原因。",
    "The local model cannot be used: {why}. Set OPENAI_API_KEY for another one, or see qingtuan model check.",
)
_SENTENCE_END = re.compile(r"[。！？!?\n；;]|\.(?=\s)")


class Engine(Protocol):
    """What answers: the child process, or a stand-in."""

    def chat(self, body: bytes) -> AsyncGenerator[str | Done, None]:
        """Pieces of the raw answer to an OpenAI-style request body, and `Done` at the end."""
        ...

    async def stop(self) -> None:
        """Give the memory back."""
        ...


class EmbeddedModel:
    """Answers requests with the small local model. One at a time; others wait."""

    def __init__(self, engine: Engine, name: str, clock: Clock, zone: tzinfo) -> None:
        self._engine = engine
        self._name = name
        self._clock = clock
        self._zone = zone

    @property
    def name(self) -> str:
        """The model's name, as its answers give it."""
        return self._name

    def encode(self, request: Request) -> WireRequest:
        """The request as the engine gets it. Pure."""
        return self._wire(shape(request))

    async def stream(self, request: Request, recorder: Recorder) -> AsyncGenerator[ChatEvent, None]:
        """Answer the request; see `ChatModel.stream`.

        An answer with a fault (`judge`) is asked for once more, and then replaced by an honest sentence. Sentences
        are shown when they are whole, so that one that claims too much is not shown at all.
        """
        shaped, spent = shape(request), Usage(0, 0)
        for last in (False, True):
            hearing = _Hearing(shaped)
            async with aclosing(self._ask(hearing, recorder)) as events:
                async for event in events:
                    yield event
            spent = _sum(spent, hearing.done)
            fault = fault_of(shaped, hearing.raw, hearing.reply)
            if fault is None:
                break
            again = not last and fault.retry is not None
            recorder.failed(self._name, fault.reason, again=again)
            if hearing.shown and (again or fault.instead):
                hearing.shown = ""
                yield TakenBack()
            if not again or fault.retry is None:
                break
            shaped = corrected(shaped, hearing.raw, fault.correction.say(shaped.language), fault.retry)
        answer = self._answer(hearing, spent, fault.instead if fault else None)
        if rest := answer.text[len(hearing.shown) :]:
            yield TextDelta(rest)
        yield answer

    async def warm(self, request: Request) -> None:
        """Load the weights and read the stable part of `request`, so that the first message is answered sooner.

        Raises:
            ModelUnreachable: the engine is missing or cannot load the weights.
        """
        body = {**json.loads(self.encode(request).body()), "max_tokens": 1}
        try:
            async with aclosing(self._engine.chat(_json(body))) as pieces:
                async for _ in pieces:
                    pass
        except (EngineRefused, EngineDied) as error:
            raise _unreachable(error) from error

    async def close(self) -> None:
        """Stop the engine."""
        await self._engine.stop()

    def _wire(self, shaped: Shaped) -> WireRequest:
        params = {
            "model": self._name,
            # Measured: at any higher temperature the small model calls tools less reliably.
            "temperature": 0,
            "max_tokens": shaped.max_tokens,
            "stream": True,
            "cache_prompt": True,
            "stable": shaped.stable,
            "response_format": {"type": "json_schema", "json_schema": {"schema": shaped.schema}},
        }
        return WireRequest(tuple(_json(message) for message in shaped.messages), None, _json(params))

    async def _ask(self, hearing: _Hearing, recorder: Recorder) -> AsyncGenerator[ChatEvent, None]:
        """One answer of the engine, taken in by `hearing`; begun anew once if the engine breaks down on the way."""
        wire = self._wire(hearing.shaped)
        for last in (False, True):
            recorder.requested(wire, self._name)
            try:
                async with aclosing(self._engine.chat(wire.body())) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Done):
                            hearing.done = piece
                        elif text := hearing.take(piece):
                            yield TextDelta(text)
                return
            except EngineDied as error:
                recorder.failed(self._name, str(error), again=not last)
                if last:
                    raise _unreachable(error) from error
                if hearing.shown:
                    yield TakenBack()
                hearing.begin()
            except EngineRefused as error:
                recorder.failed(self._name, str(error), again=False)
                raise _unreachable(error) from error

    def _answer(self, hearing: _Hearing, usage: Usage, instead: Words | None) -> Answer:
        shaped = hearing.shaped
        if instead is not None:
            return Answer(instead.say(shaped.language), (), "stop", usage, self._name)
        finish: Finish = "length" if hearing.done.finish == "length" else "stop"
        if not shaped.talk:
            return Answer(hearing.raw, (), finish, usage, self._name)
        answered = read_answer(hearing.raw)
        if answered is None or answered.tool is None:
            incomplete = "the call was cut off" if answered is None and not hearing.reply else None
            return Answer(hearing.reply, (), finish, usage, self._name, incomplete=incomplete)
        call = Call(f"call_{secrets.token_hex(6)}", answered.tool, self._arguments(shaped, answered))
        return Answer("", (call,), "tool_calls", usage, self._name)

    def _arguments(self, shaped: Shaped, answered: Answered) -> str:
        """The arguments as JSON, with days as the person said them and no denial lost on the way."""
        tool = next((tool for tool in shaped.tools if tool.name == answered.tool), None)
        required = tool.parameters.get("required", ()) if tool else ()
        # A small model fills in what it has nothing for.
        given = {name: value for name, value in (answered.arguments or {}).items() if value != "" or name in required}
        now, zone = self._clock.now(), self._zone
        arguments = with_said_days(given, shaped.words, now, zone)
        if tool is not None and "rrule" in tool.parameters.get("properties", {}):
            arguments = with_said_rule(arguments, shaped.words, now, zone)
        if answered.tool == "remember":
            arguments |= _note(arguments, shaped.words, tool)
        return json.dumps(arguments, ensure_ascii=False)


class _Hearing:
    """An answer as it comes in. Lets the reply out by whole sentences, and holds back what may not stand."""

    def __init__(self, shaped: Shaped) -> None:
        self.shaped = shaped
        self.begin()

    def begin(self) -> None:
        """Forget what came so far."""
        self._held_back = not may_stream(self.shaped)
        self._reader = ReplyReader()
        self.reply = ""
        self.shown = ""
        self.done = Done("stop", 0, 0, 0)

    @property
    def raw(self) -> str:
        """All that came."""
        return self._reader.raw

    def take(self, piece: str) -> str:
        """Take the next piece; gives the text that may be shown now, perhaps none."""
        self.reply = addressed(self.reply + self._reader.feed(piece), self.shaped.words)
        ends = [match.end() for match in _SENTENCE_END.finditer(self.reply)]
        if self._held_back or not ends:
            return ""
        whole = self.reply[len(self.shown) : ends[-1]]
        if guards.empty_claims(whole, self.shaped.done):
            self._held_back = True
            return ""
        self.shown += whole
        return whole


def _note(arguments: Mapping[str, Any], words: str, tool: ToolSpec | None) -> dict[str, str]:
    """What is written down, in the person's own words where the model's are not safe, and of which kind it is."""
    content = about_the_speaker(str(arguments.get("content", "")), words)
    if guards.says_otherwise(content, words):
        content = about_the_speaker(words, words)
    kind = kind_of(words) if tool is not None and "kind" in tool.parameters.get("properties", {}) else None
    return {"content": content, "kind": kind} if kind else {"content": content}


def _sum(usage: Usage, done: Done) -> Usage:
    return Usage(usage.prompt + done.prompt, usage.completion + done.completion, usage.cached + done.cached)


def _unreachable(error: EngineDied | EngineRefused) -> ModelUnreachable:
    if isinstance(error, EngineDied):
        return ModelUnreachable(_BROKE_DOWN, detail=str(error))
    why = str(error)[:200]
    return ModelUnreachable(_CANNOT_LOAD.filled(why=why), detail=str(error))


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
