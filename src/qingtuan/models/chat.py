"""Values of a chat with a model, independent of any provider's wire format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ChatRole = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model wrote it. `arguments` is the raw JSON text, not yet checked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture in a user message: bytes of `media_type`, and a signed link if one can be given."""

    media_type: str
    data: bytes
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a request."""

    role: ChatRole
    text: str
    calls: tuple[Call, ...] = ()
    """Only for `assistant`."""
    call_id: str | None = None
    """Only for `tool`: which call this answers."""
    reasoning: str | None = None
    """Only for `assistant`: thinking that some providers must get back beside tool calls."""
    images: tuple[ImagePart, ...] = ()
    """Only for `user`."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is shown it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""


@dataclass(frozen=True, slots=True)
class Params:
    """Everything of a request that is neither message nor tool."""

    model: str
    temperature: float = 0.3
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer's text must fit (`response_format`), where the profile can."""
    thinking: bool | None = None
    """None leaves it to the provider; False turns it off where the profile knows how."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: a pure function of events, wiki and settings (product.md, axiom 4)."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]
    params: Params


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer; `estimated` when the provider gave none."""

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Thinking is apart from text and never shown."""

    text: str
    calls: tuple[Call, ...]
    finish: Finish
    usage: Usage
    model: str
    reasoning: str | None = None
    incomplete: str | None = None
    """Why the calls must not run (arguments cut off by the token limit), or None."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of visible text, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The text streamed so far counts for nothing: the stream broke and begins anew."""


ChatEvent = TextDelta | TakenBack | Answer
"""What a model yields: deltas, perhaps taken back, and in the end exactly one Answer."""
