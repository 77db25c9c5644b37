"""Values of a chat with a model, independent of any provider's wire format."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

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
    swapped: bool = False
    """Whether it is sent in the other form than the profile says, since that was refused."""


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

    def __hash__(self) -> int:
        # Without the schema, which has no hash: two specs of one name and description are told apart by being compared.
        return hash((self.name, self.description))


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


@dataclass(frozen=True, slots=True)
class WireRequest:
    """The bytes of a request in the pieces that the log keeps: each message, the tools, the rest.

    `body()` is exactly what is sent; splitting and joining lose nothing.
    """

    messages: tuple[bytes, ...]
    """One JSON object each."""
    tools: bytes | None
    """A JSON array, or None when the request carries no tools."""
    params: bytes
    """A JSON object with every other field."""

    def body(self) -> bytes:
        """The request body: one JSON object; `tools` and `messages` first, so that prefixes stay equal."""
        tools = b'"tools":' + self.tools + b"," if self.tools is not None else b""
        rest = self.params.strip()[1:-1].strip()
        return b"{" + tools + b'"messages":[' + b",".join(self.messages) + b"]" + (b"," + rest if rest else b"") + b"}"

    def without_pictures(self) -> WireRequest:
        """The same with each picture that stands in it as bytes named by their hash: for the record."""
        return WireRequest(tuple(map(_named_pictures, self.messages)), self.tools, self.params)


def _named_pictures(message: bytes) -> bytes:
    if b";base64," not in message:
        return message
    return _DATA_URL.sub(lambda found: found[1] + b"sha256," + _hash_of(found[2]), message)


def _hash_of(encoded: bytes) -> bytes:
    return hashlib.sha256(base64.b64decode(encoded)).hexdigest().encode()


_DATA_URL = re.compile(rb'("data:image/[a-z0-9.+-]+;)base64,([A-Za-z0-9+/=]{64,})(?=")')


class Recorder(Protocol):
    """Where a model writes down what it is about to do and what went wrong."""

    def requested(self, wire: WireRequest, model: str) -> None:
        """A request is about to be sent to `model`."""
        ...

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        """It came to nothing; `again` says whether it is tried once more (here or with the fall-back)."""
        ...


class ChatModel(Protocol):
    """Something that answers requests: an endpoint, or the embedded model."""

    def encode(self, request: Request) -> WireRequest:
        """The request as it would go over the wire. Pure: same request, same bytes."""
        ...

    def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        """Send the request and yield its answer as it comes; exactly one `Answer`, at the end.

        Raises:
            ModelUnreachable: nothing usable came after all retries.
            ModelRefused: the provider refuses for a reason that does not go away by itself.
        """
        ...


@runtime_checkable
class Closes(Protocol):
    """A model that holds something: connections, a process."""

    async def close(self) -> None:
        """Let go of it. It comes back when needed."""
        ...
