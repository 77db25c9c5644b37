"""What the strictest provider demands of a request, so that a test can hold every request to it."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fakes.raw_server import Asked, Script, error

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def judge(asked: Asked) -> Script | None:
    """A refusal with 400 for a request that some provider would refuse; None for one that all take."""
    wrong = complaint(asked.json)
    return error(400, wrong, "invalid_request_error") if wrong else None


def complaint(body: dict[str, Any]) -> str | None:
    """The first thing that is wrong with a request, or None."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model is missing"
    if not body.get("messages"):
        return "messages are missing"
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(body["messages"]):
        if wrong := _message(message, waiting, seen):
            return f"messages[{number}]: {wrong}"
    return f"messages: calls {waiting} have no result" if waiting else None


def _message(message: dict[str, Any], waiting: list[str], seen: set[str]) -> str | None:
    if message["role"] == "tool":
        if message.get("tool_call_id") not in waiting:
            return f"tool message {message.get('tool_call_id')!r} answers no tool call"
        waiting.remove(message["tool_call_id"])
        return None if isinstance(message["content"], str) else "content of a tool message must be a string"
    if waiting:
        return f"calls {waiting} have no result"
    if message["role"] not in ("system", "user", "assistant"):
        return f"unknown role {message['role']!r}"
    if not message.get("content") and not message.get("tool_calls"):
        return "content is empty"
    for call in message.get("tool_calls", ()):
        if not call["id"] or call["id"] in seen:
            return f"id {call['id']!r} is empty or was used before"
        if not _NAME.fullmatch(call["function"]["name"]):
            return f"function name {call['function']['name']!r} is not allowed"
        if not _is_object(call["function"]["arguments"]):
            return "function arguments are no JSON object"
        seen.add(call["id"])
        waiting.append(call["id"])
    return None


def _is_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
