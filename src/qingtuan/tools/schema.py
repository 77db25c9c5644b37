"""Arguments of a call: strict JSON by the tool's schema, or a refusal that says what is expected.

Nothing is repaired: a model that sees what was wrong writes it right the next time, and a guess that runs
may do what nobody asked for (turn.md, Tools).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal

from qingtuan.errors import ArgumentsRefused
from qingtuan.language import Language, Words
from qingtuan.tools.strict_json import MAX_DEPTH, NotStrict, brief, canonical, deeper_than, parse_object

_TOLD = 5
"""How many mistakes of one call are named."""

Schema = Mapping[str, Any]


def check_arguments(text: str, schema: Schema) -> dict[str, Any]:
    """The arguments that a model wrote, checked against the schema of an object.

    Raises:
        ArgumentsRefused: no strict JSON, or not by the schema. The sentence is for the model.
    """
    if not text.strip() and not schema.get("properties"):
        return {}  # a call without parameters comes as an empty text from some providers; nothing can be missing
    try:
        arguments = parse_object(text)
    except NotStrict as fault:
        raise _refusal(fault.words, schema) from None
    if problems := list(dict.fromkeys(problem.words(schema) for problem in _problems(arguments, schema))):
        told = problems[:_TOLD]
        words = Words("；".join(words.zh for words in told), "; ".join(words.en for words in told))
        raise _refusal(words, schema)
    return arguments


def fault_of(schema: Schema) -> str | None:
    """Why a schema that somebody else wrote cannot be used for checking arguments, or None if it can."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if schema.get("type", "object") != "object":
        return "the schema of a tool describes an object"
    try:
        if deeper_than(schema, MAX_DEPTH):
            return f"nested deeper than {MAX_DEPTH}"
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        return error.message[:200]
    outside = sorted({ref for ref in _references(schema) if not ref.startswith("#")})
    return f"$ref leads outside: {outside[0][:80]}" if outside else None


def misfit(value: Any, schema: Schema) -> str | None:
    """Why a value does not fit a schema that passed `fault_of`, or None if it does, or if nobody can say so with
    reasonable work: whoever made both can make that endless. Patterns are not checked."""
    from referencing.exceptions import Unresolvable

    try:
        error = next(_validator(canonical(schema)).errors(value), None)
    except _TooMuch:
        return None
    except (Unresolvable, RecursionError, ArithmeticError, ValueError) as broken:
        return type(broken).__name__
    return f"{_path(error.absolute_path) or '{}'}: {error.message}" if error is not None else None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


# Checking


@dataclass(frozen=True, slots=True)
class _Problem:
    kind: Literal["missing", "extra", "wrong"]
    path: str
    expected: Schema
    value: Any = None

    def words(self, schema: Schema) -> Words:
        name, expected = self.path[:60] or "{}", expectation(self.expected)
        if self.kind == "missing":
            return Words(f"缺 {name}（{expected.zh}）", f"{name} is missing ({expected.en})")
        if self.kind == "extra":
            near = get_close_matches(name, list(schema.get("properties", ())), n=1)
            hint = Words(f"，是不是 {near[0]}", f"; did you mean {near[0]}") if near else Words("", "")
            return Words(f"没有 {name} 这个参数{hint.zh}", f"there is no parameter {name}{hint.en}")
        got = brief(self.value)
        return Words(f"{name} 要{expected.zh}，收到 {got}", f"{name} must be {expected.en}, got {got}")


_FLAT = frozenset(
    ("type", "enum", "description", "default", "format", "minimum", "maximum", "minLength", "maxLength", "items")
)


def _problems(arguments: dict[str, Any], schema: Schema) -> Iterator[_Problem]:
    if not _is_flat_object(schema):
        yield from _library_problems(arguments, schema)
        return
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            yield _Problem("missing", name, properties.get(name, {}))
    for name, value in arguments.items():
        if name not in properties:
            yield _Problem("extra", name, {}, value)
        elif not _fits(value, properties[name]):
            yield _Problem("wrong", name, properties[name], value)


def _is_flat_object(schema: Schema) -> bool:
    """Whether the few lines of `_fits` cover the schema, as with nearly all built-ins: loading the library
    takes 0.1 s and 15 MiB, which a process that never meets a deeper schema need not spend."""
    known = {"type", "properties", "required", "additionalProperties", "description"}
    return (
        schema.keys() <= known
        and schema.get("additionalProperties") is False
        and all(_is_flat(property_) for property_ in schema.get("properties", {}).values())
    )


