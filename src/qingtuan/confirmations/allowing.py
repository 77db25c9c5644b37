"""The words of `/allow`: what a person may write, what it means for a tool, and how it is said back. Pure.

    /allow                                            lists
    /allow book_seat seat=二楼* date=* start=09:00 7d  gives one; or `any` for all that is not named
    /allow revoke 3                                   takes one back

A value with spaces stands in quotation marks, and what stands in them is never one of the command's own words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches

from qingtuan.confirmations import visible
from qingtuan.confirmations.standing import Pattern
from qingtuan.errors import UsageWrong
from qingtuan.identity.redaction import mask
from qingtuan.identity.trust import Risk
from qingtuan.language import Language, Words
from qingtuan.tools.tool import Tool, wire_name

DEFAULT = timedelta(days=30)
LONGEST = timedelta(days=365)
MAX_PATTERN = 200
"""Characters of one pattern: what a person can still read over."""
ANYTHING = "*"

_NAMES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Listing:
    """Which ones stand?"""


@dataclass(frozen=True, slots=True)
class Revoking:
    """Take one back."""

    number: int


@dataclass(frozen=True, slots=True)
class Giving:
    """Allow calls of a tool."""

    tool: str
    patterns: Pattern = ()
    rest: bool = False
    """Whether whatever is not named may be anything."""
    lasts: timedelta = DEFAULT


Asked = Listing | Revoking | Giving


# Reading


@dataclass(frozen=True, slots=True)
class _Token:
    name: str | None
    """What stands before the `=`."""
    text: str
    quoted: bool

    @property
    def word(self) -> str:
        """The token as a word of the command; empty if it can be none."""
        if self.quoted or self.name is not None:
            return ""
        return unicodedata.normalize("NFKC", self.text).casefold()


_TOKEN = re.compile(
    r"""(?P<named>(?P<name>[^\s=＝"'「“]+)[=＝])?"""
    r"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|「(?P<corner>[^」]*)」|“(?P<curly>[^”]*)”"""
    r"""|(?P<bare>(?(named)(?:[^\s"'「“]\S*)?|[^\s"'「“=＝][^\s=＝]*)))(?:\s+|\Z)"""
)
_QUOTED = ("double", "single", "corner", "curly")
_REVOKE = frozenset({"撤销", "取消", "删除", "revoke", "delete", "remove"})
_REST = frozenset({"其余任意", "其他任意", "any"})
_DAYS = re.compile(r"([0-9]{1,6})(?:天|日|d|days?)")
_NUMBER = re.compile(r"#?([0-9]{1,9})")


def read(text: str) -> Asked:
    """What the words behind `/allow` ask for.

    Raises:
        UsageWrong: they cannot be understood; the sentence says what is wrong.
    """
    tokens = list(_tokens(text))
    if not tokens:
        return Listing()
    if tokens[0].word in _REVOKE:
        return _revoking(tokens[1:])
    return _giving(tokens)


def _tokens(text: str) -> Iterator[_Token]:
    text, place = text.strip(), 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise UsageWrong(_QUOTES)
        bare: str | None = found["bare"]
        if bare == "":
            raise UsageWrong(_filled(_NO_VALUE, name=found["name"]))
        quoted = next((found[kind] for kind in _QUOTED if found[kind] is not None), "")
        yield _Token(found["name"], quoted if bare is None else bare, bare is None)
        place = found.end()


def _revoking(tokens: list[_Token]) -> Revoking:
    found = _NUMBER.fullmatch(tokens[0].word) if len(tokens) == 1 else None
    if found is None:
        raise UsageWrong(_REVOKE_WHICH)
    return Revoking(int(found[1]))


def _giving(tokens: list[_Token]) -> Giving:
    tool, *others = tokens
    if tool.name is not None or not tool.text:
        raise UsageWrong(_TOOL_FIRST)
    patterns: dict[str, str] = {}
    rest, lasts = False, None
    for token in others:
        if token.name is not None:
            if token.name in patterns:
                raise UsageWrong(_filled(_TWICE, name=token.name))
            if len(token.text) > MAX_PATTERN:
                raise UsageWrong(_filled(_TOO_LONG, name=token.name))
            patterns[token.name] = token.text
        elif token.word in _REST:
            rest = True
        elif (found := _DAYS.fullmatch(token.word)) and lasts is None:
            lasts = _lasting(int(found[1]))
        else:
            raise UsageWrong(_filled(_NOT_UNDERSTOOD, word=token.text))
    return Giving(tool.text, tuple(patterns.items()), rest, DEFAULT if lasts is None else lasts)


def _lasting(days: int) -> timedelta:
    if not 1 <= days <= LONGEST.days:
        raise UsageWrong(_HOW_LONG)
    return timedelta(days=days)


# What it means for a tool


def check_risk(tool: Tool) -> None:
    """Raises `UsageWrong` for a tool that needs no standing yes, or can have none."""
    if (words := _NO_STANDING.get(tool.risk)) is not None:
        raise UsageWrong(_filled(words, tool=wire_name(tool.name)))


def pattern_for(giving: Giving, tool: Tool) -> Pattern:
    """The pattern of a standing yes, in the order of the tool's parameters.

    Raises:
        UsageWrong: a name is none of its parameters, or one that every call has is left open.
    """
    parameters = list(tool.parameters.get("properties", {}))
    patterns = dict(giving.patterns)
    for name in patterns:
        if name not in parameters:
            raise UsageWrong(_no_parameter(name, tool, parameters))
    if giving.rest:
        patterns |= {name: ANYTHING for name in parameters if name not in patterns}
    missing = [name for name in tool.parameters.get("required", ()) if name not in patterns]
    if missing:
        name, shown = wire_name(tool.name), list(map(_short, missing[:_NAMES_SHOWN]))
        zh, en = "、".join(shown), ", ".join(shown)
        raise UsageWrong(Words(_LEFT_OPEN.zh.format(tool=name, names=zh), _LEFT_OPEN.en.format(tool=name, names=en)))
    return tuple((name, patterns[name]) for name in parameters if name in patterns)


def near(name: str, names: Collection[str]) -> UsageWrong:
    """The error for a name that no tool has, with the names that come near it."""
    found = get_close_matches(name[:64], list(map(wire_name, names)), n=3, cutoff=0.4)
    if not found:
        return UsageWrong(_filled(_NO_TOOL, name=name))
    zh, en = "、".join(found), ", ".join(found)
    shown = _short(name)
    return UsageWrong(Words(_NEAR.zh.format(name=shown, near=zh), _NEAR.en.format(name=shown, near=en)))


def _no_parameter(name: str, tool: Tool, parameters: list[str]) -> Words:
    if not parameters:
        return _filled(_NO_PARAMETERS, tool=wire_name(tool.name))
    close = get_close_matches(name[:64], parameters, n=3, cutoff=0.5)
    listed = [*close, *(other for other in parameters if other not in close)]
    called, shown, near = wire_name(tool.name), _short(name), list(map(_short, listed[:_NAMES_SHOWN]))
    return Words(
        _NO_PARAMETER.zh.format(tool=called, name=shown, names="、".join(near)),
        _NO_PARAMETER.en.format(tool=called, name=shown, names=", ".join(near)),
    )


# Saying it back


def conditions(pattern: Pattern, language: Language, *, hidden: Collection[str] = ()) -> list[str]:
    """What a call must be like, in plain words: one for each argument that is bound, one for all that are not.
    Values of the `hidden` arguments are not printed."""
    colon, comma = Words("：", ": ").say(language), Words("、", ", ").say(language)
    free = [visible.shown_name(name, language) for name, wanted in pattern if wanted == ANYTHING]
    said = [
        f"{visible.shown_name(name, language)}{colon}{_wanted(wanted, language, hidden=name in hidden)}"
        for name, wanted in pattern
        if wanted != ANYTHING
    ]
    if free:
        said.append(f"{comma.join(free)}{colon}{_ANYTHING.say(language)}")
    return said or [_NO_ARGUMENTS.say(language)]


def _wanted(pattern: str, language: Language, *, hidden: bool) -> str:
    if hidden:
        return _HIDDEN.say(language)
    if not pattern:
        return _EMPTY.say(language)
    shown = visible.shown(mask(pattern, keep_phone=True, language=language).text, language)
    marks = [words.say(language) for mark, words in _MARKS.items() if mark in pattern]
    if not marks:
        return _EXACTLY.say(language).format(value=shown)
    return _LIKE.say(language).format(value=shown, marks=Words("，", ", ").say(language).join(marks))


def _filled(words: Words, **values: str) -> Words:
    short = {name: _short(value) for name, value in values.items()}
    return words.filled(**short)


def _short(text: str) -> str:
    """What somebody wrote, fit to be said back within a sentence."""
    plain = visible.escaped(text)
    return plain if len(plain) <= 64 else f"{plain[:63]}…"


USAGE = Words("用法：/授权 工具 参数=值 … [其余任意] [30天]", "Usage: /allow TOOL ARGUMENT=VALUE … [any] [30d]")
_TOOL_FIRST = Words(f"先写是哪个工具。{USAGE.zh}", f"The tool comes first. {USAGE.en}")
_NOT_UNDERSTOOD = Words(f"看不懂「{{word}}」。{USAGE.zh}", f"“{{word}}” cannot be understood. {USAGE.en}")
_QUOTES = Words("引号没有配对，或者引号后面没有空一格。", "A quotation mark has no partner, or no space after it.")
_NO_VALUE = Words(
    '「{name}=」后面没有值。什么都行就写 *；要正好是空的，写 ""。',
    'There is no value behind “{name}=”. For anything, write *; for nothing at all, "".',
)
_TWICE = Words("{name} 写了两次。", "{name} stands there twice.")
_TOO_LONG = Words(
    f"{{name}} 太长了，最多 {MAX_PATTERN} 字。", f"{{name}} is too long: at most {MAX_PATTERN} characters."
)
_HOW_LONG = Words(f"期限是 1 到 {LONGEST.days} 天。", f"It lasts from 1 to {LONGEST.days} days.")
_REVOKE_WHICH = Words("撤销哪一条？例如 /授权 撤销 3", "Revoke which one? For example /allow revoke 3")
_NO_STANDING = {
    Risk.READ: Words("{tool} 不用授权：它只是查东西。", "{tool} needs none: it only looks things up."),
    Risk.WRITE: Words(
        "{tool} 不用授权：它只改我自己记的东西，/undo 能撤销。",
        "{tool} needs none: it only changes my own notes, and /undo takes it back.",
    ),
    Risk.CRITICAL: Words(
        "{tool} 不能提前授权：这样的事每次都要你看过，再输代码。",
        "{tool} cannot be allowed ahead: each time you must read what it does and type the code.",
    ),
}
_NO_TOOL = Words("没有 {name} 这个工具。/工具 看有哪些。", "There is no tool {name}. /tools lists them.")
_NEAR = Words("没有 {name} 这个工具。相近的有：{near}", "There is no tool {name}. Near it: {near}")
_NO_PARAMETER = Words("{tool} 没有 {name} 这个参数。有：{names}", "{tool} has no parameter {name}. It has: {names}")
_NO_PARAMETERS = Words("{tool} 没有参数。", "{tool} has no parameters.")
_LEFT_OPEN = Words(
    "{tool} 还要 {names}，没说可以是什么。一个个写上，或者加上「其余任意」。",
    "{tool} also takes {names}, and it was not said which. Name them, or add “any”.",
)
_ANYTHING = Words("随便什么", "anything")
_NO_ARGUMENTS = Words("不带参数", "no arguments")
_EXACTLY = Words("正好是{value}", "exactly {value}")
_LIKE = Words("像{value}（{marks}）", "like {value} ({marks})")
_EMPTY = Words("空的", "empty")
_HIDDEN = Words("[不显示]", "[not shown]")
_MARKS = {
    "*": Words("* 是任意一串字", "* is any text"),
    "?": Words("? 是任意一个字", "? is any one character"),
    "[": Words("[ ] 是其中一个字", "[ ] is one of these characters"),
}
