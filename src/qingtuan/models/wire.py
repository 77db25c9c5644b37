"""Requests as bytes, and streamed chunks as an answer: the wire format of OpenAI-compatible chat. Pure.

Bytes are canonical: the same request gives the same bytes, in any process. What has not changed since the last
request is byte for byte its prefix, as providers' caches need it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from qingtuan.models.chat import (
    Answer,
    Call,
    ChatMessage,
    Finish,
    Params,
    Request,
    TakenBack,
    TextDelta,
    ToolSpec,
    Usage,
    WireRequest,
)
from qingtuan.models.failures import Interrupted, of_error_object, refused
from qingtuan.models.folding import Calls, joined_halves
from qingtuan.models.profiles import Profile
from qingtuan.models.shape import sendable_call, shaped
from qingtuan.models.thoughts import Thoughts
from qingtuan.models.usage import estimate_tokens

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=dict).encode


def _bytes(value: object) -> bytes:
    # A lone half of a surrogate pair can come out of a model's JSON or a chat app; it has no UTF-8.
    return _compact(value).encode("utf-8", "replace")


def encode(request: Request, profile: Profile) -> WireRequest:
    """The request as it goes to a provider of this profile."""
    messages = shaped(request.messages, request.params, profile)
    return WireRequest(
        messages=tuple(_message(message, profile) for message in messages),
        tools=_tools(request.tools) if request.tools and profile.tools else None,
        params=_bytes(_params(request.params, profile)),
    )


def _message(message: ChatMessage, profile: Profile) -> bytes:
    if message.images:
        return _bytes({"role": message.role, "content": _parts(message, profile)})
    with_reasoning = message.role == "assistant" and (
        profile.returns_reasoning == "always" or (profile.returns_reasoning == "with_calls" and bool(message.calls))
    )
    return _plain_message(message, with_reasoning, profile.returns_reasoning == "always")


# A long history is encoded again in every turn, and checking its calls is the dearest part of it. Pictures never
# come here; a message is bounded by the limits on texts and results, so the cache is bounded too.
@lru_cache(maxsize=1024)
def _plain_message(message: ChatMessage, with_reasoning: bool, even_empty: bool) -> bytes:
    fields: dict[str, object] = {"role": message.role, "content": message.text}
    if with_reasoning and (message.reasoning or even_empty):
        fields["reasoning_content"] = message.reasoning or ""
    if message.calls:
        fields["tool_calls"] = [_call(sendable_call(call)) for call in message.calls]
    if message.call_id is not None:
        fields["tool_call_id"] = message.call_id
    return _bytes(fields)


def _call(call: Call) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _parts(message: ChatMessage, profile: Profile) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = [{"type": "text", "text": message.text}] if message.text else []
    for image in message.images:
        url = image.url if (profile.vision == "url") != image.swapped else None
        if url is None:
            url = f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _tools(tools: tuple[ToolSpec, ...]) -> bytes:
    return b"[" + b",".join(map(_tool, tools)) + b"]"


# The tools of a request are those of the one before, nearly always.
@lru_cache(maxsize=1024)
def _tool(tool: ToolSpec) -> bytes:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return _bytes({"type": "function", "function": described})


def _params(params: Params, profile: Profile) -> dict[str, object]:
    fields: dict[str, object] = {"model": params.model, "stream": True}
    if profile.stream_usage:
        fields["stream_options"] = {"include_usage": True}
    if profile.temperature:
        fields["temperature"] = params.temperature
    if params.max_tokens is not None:
        fields[profile.max_tokens_name] = params.max_tokens
    if params.schema is not None and profile.json != "none":
        fields["response_format"] = _response_format(params.schema, profile)
    thinking = params.thinking
    if thinking is None and params.schema is not None:
        # Several providers refuse a response format while thinking is on, and what has a schema needs none.
        thinking = False
    if thinking is not None:
        fields.update(_thinking(thinking, profile))
    return fields


def _thinking(on: bool, profile: Profile) -> dict[str, object]:
    match profile.thinking:
        case "enable_thinking":
            return {"enable_thinking": on}
        case "thinking":
            return {"thinking": {"type": "enabled" if on else "disabled"}}
        case "reasoning_effort":
            return {"reasoning_effort": "medium" if on else profile.no_thinking}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": on}}
        case "none":
            return {}


def _response_format(schema: Mapping[str, Any], profile: Profile) -> dict[str, object]:
    if profile.json == "object":
        return {"type": "json_object"}
    named = {"name": "answer", "schema": schema, "strict": _can_be_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _can_be_strict(schema: object) -> bool:
    """Whether a schema meets the terms of strict mode: every object closed, every property required."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            required = set(schema.get("required", ()))
            if schema.get("additionalProperties") is not False or required != set(schema.get("properties", ())):
                return False
        return all(map(_can_be_strict, schema.values()))
    return all(map(_can_be_strict, schema)) if isinstance(schema, (list, tuple)) else True


