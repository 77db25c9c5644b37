"""Tools to the JSON schema that holds the model's answer, and the answer back to text or a call. All pure.

The engine turns the schema into a grammar, so that what comes is always one of: `{"reply": text}`, or
`{"tool": name, "arguments": {…}}` for one of the tools offered. Native tool templates are not used: this model
gets them wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qingtuan.models.chat import ToolSpec

Schema = Mapping[str, Any]

MAX_PARAMETERS = 6
"""More parameters than that of one tool are not shown; required ones always are."""
_DEPTH = 4
_KEPT = ("type", "enum", "const", "minimum", "maximum")
"""What the grammar can hold to. The rest (formats, patterns, defaults) is checked where the tool runs."""
_ANY = {"type": "string"}


def answer_schema(tools: Sequence[ToolSpec], *, reply: bool = True) -> dict[str, Any]:
    """The schema of an answer that may call one of `tools`, or talk unless `reply` is False."""
    calls = [_object({"tool": {"const": tool.name}, "arguments": arguments_schema(tool.parameters)}) for tool in tools]
    choices = [_object({"reply": {"type": "string"}}), *calls] if reply or not calls else calls
    return {"anyOf": choices} if len(choices) > 1 else choices[0]


def arguments_schema(parameters: Schema) -> dict[str, Any]:
    """A tool's parameters in the plain form that the grammar understands: strict, few, no references."""
    return _plain_object(parameters, parameters.get("$defs", {}), _DEPTH)


def _plain_object(schema: Schema, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name in properties]
    optional = [name for name in properties if name not in required]
    shown = [*required, *optional[: max(0, MAX_PARAMETERS - len(required))]]
    plain = {name: _plain(properties[name], definitions, depth) for name in properties if name in shown}
    return _object(plain, required)


def _object(properties: dict[str, Any], required: Sequence[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _plain(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth == 0:
        return dict(_ANY)
    if reference := schema.get("$ref"):
        return _plain(definitions.get(str(reference).removeprefix("#/$defs/")), definitions, depth - 1)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        # An optional value is written by leaving it out, so null is no choice.
        real = [choice for choice in choices if not isinstance(choice, Mapping) or choice.get("type") != "null"]
        plain = [_plain(choice, definitions, depth - 1) for choice in real]
        return plain[0] if len(plain) == 1 else {"anyOf": plain}
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(kept.get("type"), list):
        kept["type"] = next((name for name in kept["type"] if name != "null"), "string")
    if kept.get("type") == "object":
        return _plain_object(schema, definitions, depth - 1)
    if kept.get("type") == "array":
        return {"type": "array", "items": _plain(schema.get("items"), definitions, depth - 1), "maxItems": 8}
    return kept or dict(_ANY)


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer says: a reply, or a call of `tool` with `arguments`."""

    reply: str | None = None
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None


def read_answer(raw: str) -> Answered | None:
    """The meaning of a whole answer, or None if it is cut off or not of the schema."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    match value:
        case {"reply": str(reply)}:
            return Answered(reply=reply)
        case {"tool": str(tool), "arguments": dict(arguments)}:
            return Answered(tool=tool, arguments=arguments)
        case _:
            return None


def write_call(tool: str, arguments: str) -> str:
    """A call as the model would have written it, for the history. `arguments` is JSON text."""
    try:
        value = json.loads(arguments)
    except ValueError:
        value = {}
    return json.dumps({"tool": tool, "arguments": value}, ensure_ascii=False)


def write_reply(text: str) -> str:
    """A reply as the model would have written it, for the history."""
    return json.dumps({"reply": text}, ensure_ascii=False)


class ReplyReader:
    """Reads the reply out of an answer while it is being written."""

    def __init__(self) -> None:
        self._raw = ""
        self._at: int | None = None
        """Where the next character of the reply's string stands, once the string has begun."""
        self._over = False

    @property
    def raw(self) -> str:
        """All that came."""
        return self._raw

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer; gives the text of the reply that is now certain, perhaps none."""
        self._raw += piece
        if self._at is None:
            self._at = _start_of_reply(self._raw)
        if self._at is None or self._over:
            return ""
        end, self._over = _end_of_string(self._raw, self._at)
        text: str = json.loads(f'"{self._raw[self._at : end]}"', strict=False)
        self._at = end
        return text


def _start_of_reply(raw: str) -> int | None:
    """The index behind the quote that opens the reply, or None while it has not come or if this is a call."""
    compact = ""
    for index, character in enumerate(raw):
        if not character.isspace():
            compact += character
        if compact == '{"reply":"':
            return index + 1
        if not '{"reply":"'.startswith(compact):
            return None
    return None


def _end_of_string(raw: str, start: int) -> tuple[int, bool]:
    """How far the string from `start` is whole: up to its closing quote (True), or up to a cut-off escape."""
    index = start
    while index < len(raw):
        if raw[index] == '"':
            return index, True
        if raw[index] != "\\":
            index += 1
            continue
        width = 2
        if raw[index + 1 : index + 2] == "u":
            # The two halves of a character beyond the basic plane belong together.
            high = raw[index + 2 : index + 4].lower() in ("d8", "d9", "da", "db")
            width = 12 if high else 6
        if index + width > len(raw):
            return index, False
        index += width
    return index, False
