"""A tool as its server describes it: taken apart, made harmless to show, and hashed. Pure.

What a server says of its tools is text of a stranger that stands in a request. So it is bounded, nothing is hidden in
it, and it is compared by a hash of the whole with what was seen at first (`pins`).
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.language import Words
from qingtuan.mcp_client.sieve import UNUSABLE
from qingtuan.storage.files import content_hash
from qingtuan.tools.plain import covered, line, plain
from qingtuan.tools.schema import fault_of
from qingtuan.tools.strict_json import MAX_DEPTH, canonical, deeper_than

MAX_DESCRIPTION = 2_000
"""Characters of a description that a model is shown."""
MAX_SCHEMA = 64 * 1024
"""Characters of a schema as JSON."""
MAX_NAME = 256
_MAX_UNFOLDED = 20_000
"""Parts of a schema with every reference written out. References that double each other grow past any bound."""
_MAX_SENTENCE = 300
SENTENCE = "qingtuan/sentence"
"""Where in a tool's `_meta` a trusted server may bring the question of a confirmation, by language."""

Raw = Mapping[str, Any]
"""A tool as JSON: name, title, description, inputSchema, outputSchema, annotations, execution (only where it says that
the tool runs as a task alone), _meta (only with the question's sentence)."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool of a server."""

    name: str
    description: str
    """Bounded, with nothing unseen in it."""
    schema: Mapping[str, Any]
    """Of the arguments; its texts are bounded likewise."""
    output: Mapping[str, Any] | None
    """Of structured results; None if there is none that can be used."""
    read_only: bool
    """What the server says; only a trusted one is believed."""
    sentence: Words | None
    hash: str
    """Of all that the server said of it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A tool that cannot be used, and why."""

    name: str
    why: Words


def definition_of(raw: Raw) -> Definition:
    """A tool that passed `fault` once."""
    schema = raw["inputSchema"]
    annotations = raw.get("annotations") or {}
    title, described = raw.get("title") or annotations.get("title") or "", raw.get("description") or ""
    text = plain(described, MAX_DESCRIPTION) or line(title, MAX_DESCRIPTION)
    return Definition(
        name=raw["name"],
        description=text.strip(),
        schema=_cleaned({"type": "object", **schema}),
        output=raw.get("outputSchema"),
        read_only=annotations.get("readOnlyHint") is True,
        sentence=_sentence(raw.get("_meta"), schema),
        hash=content_hash(canonical(raw).encode("utf-8", "surrogatepass")),
    )


def fault(raw: Raw) -> Words | None:
    """Why a tool must be left out, None if it need not. Loads the library for schemas."""
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or _lone(name):
        return _NAME
    if raw.get("execution"):
        return _TASK
    schema = raw.get("inputSchema")
    if not isinstance(schema, Mapping) or schema == UNUSABLE:
        return _NO_SCHEMA
    if deeper_than(schema, MAX_DEPTH):
        return _DEEP
    if (size := _size(schema)) is None:
        return _NO_NUMBER
    if size > MAX_SCHEMA:
        return _HUGE
    if (why := fault_of(schema)) is not None:
        shown = line(why, 120)
        return Words(f"参数表不能用：{shown}", f"Its schema cannot be used: {shown}")
    return _GROWS if _unfolded(schema) > _MAX_UNFOLDED else None


def with_usable_output(raw: dict[str, Any]) -> dict[str, Any]:
    """The tool without its schema of results, if that is none: then results are taken as they come."""
    output = raw.get("outputSchema")
    if output is None:
        return raw
    usable = (
        isinstance(output, Mapping)
        and not deeper_than(output, MAX_DEPTH)
        and (_size(output) or MAX_SCHEMA + 1) <= MAX_SCHEMA
        and fault_of(output) is None
        and _unfolded(output) <= _MAX_UNFOLDED
    )
    return raw if usable else {key: value for key, value in raw.items() if key != "outputSchema"}


def _size(schema: Mapping[str, Any]) -> int | None:
    """Characters of a schema as JSON; None if it holds numbers that JSON has not, which no provider would take."""
    try:
        return len(json.dumps(schema, ensure_ascii=False, allow_nan=False))
    except ValueError:
        return None


