"""The list of all settings, read off the models: for loading, the template, `qingtuan settings` and the docs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from qingtuan.language import Words
from qingtuan.settings.fields import HIDDEN, Example, Section, Url
from qingtuan.settings.model import Settings
from qingtuan.settings.source import Place, Source


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting or section as it is declared."""

    name: str
    """Dotted, as in `server.port`."""
    words: Words
    kind: Any
    """The declared type, without `None`."""
    bounds: tuple[Any, ...]
    default: Any
    example: str | None
    """TOML text."""

    @property
    def is_section(self) -> bool:
        return isinstance(self.kind, type) and issubclass(self.kind, Section)

    @property
    def is_secret(self) -> bool:
        return self.kind is SecretStr

    @property
    def takes_structure(self) -> bool:
        """Whether a variable holds JSON for it: a list or a table."""
        return get_origin(self.kind) in (tuple, dict)

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "QINGTUAN_" + self.name.upper().replace(".", "__")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as `qingtuan settings`, the console and the reference show it. Secrets are hidden."""

    name: str
    variable: str
    sentence: Words
    expects: Words
    """What can be written there."""
    default: str
    """TOML text; empty when unset."""
    value: str
    """TOML text; empty when unset."""
    source: Source


@cache
def catalog() -> Mapping[str, Entry]:
    """Every setting and section by its dotted name, in the order of the template."""
    return {entry.name: entry for entry in _walk(Settings(), "")}


def _walk(section: Section, prefix: str) -> Iterator[Entry]:
    # What is no section comes first: in TOML a key after [a.b] belongs to a.b.
    fields = type(section).model_fields.items()
    entries = [_entry(prefix + name, field, getattr(section, name)) for name, field in fields]
    yield from (entry for entry in entries if not entry.is_section)
    for entry in entries:
        if entry.is_section:
            yield entry
            yield from _walk(entry.default, f"{entry.name}.")


def _entry(name: str, field: FieldInfo, default: Any) -> Entry:
    kind, found = _without_none(field.annotation), list(field.metadata)
    words = next(item for item in found if isinstance(item, Words))
    example = next((item.toml for item in found if isinstance(item, Example)), None)
    bounds = tuple(item for item in found if hasattr(item, "ge") or hasattr(item, "le"))
    return Entry(name, words, kind, bounds, default, example)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        rest = [part for part in get_args(kind) if part is not type(None)]
        kind = rest[0] if len(rest) == 1 else kind
    while hasattr(kind, "__metadata__"):  # Annotated
        kind = get_args(kind)[0]
    return kind


def expects(entry: Entry) -> Words:
    """What can be written for a setting, as the end of the sentence "it takes …"."""
    words = takes(entry)
    example = entry.example
    if example is None and entry.kind is str and entry.default:
        example = toml_text(entry.default)
    if example is None:
        return words
    return Words(f"{words.zh}，例如 {example}", f"{words.en}, for example {example}")


def takes(entry: Entry) -> Words:
    """The kind of value that a setting takes, in a few words."""
    kind = entry.kind
    if entry.is_section:
        return Words(f"一节，写成 [{entry.name}]", f"a section, written [{entry.name}]")
    if get_origin(kind) is Literal:
        choices = [json.dumps(choice) for choice in get_args(kind)]
        return Words(" 或 ".join(choices), " or ".join(choices))
    if get_origin(kind) is tuple:
        return Words("一个列表", "a list")
    if get_origin(kind) is dict:
        return Words("一张表", "a table")
    if kind is bool:
        return Words("true 或 false", "true or false")
    if kind in (int, float):
        return _number_words(whole=kind is int, bounds=entry.bounds)
    return Words("一段文字", "a text")


def _number_words(*, whole: bool, bounds: tuple[Any, ...]) -> Words:
    low = next((bound.ge for bound in bounds if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in bounds if hasattr(bound, "le")), None)
    zh, en = ("一个整数", "a whole number") if whole else ("一个数", "a number")
    if low is not None and high is not None:
        return Words(f"{zh}，{low} 到 {high}", f"{en} from {low} to {high}")
    if low is not None:
        return Words(f"{zh}，至少 {low}", f"{en}, at least {low}")
    return Words(zh, en)


def describe(settings: Settings) -> Iterator[Setting]:
    """Every setting with its value and where that comes from, in the order of the template."""
    for entry in catalog().values():
        if entry.is_section:
            continue
        value: Any = settings
        for part in entry.name.split("."):
            value = getattr(value, part)
        yield Setting(
            entry.name,
            entry.variable,
            entry.words,
            expects(entry),
            toml_text(entry.default),
            toml_text(value),
            settings.sources.get(entry.name, Source(Place.DEFAULT, entry.name)),
        )


def toml_text(value: Any) -> str:
    """A value as one would write it in the file; secrets and passwords in addresses are dots. Empty for None."""
    match value:
        case None:
            return ""
        case SecretStr():
            return f'"{HIDDEN}"'
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return f"{value:g}"
        case str():
            return json.dumps(Url(value).shown(), ensure_ascii=False)
        case BaseModel():
            return _table({name: getattr(value, name) for name in type(value).model_fields})
        case dict():
            return _table({json.dumps(key, ensure_ascii=False): item for key, item in value.items()})
        case _:
            return "[" + ", ".join(toml_text(item) for item in value) + "]"


def _table(items: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name} = {toml_text(item)}" for name, item in items.items() if item is not None) + "}"
