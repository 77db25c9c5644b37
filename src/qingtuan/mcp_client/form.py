"""The flat forms by which a server asks a person: read from their schema, and answers turned into values. Pure.

MCP allows texts, numbers, truths and choices, one beside the other and nothing nested.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from qingtuan.language import Words
from qingtuan.tools.plain import line
from qingtuan.tools.schema import misfit

MAX_FIELDS = 16
MAX_OPTIONS = 100
"""Values of one choice that are read; more than a message can list are named in its text."""
LISTED = 20
"""Options that are shown as numbered choices."""
_MAX_LABEL = 300
_MAX_ANSWER = 10_000

Value = str | int | float | bool | list[str]
Kind = Literal["text", "number", "truth", "choice", "choices"]


class NoForm(Exception):
    """A schema that is none of the forms that MCP allows, or too much of one. The sentence is for the server."""


@dataclass(frozen=True, slots=True)
class Option:
    """One value that may be chosen, and what it calls itself."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that is asked."""

    name: str
    label: str
    """What the server calls it, with what it says of it."""
    kind: Kind
    schema: Mapping[str, Any]
    required: bool
    options: tuple[Option, ...] = ()
    default: Value | None = None

    @property
    def may_skip(self) -> bool:
        """Whether it may be left open."""
        return not self.required or self.default is not None

    @property
    def hint(self) -> Words:
        """What is expected, in words of ours."""
        lines = [*_expected(self)]
        if self.default is not None:
            shown = line(_spelled(self.default), 80)
            lines.append(Words(f"跳过就是 {shown}。", f"Skipped, it is {shown}."))
        return Words("".join(one.zh for one in lines), " ".join(one.en for one in lines))

    def read(self, text: str, picks: tuple[int, ...] = ()) -> Value:
        """The value that an answer means; `picks` are places among the options or of yes and no.

        Raises:
            Unfit: it means none, or one that does not fit.
        """
        value = self._read(text, picks)
        if (why := _unfit(value, self)) is not None:
            raise Unfit(why)
        return value

    def _read(self, text: str, picks: tuple[int, ...]) -> Value:
        match self.kind:
            case "truth":
                return picks[:1] == (0,)
            case "number":
                return _number(text, whole=self.schema.get("type") == "integer")
            case "choice":
                return self.options[picks[0]].value if picks else self._named(text)
            case "choices":
                places = picks or tuple(self._place(part) for part in re.split(r"[\n,，、;；]+", text) if part.strip())
                return [self.options[place].value for place in places]
            case _:
                return text

    def _named(self, text: str) -> str:
        return self.options[self._place(text)].value

    def _place(self, text: str) -> int:
        said = _folded(text)
        for names in ([_folded(option.title) for option in self.options], [_folded(one.value) for one in self.options]):
            if names.count(said) == 1:
                return names.index(said)
        raise Unfit(_NO_OPTION)


class Unfit(Exception):
    """An answer that is no value of its field."""

    def __init__(self, words: Words) -> None:
        super().__init__(words.en)
        self.words = words


