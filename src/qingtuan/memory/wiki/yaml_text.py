"""Reading YAML that a person may have edited, and writing values of it on one line."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

_SAFE = re.compile(r"\w(?:[\w.\-/、。，；！？（）「」《》·～ ]*[\w.\-/、。，；！？（）「」《》·～])?")
_ESCAPED = re.compile("[<>\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


_WORD = r"(?P<word>[^\W\d_](?:[\w.\-/、。，；！？（）「」《》·～ ]*[\w.\-/、。，；！？（）「」《》·～])?)"
"""A plain scalar that begins with a letter: a text, but for the few words below."""
_DIGITS_FIRST = r"(?P<digits>(?!0b)[0-9][0-9a-f]*[a-f][0-9a-f]*|[0-9][0-9A-Z]*[G-Z][0-9A-Z]*)"
"""A hash, or an id: a text too, though it begins with a digit."""
_DAY = r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_QUOTED = r'"(?P<quoted>[^"\\\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff\u2028\u2029]*)"'
_SIMPLE = rf"(?P<key>[a-z]+): (?:{_QUOTED}|{_DAY}|{_DIGITS_FIRST}|{_WORD})"
_IN_FLOW = re.compile(rf"{_SIMPLE}(?:, |\}}\Z)")
_IN_BLOCK = re.compile(rf"{_SIMPLE}(?:\n|\Z)")
_NO_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_TRUTHS = {"true": True, "false": False}


def load_yaml(text: str) -> Any:
    """The value of one YAML document, with the types of `yaml.safe_load`.

    Raises:
        ValueError: it is no YAML, not safe, nested too deep, or uses aliases (which can unfold without end).
    """
    simple = _simple(text)
    return simple if simple is not None else _whole(text)


def _simple(text: str) -> dict[str, Any] | None:
    """The value of a mapping as we write it, on one line or a line for each key: nearly all there are, and read in a
    tenth of the time. None for anything that YAML might read otherwise."""
    bare = text.strip(" ")
    pattern, at = (_IN_FLOW, 1) if bare.startswith("{") else (_IN_BLOCK, 0)
    text = bare if at else text
    found: dict[str, Any] = {}
    while at < len(text):
        pair = pattern.match(text, at)
        if pair is None or pair["key"] in _NO_TEXT:
            return None
        value: Any = pair[pair.lastgroup or ""]
        if pair.lastgroup == "word" and value.casefold() in _NO_TEXT:
            value = _TRUTHS.get(value)
            if value is None:
                return None
        elif pair.lastgroup == "day":
            try:
                value = date.fromisoformat(value)
            except ValueError:
                return None
        found[pair["key"]] = value
        at = pair.end()
    return found or None


def _whole(text: str) -> Any:
    import yaml

    loader = _loader()
    try:
        if "*" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise ValueError("aliases")
        return yaml.load(text, Loader=loader)  # noqa: S506 (one of the two safe loaders)
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        # beside its own errors PyYAML lets through what a wrong tag makes Python say: `!!bool maybe` is a KeyError
        raise ValueError(str(error)) from error


@lru_cache(maxsize=1)
def _loader() -> Any:
    """The safe loader, in C where PyYAML was built with it."""
    import yaml

    return getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader


def flow(value: Any) -> str:
    """`value` in YAML's flow style on one line; it holds neither `<` nor `>`, so it can end no comment."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) < 2**63 else hex(value)  # Python refuses to print huge decimals
        case float():
            return _float(value)
        case str():
            return _string(value)
        case date():  # and datetime
            return value.isoformat()
        case bytes():
            return f'!!binary "{b64encode(value).decode("ascii")}"'
        case Mapping():
            return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
        case set() | frozenset():
            return "!!set {" + ", ".join(flow(item) for item in sorted(value, key=str)) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(flow, value)) + "]"
    return _string(str(value))


def _float(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    mantissa, exponent, power = text.partition("e")
    # YAML 1.1 takes `1e-07` for a word: a float needs its point and the sign of its power
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}{exponent}{power if not power or power[0] in '+-' else '+' + power}"


def _string(text: str) -> str:
    if _SAFE.fullmatch(text) and not _means_something_else(text):
        return text
    quoted = json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _means_something_else(text: str) -> bool:
    """Whether YAML reads these letters as a number, a date, a truth value or nothing."""
    import yaml

    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    candidates = [*resolvers.get(text[0], ()), *resolvers.get(None, ())]
    return any(pattern.match(text) for _, pattern in candidates)
