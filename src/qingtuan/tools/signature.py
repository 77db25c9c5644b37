"""A tool's parameters, read from the typed signature of its function.

    async def reminder_create(
        context: ToolContext,
        text: Annotated[str, "what to be reminded of"],
        at: Annotated[datetime | None, "when, ISO 8601"] = None,
        limit: Annotated[int, {"minimum": 1, "maximum": 10}] = 5,
    ) -> ToolResult: ...

A string in `Annotated` is the description, a mapping adds JSON Schema keywords. Known types: `str`, `int`,
`float`, `bool`, `date`, `datetime`, `time`, `Literal`, `list`, `dict`, `Any`, and `T | None`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]
"""A JSON Schema, as JSON."""

Convert = Callable[[Any], Any]
"""From a checked JSON value to the value that the function's annotation promises."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a tool function: their JSON Schema and how each value becomes Python."""

    parameters: Schema
    converters: Mapping[str, Convert]

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Checked JSON arguments as keyword arguments of the function."""
        return {name: self.converters[name](value) for name, value in arguments.items()}


def signature_of(function: Callable[..., Any], *, leading: int) -> Signature:
    """The signature behind the first `leading` parameters (the context, and `self` before it).

    Raises:
        TypeError: a parameter has no annotation, or one that JSON cannot carry.
    """
    hints = get_type_hints(function, include_extras=True)
    properties: Schema = {}
    converters: dict[str, Convert] = {}
    required: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[leading:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__qualname__}: {parameter.name} must be passed by name")
        if parameter.name not in hints:
            raise TypeError(f"{function.__qualname__}: {parameter.name} has no type")
        schema, converters[parameter.name] = _schema(hints[parameter.name])
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, (str, int, float)) and parameter.default != "":
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    parameters: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        parameters["required"] = required
    return Signature(parameters, converters)


def _same(value: Any) -> Any:
    return value


_PLAIN: Mapping[Any, tuple[Schema, Convert]] = {
    Any: ({}, _same),
    str: ({"type": "string"}, _same),
    bool: ({"type": "boolean"}, _same),
    # JSON has one kind of number: 3.0 is an integer and 3 a float.
    int: ({"type": "integer"}, int),
    float: ({"type": "number"}, float),
    date: ({"type": "string", "format": "date"}, date.fromisoformat),
    datetime: ({"type": "string", "format": "date-time"}, datetime.fromisoformat),
    time: ({"type": "string", "format": "time"}, time.fromisoformat),
    list: ({"type": "array"}, _same),
    dict: ({"type": "object"}, _same),
}


def _schema(hint: Any) -> tuple[Schema, Convert]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments)
    if hint in _PLAIN:
        schema, convert = _PLAIN[hint]
        return dict(schema), convert
    if origin in (Union, types.UnionType):
        return _optional(hint, arguments)
    if origin is Literal and all(isinstance(value, str) for value in arguments):
        return {"type": "string", "enum": list(arguments)}, _same
    if origin is list:
        items, convert = _schema(arguments[0])
        return {"type": "array", "items": items}, lambda value: [convert(item) for item in value]
    if origin is dict and arguments[0] is str:
        values, convert = _schema(arguments[1])
        of_values: Schema = {"additionalProperties": values} if values else {}
        return {"type": "object", **of_values}, lambda value: {key: convert(item) for key, item in value.items()}
    raise TypeError(f"a tool cannot take {hint!r}")


def _annotated(arguments: tuple[Any, ...]) -> tuple[Schema, Convert]:
    schema, convert = _schema(arguments[0])
    for note in arguments[1:]:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, Mapping):
            schema.update(note)
    return schema, convert


def _optional(hint: Any, arguments: tuple[Any, ...]) -> tuple[Schema, Convert]:
    inner = [argument for argument in arguments if argument is not type(None)]
    if len(inner) != 1 or len(arguments) != 2:
        raise TypeError(f"a tool cannot take {hint!r}: only `T | None`")
    schema, convert = _schema(inner[0])
    if "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema, lambda value: None if value is None else convert(value)