_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
}
_BROKEN = frozenset({"error", "network_error", "insufficient_system_resource", "abort", "aborted"})
"""Finishes that say the provider gave up in the middle."""

CUT_OFF = "the answer ended at its token limit inside the arguments"
UNFINISHED = "the stream ended inside the arguments"


class Assembler:
    """Folds the chunks of one answer: deltas as they come, the whole `Answer` at the end."""

    def __init__(self, model: str, call_id: Callable[[], str], prompt_bytes: int = 0) -> None:
        """`call_id` gives ids that are unique in the session: providers' own may be missing, doubled or reused.
        `prompt_bytes` serves the estimate where the provider counts nothing."""
        self._model = model
        self._call_id = call_id
        self._prompt_bytes = prompt_bytes
        self._thoughts = Thoughts()
        self._reasoning: list[str] = []
        self._calls = Calls()
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._half = ""
        """The first half of a surrogate pair that was cut between two chunks."""

    @property
    def finished(self) -> bool:
        """Whether the provider said that the answer is whole; what follows is usage at most."""
        return self._finish is not None

    def feed(self, chunk: object) -> list[TextDelta | TakenBack]:
        """What one chunk adds to the visible text.

        Raises:
            Interrupted: the chunk says that the provider broke off.
            ModelRefused: the chunk is a refusal.
        """
        if not isinstance(chunk, Mapping):
            return []
        if chunk.get("error"):
            raise of_error_object(chunk["error"])
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = _usage(usage) or self._usage
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            if chunk.get("object") == "error" or ("message" in chunk and "code" in chunk):
                raise of_error_object(chunk)
            return []
        out: list[TextDelta | TakenBack] = []
        for choice in choices:
            if isinstance(choice, Mapping) and not choice.get("index"):
                out += self._choice(choice)
        return out

    def _choice(self, choice: Mapping[str, Any]) -> list[TextDelta | TakenBack]:
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            delta = choice.get("message")  # the answer of a provider that does not stream
        out: list[TextDelta | TakenBack] = []
        if isinstance(delta, Mapping):
            for name in ("reasoning_content", "reasoning"):
                if isinstance(thought := delta.get(name), str) and thought:
                    self._reasoning.append(thought)
                    break
            if content := delta.get("content"):
                out = self._content(content)
            if isinstance(calls := delta.get("tool_calls"), list):
                for call in calls:
                    if isinstance(call, Mapping):
                        self._calls.add(call)
        if isinstance(usage := choice.get("usage"), Mapping):
            self._usage = _usage(usage) or self._usage
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            if reason in _BROKEN:
                raise Interrupted(f"the provider broke off: {reason}")
            self._finish = _FINISHES.get(reason, "stop")
        return out

    def _content(self, content: object) -> list[TextDelta | TakenBack]:
        if isinstance(content, list):
            parts = (part for part in content if isinstance(part, Mapping))
            content = "".join(text for part in parts if isinstance(text := part.get("text"), str))
        if not isinstance(content, str):
            return []
        text, self._half = joined_halves(self._half + content)
        return self._thoughts.feed(text)

    def end(self) -> list[TextDelta | TakenBack | Answer]:
        """What was held back, and then the answer.

        Raises:
            ModelRefused: a content filter stopped the answer.
        """
        calls = self._calls.finished(self._call_id)
        out: list[TextDelta | TakenBack | Answer] = [*self._thoughts.end()]
        if self._finish == "content_filter":
            raise refused("content", "finish_reason content_filter")
        reasoning = joined_halves("".join((*self._reasoning, *self._thoughts.thoughts)))[0]
        answer = Answer(
            text=self._thoughts.text,
            calls=calls,
            finish="tool_calls" if calls and self._finish in ("stop", None) else self._finish or "stop",
            usage=self._usage or self._estimate(reasoning, calls),
            model=self._model,
            reasoning=reasoning or None,
            incomplete=self._incomplete(calls),
        )
        out.append(answer)
        return out

    def _incomplete(self, calls: tuple[Call, ...]) -> str | None:
        if not calls:
            return None
        if self._finish == "length":
            return CUT_OFF
        if self._finish is None and any(sendable_call(call).arguments != call.arguments for call in calls):
            return UNFINISHED
        return None

    def _estimate(self, reasoning: str, calls: tuple[Call, ...]) -> Usage:
        written = "".join((self._thoughts.text, reasoning, *(call.name + call.arguments for call in calls)))
        return Usage(-(-self._prompt_bytes // 4), estimate_tokens(written), estimated=True)


def _usage(fields: Mapping[str, Any]) -> Usage | None:
    prompt, completion = _count(fields.get("prompt_tokens")), _count(fields.get("completion_tokens"))
    if not prompt and not completion:
        return None
    details = fields.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    # DeepSeek's and Moonshot's names for the same.
    cached = cached or _count(fields.get("prompt_cache_hit_tokens")) or _count(fields.get("cached_tokens"))
    return Usage(prompt, completion, cached)


def _count(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 < value < math.inf else 0