def _lone(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


# Schemas


def _unfolded(schema: Mapping[str, Any]) -> int:
    """How many parts the schema has with every inner reference written out, up to a little over the bound. One that
    leads back into itself counts once: checking follows it only as deep as the arguments go."""
    sizes: dict[str, int] = {}
    open_: set[str] = set()

    def size(part: Any) -> int:
        if isinstance(part, list):
            return 1 + _bounded(map(size, part))
        if not isinstance(part, Mapping):
            return 0
        return 1 + _bounded(referred(value) if key == "$ref" else size(value) for key, value in part.items())

    def referred(ref: Any) -> int:
        if not isinstance(ref, str) or ref in open_:
            return 1
        if ref not in sizes:
            open_.add(ref)
            sizes[ref] = size(_at(schema, ref))
            open_.discard(ref)
        return sizes[ref]

    try:
        return size(schema)
    except RecursionError:
        return _MAX_UNFOLDED + 1  # a chain of references longer than anybody writes


def _bounded(sizes: Iterable[int]) -> int:
    total = 0
    for size in sizes:
        total += size
        if total > _MAX_UNFOLDED:
            break
    return total


def _at(schema: Any, ref: str) -> Any:
    """What a reference within the schema points at, None if nothing."""
    part = schema
    for step in ref.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, Mapping) and step in part:
            part = part[step]
        elif isinstance(part, list) and step.isdecimal() and int(step) < len(part):
            part = part[int(step)]
        else:
            return None
    return part


_TEXTS = frozenset({"description", "title", "$comment"})


def without_secrets(raw: Raw, secrets: Iterable[str]) -> Raw:
    """The tool with `secrets` covered in its texts for people: some servers say there what they were started with."""
    secrets = tuple(secrets)
    return _with_texts(raw, lambda text: covered(text, secrets)) if secrets else raw


def _cleaned(part: Any) -> Any:
    """A schema whose texts for people are bounded and hide nothing; what arguments are checked by stays."""
    return _with_texts(part, lambda text: plain(text, MAX_DESCRIPTION))


def _with_texts(part: Any, change: Callable[[str], str]) -> Any:
    """The same with each text for people changed."""
    if isinstance(part, Mapping):
        return {
            key: change(value) if key in _TEXTS and isinstance(value, str) else _with_texts(value, change)
            for key, value in part.items()
        }
    return [_with_texts(item, change) for item in part] if isinstance(part, list) else part


# The question's sentence


def _sentence(meta: Any, schema: Mapping[str, Any]) -> Words | None:
    """The sentence that the server brings, None if it is not one: both languages, known arguments, no tricks."""
    given = meta.get(SENTENCE) if isinstance(meta, Mapping) else None
    if not isinstance(given, Mapping):
        return None
    zh, en = given.get("zh"), given.get("en")
    if not isinstance(zh, str) or not isinstance(en, str):
        return None
    names = set(schema.get("properties") or {})
    fields = [_fields(text) for text in (zh, en)]
    if any(found is None or not found <= names for found in fields):
        return None
    return Words(zh, en)


def _fields(text: str) -> set[str] | None:
    if not 0 < len(text) <= _MAX_SENTENCE or plain(text, _MAX_SENTENCE) != text or "\n" in text:
        return None
    try:
        return set(_named(text))
    except ValueError:
        return None


def _named(text: str) -> Iterator[str]:
    for _, name, form, conversion in string.Formatter().parse(text):
        if name is None:
            continue
        if not name or form not in ("", "day") or conversion is not None:
            raise ValueError(text)
        yield name


_NAME = Words("名字是空的、太长，或不是文字。", "Its name is empty, too long, or no text.")
_TASK = Words("它只能当作后台任务来跑，这里不会。", "It runs as a background task only, which is not known here.")
_NO_SCHEMA = Words("没有能用的参数表。", "It has no usable schema.")
_NO_NUMBER = Words("参数表里有 JSON 没有的数。", "Its schema holds numbers that JSON has not.")
_DEEP = Words("参数表嵌套太深。", "Its schema is nested too deep.")
_HUGE = Words(f"参数表超过 {MAX_SCHEMA // 1024} KB。", f"Its schema is larger than {MAX_SCHEMA // 1024} KB.")
_GROWS = Words("参数表里的引用层层翻倍。", "References in its schema double each other without end.")