def fields_of(schema: Any) -> tuple[Field, ...]:
    """What a form asks, in its order. Raises `NoForm`."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise NoForm("the form is no object")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        raise NoForm("the form has no properties")
    if len(properties) > MAX_FIELDS:
        raise NoForm(f"at most {MAX_FIELDS} fields are asked at once")
    return tuple(_field(str(name), part, name in required) for name, part in properties.items())


def _field(name: str, part: Any, required: bool) -> Field:
    if not isinstance(part, Mapping):
        raise NoForm(f"{name[:80]} is no schema")
    kind, options = _kind(name, part)
    said = [part[key] for key in ("title", "description") if isinstance(part.get(key), str) and part[key].strip()]
    label = line(": ".join(said) or name, _MAX_LABEL)
    field = Field(name, label, kind, part, required, options)
    default = part.get("default")
    if default is None or _unfit(default, field) is not None:
        return field
    return Field(name, label, kind, part, required, options, default)


def _kind(name: str, part: Mapping[str, Any]) -> tuple[Kind, tuple[Option, ...]]:
    match part.get("type"):
        case "boolean":
            return "truth", ()
        case "number" | "integer":
            return "number", ()
        case "array":
            items = part.get("items")
            if isinstance(items, Mapping) and (options := tuple(_options(items, "anyOf"))):
                return "choices", _checked(name, options)
        case "string":
            options = tuple(_options(part, "oneOf"))
            return ("choice", _checked(name, options)) if options else ("text", ())
    raise NoForm(f"{name[:80]} is no text, number, truth or choice")


def _options(part: Mapping[str, Any], titled: str) -> Iterator[Option]:
    """The options of a choice in each of the forms that MCP had: bare, with names beside, with titles."""
    if isinstance(values := part.get("enum"), list):
        given = part.get("enumNames")
        names = given if isinstance(given, list) and len(given) == len(values) else values
        for value, name in zip(values, names, strict=True):
            if isinstance(value, str):
                yield Option(value, name if isinstance(name, str) and name.strip() else value)
        return
    for key in (titled, "oneOf", "anyOf"):
        if isinstance(listed := part.get(key), list):
            for one in listed:
                if isinstance(one, Mapping) and isinstance(value := one.get("const"), str):
                    title = one.get("title")
                    yield Option(value, title if isinstance(title, str) and title.strip() else value)
            return


def _checked(name: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
    if len(options) > MAX_OPTIONS:
        raise NoForm(f"{name[:80]} has more than {MAX_OPTIONS} options")
    return options


def _expected(field: Field) -> Iterator[Words]:
    schema = field.schema
    match field.kind:
        case "number":
            yield (
                Words("要一个整数。", "A whole number.")
                if schema.get("type") == "integer"
                else Words("要一个数。", "A number.")
            )
            yield from _bounds(schema, "minimum", "maximum", Words("", ""))
        case "text":
            if (said := _FORMATS.get(str(schema.get("format")))) is not None:
                yield said
            yield from _bounds(schema, "minLength", "maxLength", Words("字", " characters"))
        case "choices":
            yield from _bounds(schema, "minItems", "maxItems", Words("个", ""))


def _bounds(schema: Mapping[str, Any], least: str, most: str, unit: Words) -> Iterator[Words]:
    if _is_number(low := schema.get(least)):
        yield Words(f"至少 {low} {unit.zh}".strip() + "。", f"At least {low}{unit.en}.")
    if _is_number(high := schema.get(most)):
        yield Words(f"最多 {high} {unit.zh}".strip() + "。", f"At most {high}{unit.en}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 10**15


def _number(text: str, *, whole: bool) -> int | float:
    said = unicodedata.normalize("NFKC", text).strip().replace("_", "")
    if not re.fullmatch(
        r"[+-]?(?:\d{1,15}(?:\.\d{1,15})?|\.\d{1,15})(?:e[+-]?\d{1,2})?", said, re.ASCII | re.IGNORECASE
    ):
        raise Unfit(_NO_NUMBER)
    value = float(said)
    if not math.isfinite(value):
        raise Unfit(_NO_NUMBER)
    if value.is_integer():
        return int(value)
    if whole:
        raise Unfit(_NO_NUMBER)
    return value


def _unfit(value: Any, field: Field) -> Words | None:
    """Why a value does not fit its field, None if it does."""
    if isinstance(value, str):
        if len(value) > _MAX_ANSWER:
            return _TOO_LONG
        said = _FORMATS.get(str(field.schema.get("format"))) if field.kind == "text" else None
        if said is not None and not _FITS[str(field.schema["format"])](value):
            return said
    values = {option.value for option in field.options}
    if field.options and not set(value if isinstance(value, list) else [value]) <= values:
        return _NO_OPTION
    bare = {key: field.schema[key] for key in _CHECKED if key in field.schema}
    try:
        return _MISFIT if misfit(value, bare) is not None else None
    except (TypeError, ValueError):
        return _MISFIT


_CHECKED = ("type", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
"""What of a field's schema is checked besides options and formats: nothing of it can cost much."""


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _spelled(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII)) and date.fromisoformat(text) is not None
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    try:
        return "T" in text.upper() and datetime.fromisoformat(text.upper()).tzinfo is not None
    except ValueError:
        return False


def _is_mail(text: str) -> bool:
    return len(text) <= 254 and re.fullmatch(r"[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*", text) is not None


def _is_address(text: str) -> bool:
    return len(text) <= 2_000 and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f]+", text) is not None


_FITS = {"date": _is_date, "date-time": _is_moment, "email": _is_mail, "uri": _is_address}
_FORMATS: Mapping[str, Words] = {
    "date": Words("要一个日期，例如 2026-12-01。", "A date, such as 2026-12-01."),
    "date-time": Words(
        "要日期、时间和时区，例如 2026-12-01T09:00:00+08:00。",
        "A date, time and zone, such as 2026-12-01T09:00:00+08:00.",
    ),
    "email": Words("要一个邮箱地址。", "A mail address."),
    "uri": Words("要一个网址。", "An address, such as https://example.org."),
}
_NO_OPTION = Words("不在选项里。", "That is none of the options.")
_NO_NUMBER = Words("这里要一个数。", "A number is needed here.")
_TOO_LONG = Words("太长了。", "That is too long.")
_MISFIT = Words("不合要求的长短或大小。", "That is too long, too short, too large or too small.")