def _is_flat(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _FLAT:
        return False
    return "items" not in schema or _is_flat(schema["items"])


def _fits(value: Any, schema: Schema) -> bool:
    types = _types(schema)
    if types and not any(_IS[name](value) for name in types):
        return False
    if "enum" in schema and not any(value == option and type(value) is type(option) for option in schema["enum"]):
        return False
    if isinstance(value, str):
        fits_format = _FORMATS.get(schema.get("format", ""), _anything)(value)
        return fits_format and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf)
    if _is_number(value):
        return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))
    if isinstance(value, list):
        return all(_fits(item, schema.get("items", {})) for item in value)
    return True


def _types(schema: Schema) -> Sequence[str]:
    declared = schema.get("type", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_IS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == int(value),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _anything(_: str) -> bool:
    return True


def _iso(pattern: str, parse: Callable[[str], Any]) -> Callable[[str], bool]:
    shape = re.compile(pattern)

    def fits(value: str) -> bool:
        if not shape.fullmatch(value):
            return False
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return fits


_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _iso(_DAY, date.fromisoformat),
    # Without a zone it is the person's local time: asking a model for offsets gets wrong offsets.
    "date-time": _iso(rf"{_DAY}[Tt ]{_CLOCK}([Zz]|[+-][0-9]{{2}}:[0-9]{{2}})?", datetime.fromisoformat),
    "time": _iso(_CLOCK, time.fromisoformat),
}


def _library_problems(arguments: dict[str, Any], schema: Schema) -> Iterator[_Problem]:
    from referencing.exceptions import Unresolvable

    try:
        for error in _validator(canonical(schema)).errors(arguments):
            yield from _from_library(error)
    except (Unresolvable, RecursionError, ArithmeticError, _TooMuch) as error:
        words = Words("这个工具的参数表坏了，用不了", "this tool's own schema is broken; it cannot be used")
        raise ArgumentsRefused(words, detail=repr(error)) from error


def _from_library(error: Any) -> Iterator[_Problem]:
    path = _path(error.absolute_path)
    properties = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
    if error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield _Problem("missing", _path([*error.absolute_path, name]), properties.get(name, {}))
    elif error.validator == "additionalProperties" and error.validator_value is False:
        for name in error.instance:
            if name not in properties:
                yield _Problem("extra", _path([*error.absolute_path, name]), {}, error.instance[name])
    else:
        expected = error.schema if isinstance(error.schema, Mapping) else {"not": {}}
        yield _Problem("wrong", path, expected, error.instance)


