"""Text from the query of an address as the values that a schema asks for. Pure; calls by a model stay strict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,3})?")
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def coerced(schema: Mapping[str, Any], query: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """The arguments that a query means, by the types of the schema's properties.

    A value of which no such type can be made, and a name that the schema does not know, stay as they are: the check by
    the schema that follows names them. Defaults of properties that are missing are filled in.
    """
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    arguments: dict[str, Any] = {}
    for name, given in query.items():
        expected = properties.get(name)
        arguments[name] = _value(given, expected if isinstance(expected, Mapping) else {})
    for name, expected in properties.items():
        if isinstance(expected, Mapping) and "default" in expected:
            arguments.setdefault(name, expected["default"])
    return arguments


def _value(given: str | Sequence[str], schema: Mapping[str, Any]) -> Any:
    types = _types(schema)
    if not isinstance(given, str):
        texts = list(given)
        if "array" in types:
            return _listed(texts, schema)
        # A name that is given twice means its last value, as in most programs; of a list, all.
        given = texts[-1] if texts else ""
    if "array" in types:
        return _parsed(given, list) if given.lstrip().startswith("[") else _listed([given], schema)
    for name in types:
        made = _made(given, name)
        if made is not _NOT:
            return made
    return given


def _listed(texts: Sequence[str], schema: Mapping[str, Any]) -> list[Any]:
    items = _items(schema, _DEEPEST)
    return [_value(text, items if isinstance(items, Mapping) else {}) for text in texts]


def _items(schema: Mapping[str, Any], left: int) -> Any:
    """What a list holds, also one that is an alternative."""
    if "items" in schema or not left:
        return schema.get("items")
    inner = [one for word in ("anyOf", "oneOf") if isinstance(schema.get(word), list) for one in schema[word]]
    found = (_items(one, left - 1) for one in inner if isinstance(one, Mapping))
    return next((items for items in found if items is not None), None)


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have; a text, which everything is, last."""
    return sorted(dict.fromkeys(_named(schema, _DEEPEST)), key=lambda name: name == "string")


def _named(schema: Mapping[str, Any], left: int) -> Iterator[str]:
    """The types that a schema names itself, or else by its values, or else in its alternatives, `left` levels down."""
    declared = schema.get("type")
    if isinstance(declared, (str, list)) and declared:
        yield from (name for name in ([declared] if isinstance(declared, str) else declared) if isinstance(name, str))
        return
    options = schema["enum"] if isinstance(schema.get("enum"), list) else []
    options = [*options, schema["const"]] if "const" in schema else options
    yield from (_NAMES[type(option)] for option in options if type(option) in _NAMES)
    for word in ("anyOf", "oneOf") if not options and left else ():
        for inner in schema[word] if isinstance(schema.get(word), list) else ():
            if isinstance(inner, Mapping):
                yield from _named(inner, left - 1)


_DEEPEST = 3
"""Alternatives within alternatives that are looked at."""


class _Not:
    """For a text that cannot be what it should."""


_NOT = _Not()
_NAMES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}


def _made(text: str, name: str) -> Any:
    bare = text.strip()
    match name:
        case "integer" if _INTEGER.fullmatch(bare):
            return int(bare)
        case "number" if _INTEGER.fullmatch(bare):
            return int(bare)
        case "number" if _NUMBER.fullmatch(bare):
            return float(bare)
        case "boolean" if bare.lower() in _TRUTHS:
            return _TRUTHS[bare.lower()]
        case "null" if bare in ("", "null"):
            return None
        case "object" if bare.startswith("{"):
            parsed = _parsed(bare, dict)
            return parsed if isinstance(parsed, dict) else _NOT
        case "string":
            return text
    return _NOT


def _parsed(text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text
