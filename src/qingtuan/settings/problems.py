"""What can be wrong with a setting, each as one sentence: where, what, and what to write instead."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from qingtuan.language import Words
from qingtuan.settings.catalog import Entry, catalog, expects, toml_text
from qingtuan.settings.source import Place, Source

_SHOWN = 60
"""Characters of a wrong value that are repeated to the owner."""


def unknown(source: Source) -> Words:
    """A name that is no setting."""
    in_file = source.place is Place.FILE
    names = [entry.name if in_file else entry.variable for entry in catalog().values()]
    near = difflib.get_close_matches(source.name, names, n=1)
    where = source.words
    if near:
        return Words(f"{where.zh}：没有这个设置，是不是 {near[0]}？", f"{where.en}: no such setting; is it {near[0]}?")
    return Words(
        f"{where.zh}：没有这个设置，qingtuan settings 会列出全部。",
        f"{where.en}: no such setting; `qingtuan settings` lists them all.",
    )


def wrong(value: Any, source: Source, entry: Entry, item: int | None = None) -> Words:
    """A value of the wrong kind or out of range; `item` is its place in a list, from 0."""
    where, wanted, shown = source.words, expects(entry), _shown(value, entry)
    place = Words(f"第 {item + 1} 项不对，", f"item {item + 1} is wrong; ") if item is not None else Words("", "")
    return Words(
        f"{where.zh}：{place.zh}要写{wanted.zh}{'，现在是 ' + shown if shown else ''}。",
        f"{where.en}: {place.en}it takes {wanted.en}{', and is now ' + shown if shown else ''}.",
    )


def not_json(source: Source, entry: Entry) -> Words:
    """A variable for a list or table whose text is no JSON."""
    where = source.words
    sample = '["qq:10001"]' if isinstance(entry.default, tuple) else '{"a": "b"}'
    return Words(
        f"{where.zh}：要写成 JSON，例如 {sample}。",
        f"{where.en}: it must be JSON, for example {sample}.",
    )


def no_section(source: Source, entry: Entry) -> Words:
    """A plain value where a section belongs."""
    where, wanted = source.words, expects(entry)
    return Words(f"{where.zh}：这是{wanted.zh}。", f"{where.en}: this is {wanted.en}.")


def missing(source: Source, name: str) -> Words:
    """A setting that another one needs."""
    where, entry = source.words, catalog()[name]
    return Words(
        f"有了{where.zh}，还要写 {name}（或 {entry.variable}），例如 {entry.example}。",
        f"With {where.en}, {name} (or {entry.variable}) is needed too, for example {entry.example}.",
    )


def malformed(file: str, line: int | None) -> Words:
    """A line that cannot be read. Its text is not repeated: it may hold a key."""
    if line is None:
        return Words(f"{file} 的结尾不完整。", f"{file} ends in the middle of something.")
    return Words(f"{file} 第 {line} 行看不懂。", f"Line {line} of {file} cannot be read.")


def unreadable(path: Path, why: Words) -> Words:
    """A file that cannot be read at all."""
    return Words(f"读不了 {path}：{why.zh}。", f"Cannot read {path}: {why.en}.")


def _shown(value: Any, entry: Entry) -> str:
    """The value, cut to a length, or nothing where it may hold a secret."""
    plain = isinstance(value, (str, int, float)) or (
        isinstance(value, list) and all(isinstance(part, (str, int, float)) for part in value)
    )
    if entry.is_secret or not plain:
        return ""
    text = toml_text(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
