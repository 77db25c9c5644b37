"""A conversation with a model without the rest of the product: histories are built from the answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Self

from qingtuan.models.chat import (
    Answer,
    ChatMessage,
    ChatModel,
    Params,
    Request,
    TakenBack,
    TextDelta,
    ToolSpec,
    WireRequest,
)

WEATHER = ToolSpec(
    "weather",
    "天气预报",
    {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)


@dataclass
class Record:
    """A `Recorder` that remembers."""

    wires: list[WireRequest] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    failures: list[tuple[str, str, bool]] = field(default_factory=list)
    """Model, reason, whether it is tried again."""

    def requested(self, wire: WireRequest, model: str) -> None:
        self.wires.append(wire)
        self.models.append(model)

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        self.failures.append((model, reason, again))


@dataclass
class ModelSession:
    """Says something and keeps what came back, each call with a result behind it, as the turn loop does."""

    model: ChatModel
    params: Params = Params("test-model")  # noqa: RUF009 (frozen)
    tools: tuple[ToolSpec, ...] = (WEATHER,)
    messages: list[ChatMessage] = field(default_factory=lambda: [ChatMessage("system", "你是小青团。")])
    record: Record = field(default_factory=Record)
    seen: str = ""
    """The text of the last answer as a channel would have shown it while it streamed."""
    taken_back: int = 0

    def with_params(self, **changes: object) -> Self:
        return replace(self, params=replace(self.params, **changes))  # type: ignore[arg-type]

    async def say(self, *messages: ChatMessage | str) -> Answer:
        self.messages += [ChatMessage("user", m) if isinstance(m, str) else m for m in messages]
        self.seen = ""
        answers = []
        request = Request(tuple(self.messages), self.tools, self.params)
        async for event in self.model.stream(request, self.record):
            match event:
                case TextDelta(text):
                    self.seen += text
                case TakenBack():
                    self.seen = ""
                    self.taken_back += 1
                case Answer():
                    answers.append(event)
        (answer,) = answers
        assert answer.text == self.seen
        self.messages.append(ChatMessage("assistant", answer.text, calls=answer.calls, reasoning=answer.reasoning))
        for call in answer.calls:
            refusal = f"拒绝：{answer.incomplete}"
            self.messages.append(ChatMessage("tool", refusal if answer.incomplete else "晴", call_id=call.id))
        return answer


class CallIds:
    """Ids of calls, one after the other."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self) -> str:
        return f"call_{next(self._numbers)}"
