"""When two ways to say something are one: subjects, predicates, values and whole sentences made comparable.

Only what cannot change a meaning is folded away. Negation and numbers always stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from qingtuan.memory.wiki.bullets import CHINESE
from qingtuan.memory.wiki.one_line import flat
from qingtuan.memory.wiki.page import Page

SELF = "我"
"""The subject of what a person says about themselves, in any language and wording."""

_SELVES = frozenset(
    {"", "我", "自己", "我自己", "本人", "用户", "主人", "使用者"}
    | {"i", "me", "my", "myself", "self", "user", "the user", "owner", "the owner", "speaker"}
)
_QUOTES = "\"'`“”‘’「」『』《》〈〉"
_STOPS = "。.！!？?，,、；;：:…·"
_BEFORE = _QUOTES + "。，、；：！…·"
"""Stripped at the beginning: not `.` or `-`, which may belong to a number."""
_AFTER = _QUOTES + _STOPS
_SPACE = re.compile(r"\s+")
_I_BEFORE = re.compile(r"(?:我自己|本人|我|用户|i am|i'm|i|the user)(?![们的a-z0-9])\s*")
_NEGATION = re.compile(
    r"不|没|别(?![人的])|无(?!论)|勿|非(?!常)|未(?!来)|讨厌|拒绝|停止|n't|\b(?:not|no|never|without|stop|avoid|dislikes?|hates?)\b"
)
_NO_NEGATION = re.compile(
    r"(?:别|不要|不能|不会|没|没有)忘(?:了|记)?|不好意思|对不起|不过|不但|不仅|不只|不光|不管|不论|不得不|不用说|没错|没事"
    r"|没关系|没想到"
    r"|差不多|不久|不同|不错|不少|不断|不停|不时|不然|要不|[是好行对能会要]不[是好行对能会要]|好不容易|不一会儿?|从不久"
    r"|\b(?:do not|don't|never) forget\b|\bnot only\b|\bno (?:problem|doubt|wonder|matter|worries)\b|\bcan't wait\b"
    r"|\bwhy not\b"
)
_ALIAS_LINE = re.compile(r"(?P<name>[^:：]+)[:：](?P<aliases>.+)")
_ALIAS_BREAK = re.compile(r"[,，、;；]")


def fold(text: str) -> str:
    """`text` for comparing names: NFKC, without case, without white space except between words that need it."""
    text = unicodedata.normalize("NFKC", flat(text)).casefold()
    if " " not in text and text.isprintable():
        return text
    words = _SPACE.sub(" ", text).strip().split(" ")
    folded = words[0]
    for word in words[1:]:
        tight = not folded or CHINESE.match(folded[-1]) or CHINESE.match(word[0])
        folded += word if tight else f" {word}"
    return folded


def normalise_value(text: str) -> str:
    """A value for comparing: folded, without the quotes and sentence marks around it.

    What can be part of a number, a unit or a name stays: `-5`, `.5`, `5%`, `C#`, `C++`, brackets.
    """
    return fold(text).lstrip(_BEFORE + " ").rstrip(_AFTER + " ")


def normalise_text(text: str) -> str:
    """A whole sentence for comparing: as a value, and without the 我, 用户 or `I` that it may begin with."""
    value = normalise_value(text)
    return _I_BEFORE.sub("", value, count=1) if _I_BEFORE.match(value) else value


def normalise_subject(subject: str | None) -> str:
    """Who or what a belief is about, in one spelling; all names of the speaker are `SELF`."""
    if subject is None or fold(subject) in _SELVES:
        return SELF
    return unicodedata.normalize("NFKC", flat(subject))


def canonical_predicate(predicate: str | None, aliases: Mapping[str, str]) -> str | None:
    """The predicate under its canonical name; None for none. `aliases` is what `parse_aliases` gave."""
    if predicate is None or not fold(predicate):
        return None
    return aliases.get(fold(predicate), flat(predicate))


def parse_aliases(page: Page) -> dict[str, str]:
    """The table of aliases from its page: bullets like `- 座位偏好：喜欢坐哪, 常坐位置`, canonical name first.

    Gives folded alias → canonical name. The first mention of an alias counts; other lines are free text.
    """
    table: dict[str, str] = {}
    for text in page.bullets:
        found = _ALIAS_LINE.fullmatch(text)
        if not found:
            continue
        name = flat(found["name"])
        for alias in (name, *_ALIAS_BREAK.split(found["aliases"])):
            if fold(alias):
                table.setdefault(fold(alias), name)
    return table


def negated(text: str) -> bool:
    """Whether `text` says no to something (an even number of negations is a yes)."""
    return len(_NEGATION.findall(fold(text))) % 2 == 1


def negations(text: str) -> int:
    """How often `text` says no; words that look like a no and are none (别忘了, 不好意思, not only) do not count."""
    return len(_NEGATION.findall(_NO_NEGATION.sub(" ", fold(text))))


def contains(text: str, part: str) -> bool:
    """Whether normalised `text` holds normalised `part`; `3楼` is not in `13楼`."""
    if not part:
        return False
    start = text.find(part)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(part) : start + len(part) + 1]
        if not _runs_on(before, part[0]) and not _runs_on(part[-1], after):
            return True
        start = text.find(part, start + 1)
    return False


def _runs_on(left: str, right: str) -> bool:
    """Whether two neighbouring characters are parts of one number or one Latin word."""
    if not left or not right or CHINESE.match(left) or CHINESE.match(right):
        return False
    return (
        (left.isalnum() and right.isalnum()) or (left in ".-" and right.isdigit()) or (left.isdigit() and right == ".")
    )
