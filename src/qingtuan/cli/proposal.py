"""What an import would change, as a person reads it before they say yes: every line that would become an entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from qingtuan.cli.view import printable
from qingtuan.language import Language, Words
from qingtuan.memory.importing.found import NAMES, Found, Reason

_SOME = 8
"""Lines that are told of what is not going to change anything."""


@dataclass
class Shown:
    """A text with numbers, and what they stand for: places in what was found."""

    text: str = ""
    entries: dict[int, int] = field(default_factory=dict)
    notes: dict[int, int] = field(default_factory=dict)
    last: int = 0


def shown(proposal: Mapping[str, Any], found: Found, language: Language) -> Shown:
    """A proposal as text."""
    view = Shown()
    says = _Saying(language)
    lines = [says(_HEAD, name=NAMES[found.format], source=found.name)]
    lines += _pages(proposal["pages"], says)
    lines += _entries(proposal["entries"], view, says)
    lines += _notes(proposal["notes"], view, says)
    lines += _standing(proposal, says)
    lines += _left_out(proposal, says)
    view.text = printable("\n".join(lines))
    return view


def numbers_in(text: str, last: int) -> frozenset[int]:
    """The numbers that `3 5-7` means, as far as there are such; empty for any other text."""
    found: set[int] = set()
    for piece in re.split(r"[\s,，、;；]+", text.strip()):
        match = re.fullmatch(r"(\d{1,6})(?:[-~～](\d{1,6}))?", piece)
        if match is None:
            return frozenset()
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(number for number in found if 1 <= number <= last)


@dataclass(frozen=True, slots=True)
class _Saying:
    language: Language

    def __call__(self, words: Words, **fields: object) -> str:
        return words.say(self.language).format(**fields)


# What would be written


def _pages(pages: Sequence[Mapping[str, Any]], says: _Saying) -> Iterator[str]:
    if not pages:
        return
    yield ""
    yield says(_RESTORED, count=len(pages))
    for page in pages:
        yield says(_PAGE, path=page["path"], title=page["title"], count=page["entries"])
        yield from (f"    📌 {text}" for text in page["pinned"])
        yield from (f"    👁 {says(_WIDER[text.partition(' ')[0]])} {text.partition(' ')[2]}" for text in page["wider"])


def _entries(entries: Sequence[Mapping[str, Any]], view: Shown, says: _Saying) -> Iterator[str]:
    wanted = [one for one in entries if one["outcome"] in _WRITING]
    if not wanted:
        return
    yield ""
    yield says(_ENTRIES, count=len(wanted))
    for path in dict.fromkeys(one["path"] for one in wanted):
        here = [one for one in wanted if one["path"] == path]
        yield says(_ON_PAGE, title=here[0]["title"] or path, path=path)
        for one in sorted(here, key=lambda one: one["outcome"] == "past"):
            view.last += 1
            view.entries[view.last] = one["n"]
            yield f"  {view.last:>4}  {_entry(one, says)}"


def _entry(one: Mapping[str, Any], says: _Saying) -> str:
    told = [says(_HISTORY, text=one["text"]) if one["outcome"] == "past" else one["text"]]
    if one["outcome"] == "ends":
        told = [says(_ENDS, text=" ".join(one["against"]))]
    elif one["outcome"] == "replaces":
        told.append(says(_REPLACES, text="、".join(one["against"])))
    elif one["like"]:
        told.append(says(_LIKE, text=one["like"]))
    return "  · ".join([*told, _when(one["date"], says), _place(one)])


def _notes(notes: Sequence[Mapping[str, Any]], view: Shown, says: _Saying) -> Iterator[str]:
    wanted = [one for one in notes if one["outcome"] in ("new", "grows")]
    if not wanted:
        return
    yield ""
    yield says(_NOTES, count=len(wanted))
    for one in wanted:
        view.last += 1
        view.notes[view.last] = one["n"]
        size = says(_GROWS if one["outcome"] == "grows" else _SIZE, count=f"{one['characters']:,}")
        yield f"  {view.last:>4}  {one['title']}  · {size}  · {one['file']}"


# What would not


def _standing(proposal: Mapping[str, Any], says: _Saying) -> Iterator[str]:
    known = [one["text"] for one in proposal["entries"] if one["outcome"] == "same"]
    notes = [one["title"] for one in proposal["notes"] if one["outcome"] == "same"]
    if known or notes:
        yield ""
        yield says(_KNOWN, entries=len(known), notes=len(notes))
        yield from _first((f"        {text}" for text in (*known, *notes)), says)
    unsure = [one for one in proposal["entries"] if one["outcome"] in ("undecided", "unwritable")]
    if unsure:
        yield ""
        yield says(_UNSURE, count=len(unsure))
        for one in unsure:
            why = _UNWRITABLE if one["outcome"] == "unwritable" else _AGAINST if one["against"] else _TAKEN_BACK
            yield f"        {one['text']}  · {says(why, text='、'.join(one['against']))}  · {_place(one)}"


def _left_out(proposal: Mapping[str, Any], says: _Saying) -> Iterator[str]:
    lines: dict[tuple[str, str], list[int]] = {}
    counts: dict[tuple[str, str], int] = {}
    too_long = [one["file"] for one in proposal["notes"] if one["outcome"] == "long"]
    more = [{"reason": "long", "file": file, "line": 0, "count": 1} for file in too_long]
    for one in (*proposal["left_out"], *more):
        key = one["reason"], one["file"]
        counts[key] = counts.get(key, 0) + one["count"]
        lines.setdefault(key, []).extend([one["line"]] if one["line"] else [])
    if not counts:
        return
    yield ""
    yield says(_LEFT_OUT)
    for (reason, file), count in counts.items():
        where = lines[reason, file]
        listed = ", ".join(map(str, where[:_SOME])) + ("…" if len(where) > _SOME else "")
        at = says(_LINES, lines=listed) if where else says(_TIMES, count=count) if count > 1 else ""
        yield f"        {file}{at}: {says(Reason(reason).words)}"


# Pieces


def _first(lines: Iterable[str], says: _Saying) -> Iterator[str]:
    every = list(lines)
    yield from every[:_SOME]
    if len(every) > _SOME:
        yield f"        {says(_MORE, count=len(every) - _SOME)}"


def _when(days: Sequence[str | None], says: _Saying) -> str:
    first, last = days
    if first is None:
        return says(_BY_THEN, day=last)
    if first == last:
        return first
    begin, end = date.fromisoformat(first), date.fromisoformat(last or first)
    if (begin.month, begin.day, end.month, end.day) == (1, 1, 12, 31) and begin.year == end.year:
        return f"{begin.year}"
    if begin.day == 1 and (begin.year, begin.month) == (end.year, end.month) and end.day >= 28:
        return f"{begin:%Y-%m}"
    return f"{first}~{last}"


def _place(one: Mapping[str, Any]) -> str:
    return f"{one['file']}:{one['line']}" if one["line"] else str(one["file"])


_WRITING = ("new", "replaces", "past", "ends")
_HEAD = Words("从 {name} 读到的（{source}）：", "Read from {name} ({source}):")
_RESTORED = Words(
    "原样放回 {count} 页（这里还没有这些记忆；置顶和谁能看照原来的）：",
    "Put back as they were, with pins and who may see them; there is no such memory here yet ({count}):",
)
_PAGE = Words("  {path}  {title}  {count} 条", "  {path}  {title}  (entries: {count})")
_WIDER = {
    "own": Words("我在哪都能用", "wherever I am"),
    "public": Words("公开", "public"),
    "all": Words("全局", "for all"),
    "group": Words("群里的", "of the group"),
}
_ENTRIES = Words("记成 {count} 条，只有你自己看得到：", "Becomes memory, seen by you alone ({count}):")
_ON_PAGE = Words("  {title}（{path}）", "  {title} ({path})")
_HISTORY = Words("[历史] {text}", "[history] {text}")
_ENDS = Words("不再是：{text}", "no longer: {text}")
_REPLACES = Words("代替 {text}", "instead of {text}")
_LIKE = Words("像 {text}", "much like {text}")
_NOTES = Words(
    "放进笔记 {count} 篇（是材料，不当成你说的）：", "Becomes notes: material, not taken for your words ({count}):"
)
_SIZE = Words("{count} 字", "{count} characters")
_GROWS = Words("加 {count} 字", "{count} characters more")
_KNOWN = Words(
    "已经有了，不动（{entries} 条、{notes} 篇笔记）：",
    "Known already, stays as it is (entries: {entries}, notes: {notes}):",
)
_MORE = Words("……还有 {count} 处", "… and {count} more")
_UNSURE = Words("没有带进来，要你自己定的 {count} 条：", "Not taken, for you to decide ({count}):")
_AGAINST = Words(
    "和 {text} 不一样，没有日期，分不出哪个新", "differs from {text}, and has no date to tell which is newer"
)
_TAKEN_BACK = Words("以前记过，后来去掉了", "it was known once and taken back")
_UNWRITABLE = Words("要写的那一页读不了", "the page that it belongs on cannot be read")
_LEFT_OUT = Words("没有带进来：", "Left out:")
_LINES = Words(" 第 {lines} 行", " line {lines}")
_TIMES = Words("（{count} 处）", " ({count})")
_BY_THEN = Words("最晚 {day}", "by {day}")