def _path(steps: Sequence[str | int]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


_MAX_WORK = 50_000
"""Looks of a keyword at a value in one check: a third of a second. References that branch and lead back into themselves
take more than anybody has, with a value of a few levels."""


class _TooMuch(Exception):
    """A check takes more work than it is worth."""


@dataclass(slots=True)
class _Validator:
    """The library's validator of one schema, and how much work it may still do in the check under way."""

    library: Any = None
    left: int = 0

    def errors(self, value: Any) -> Iterator[Any]:
        """What does not fit. Raises `_TooMuch`, besides whatever the library raises."""
        self.left = _MAX_WORK
        yield from self.library.iter_errors(value)

    def counting(self, check: Any) -> Any:
        """A keyword's check that counts its work: each part of the schema that it looks at in turn."""

        def counted(validator: Any, value: Any, instance: Any, within: Any) -> Any:
            self.left -= _size(value)
            if self.left < 0:
                raise _TooMuch
            return check(validator, value, instance, within)

        return counted


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(1 + (len(part) if isinstance(part, list) else 0) for part in value.values())
    return 1 + (len(value) if isinstance(value, list) else 0)


@lru_cache(maxsize=256)
def _validator(schema: str) -> _Validator:
    from jsonschema import validators
    from referencing import Registry

    base: Any = validators.Draft202012Validator
    additional = base.VALIDATORS["additionalProperties"]

    def additional_unless_patterns(validator: Any, allowed: Any, instance: Any, within: Any) -> Any:
        return () if "patternProperties" in within else additional(validator, allowed, instance, within)

    extend: Any = validators.extend
    # Patterns are of another dialect than Python's, and a hostile one never ends; what is unevaluated is worked out
    # anew at each level: whoever wrote the schema checks them on their own side.
    ours = {
        "pattern": _unchecked,
        "patternProperties": _unchecked,
        "unevaluatedItems": _unchecked,
        "unevaluatedProperties": _unchecked,
        "additionalProperties": additional_unless_patterns,
        "uniqueItems": _unique,
    }
    made = _Validator()
    kind = extend(base, {name: made.counting(check) for name, check in {**base.VALIDATORS, **ours}.items()})
    # An empty registry: a reference to an address must never be fetched.
    made.library = kind(json.loads(schema), format_checker=_format_checker(), registry=Registry())
    return made


def _format_checker() -> Any:
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name, fits in _FORMATS.items():
        checker.checks(name)(_for_text(fits))
    return checker


def _for_text(fits: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or fits(value)


def _unchecked(*_: Any) -> Any:
    return ()


def _unique(_validator: Any, wanted: Any, instance: Any, _within: Any) -> Any:
    """No two items alike. The library compares each with each."""
    from jsonschema import ValidationError

    if wanted is True and isinstance(instance, list) and len(set(map(canonical, instance))) < len(instance):
        yield ValidationError("two of the items are alike")


# Saying what is expected


def expectation(schema: Schema) -> Words:
    """What a value must be, in words for the model."""
    if "enum" in schema:
        options = ", ".join(canonical(option) for option in schema["enum"])[:300]
        return Words(f" {options} 之一", f"one of {options}")
    if schema.get("format") in _FORMAT_WORDS:
        return _FORMAT_WORDS[schema["format"]]
    names = [name for name in _types(schema) if name in _TYPE_WORDS and name != "null"]
    if not names:
        text = canonical(schema)[:200]
        return Words("任意值", "any value") if text == "{}" else Words(f"符合 {text} 的值", f"a value that fits {text}")
    zh = "或".join(_TYPE_WORDS[name].zh for name in names)
    en = " or ".join(_TYPE_WORDS[name].en for name in names)
    if names == ["array"] and schema.get("items"):
        inner = expectation(schema["items"])
        zh, en = f"{zh}，每项是{inner.zh}", f"{en}, each item {inner.en}"
    zh_limits, en_limits = _limits(schema)
    return Words(zh + zh_limits, en + en_limits)


def _limits(schema: Schema) -> tuple[str, str]:
    for least, most, zh, en in (("minimum", "maximum", "", ""), ("minLength", "maxLength", " 字", " characters")):
        low, high = schema.get(least), schema.get(most)
        if low is not None and high is not None:
            return f"（{low} 到 {high}{zh}）", f" ({low} to {high}{en})"
        if low is not None:
            return f"（至少 {low}{zh}）", f" (at least {low}{en})"
        if high is not None:
            return f"（最多 {high}{zh}）", f" (at most {high}{en})"
    return "", ""


_TYPE_WORDS: Mapping[str, Words] = {
    "string": Words("字符串", "a string"),
    "integer": Words("整数", "an integer"),
    "number": Words("数字", "a number"),
    "boolean": Words(" true 或 false", "true or false"),
    "array": Words("列表", "a list"),
    "object": Words(" JSON 对象", "a JSON object"),
    "null": Words(" null", "null"),
}
_FORMAT_WORDS: Mapping[str, Words] = {
    "date": Words("形如 2026-12-01 的日期", "a date like 2026-12-01"),
    "date-time": Words("形如 2026-12-01T09:00 的时间", "a time like 2026-12-01T09:00"),
    "time": Words("形如 09:00 的钟点", "a time of day like 09:00"),
}


def _refusal(problem: Words, schema: Schema) -> ArgumentsRefused:
    fields = {"zh": _fields(schema, "zh"), "en": _fields(schema, "en")}
    return ArgumentsRefused(
        Words(
            f"没有执行，参数不对：{problem.zh}。要的是：{fields['zh']}",
            f"Not run, wrong arguments: {problem.en}. Expected: {fields['en']}",
        )
    )


def _fields(schema: Schema, language: Language) -> str:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    if not properties:
        return "{}"
    optional = Words("可不给：", "optional, ").say(language)
    parts = [
        f"{name}（{'' if name in required else optional}{expectation(property_).say(language).strip()}）"
        for name, property_ in properties.items()
        if isinstance(property_, Mapping)
    ]
    if language == "en":
        return ", ".join(part.replace("（", " (", 1)[:-1] + ")" for part in parts)[:1000]
    return "，".join(parts)[:1000]
