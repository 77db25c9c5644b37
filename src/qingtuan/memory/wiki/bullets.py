"""What the lines of a bullet say: its text, its number, and in history the days at its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from qingtuan.language import Language
from qingtuan.memory.wiki.days import DAY, first_of, last_of

CHINESE = re.compile("[\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")

_SPACES = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"(?:^|\s)\^([1-9][0-9]{0,8})$")
_UNKNOWN = "[?？]"
_TO = r"\s*(?:[~～至到→]|[-–—]{1,2}|to\b|until\b)\s*"
_BOTH = rf"(?P<since>{DAY}|{_UNKNOWN}){_TO}(?P<until>{DAY}|{_UNKNOWN})(?:\s*为?止)?"
_LAST = rf"(?:(?:直?到|至|until|till|[~～])\s*)(?P<until>{DAY})(?:\s*(?:为?止|[之以]?前))?"
_BEFORE = rf"(?P<until>{DAY})\s*(?:为?止|[之以]?前)"
_ONCE = rf"(?P<day>(?!\d{{4}}(?!\d|[-/.年])){DAY})"
"""One day or month. A year alone begins too many titles."""
_COLON = r"\s*[:：]\s*"
_OPEN, _CLOSE = r"[(（\[【]\s*", r"\s*[)）\]】]"
_STATEMENT = r"(?P<statement>\S.*)"
_SPELLINGS = (
    *(
        spelling
        for days in (_BOTH, _LAST, _BEFORE)
        for spelling in (
            rf"{days}{_COLON}{_STATEMENT}",
            rf"{_OPEN}{days}{_CLOSE}(?:{_COLON})?\s*{_STATEMENT}",
            rf"(?P<statement>\S.*?)\s*{_OPEN}{days}{_CLOSE}",
        )
    ),
    rf"{_BOTH}\s+{_STATEMENT}",
    rf"(?:until|till)\s+(?P<until>{DAY})\s+{_STATEMENT}",
    rf"(?:直?到\s*)?(?P<until>{DAY})\s*为?止\s+{_STATEMENT}",
    rf"{_ONCE}{_COLON}{_STATEMENT}",
    rf"{_OPEN}{_ONCE}{_CLOSE}{_COLON}{_STATEMENT}",
)
_INTERVALS = tuple(re.compile(spelling, re.IGNORECASE) for spelling in _SPELLINGS)
"""The days of something that is over and what it was, as people write it; our own way is the first."""
_PLANNED = re.compile(
    rf"(?P<until>{DAY})[:：] ?(?:曾打算从|planned from) ?(?P<since>{DAY}) ?(?:起|on)[:：] ?(?P<statement>\S.*)"
)
_FORMERLY = re.compile(r"曾认为|曾(?!经)|was:\s*", re.IGNORECASE)
_SOMEBODY = re.compile("我|你|他|她|它|咱|大家|用户|主人|本人|自己")


@dataclass(frozen=True, slots=True)
class Own:
    """The own text of a bullet."""

    text: str
    """On one line, without number, comments and runs of white space."""
    raw: str
    """On one line, without the number, with the comments."""
    number: int | None
    at: int
    """Which of the lines holds the number, or would."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A line of history taken apart. Days are inclusive; None where the line says `?` or names none. A plan that was
    dropped began after it ended."""

    since: date | None
    until: date | None
    statement: str


def read_own(texts: Sequence[str], prefix: int) -> Own:
    """What a bullet of these lines says; the first `prefix` characters of the first line are its mark.

    The number stands at the end of the last line, where editors put it, or of the first (somebody wrote on).
    """
    bodies, tails = [texts[0][prefix:], *texts[1:]], [""] * len(texts)
    number, at = None, len(bodies) - 1
    for index in dict.fromkeys((at, 0)):
        body, found, tail = split_number(bodies[index])
        if found is not None:
            number, at, bodies[index], tails[index] = found, index, body, tail
            break
    return Own(
        text=_SPACES.sub(" ", _glued(_without_comments(body) for body in bodies)),
        raw=_glued(body + tail for body, tail in zip(bodies, tails, strict=True)),
        number=number,
        at=at,
    )


def _glued(bodies: Iterable[str]) -> str:
    """The pieces on one line; between Chinese characters a line end is no space."""
    text = ""
    for piece in filter(None, (body.strip() for body in bodies)):
        close = not text or (CHINESE.match(text[-1]) and CHINESE.match(piece[0]))
        text += piece if close else f" {piece}"
    return text


def split_number(text: str) -> tuple[str, int | None, str]:
    """`text` before its ` ^n`, the number, and the comments after it; the whole text and None if it has none."""
    head = text.rstrip()
    while head.endswith("-->") and (at := head.rfind("<!--")) >= 0:
        head = head[:at].rstrip()
    found = _NUMBER.search(head)
    if not found:
        return text.rstrip(), None, ""
    return head[: found.start()], int(found[1]), text[len(head) :]


def with_number(text: str, number: int) -> str:
    """The last line of a bullet with this number, instead of the one it has."""
    body, _, tail = split_number(text)
    return f"{body} ^{number}{tail}"


def interval_of(text: str) -> Interval | None:
    """The days and the statement of a line of history; None for a line of another form or with days that are none."""
    if found := _PLANNED.fullmatch(text):
        return _interval(found["since"], found["until"], found["statement"])
    for pattern in _INTERVALS:
        if (found := pattern.fullmatch(text)) is None:
            continue
        days = found.groupdict()
        since, until = (days["day"],) * 2 if "day" in days else (days.get("since", "?"), days["until"])
        if interval := _interval(since, until, found["statement"]):
            return interval
    return None


def _interval(since: str, until: str, statement: str) -> Interval | None:
    first, last = (None if text in "?？" else read(text) for text, read in ((since, first_of), (until, last_of)))
    if (first is None and since not in "?？") or (last is None and until not in "?？"):
        return None
    former = _FORMERLY.match(statement)
    bare = statement[former.end() :] if former else statement
    return Interval(first, last, bare) if bare else None


def past_label(since: date | None, until: date, statement: str, language: Language) -> str:
    """What stands before a statement that was believed from `since` until `until`.

    `2026-06-20~2026-06-23：曾` and the statement. A first day after the last is that of a plan, and the last the one on
    which it was dropped: then it was never so.
    """
    if since and since > until:
        return f"{until}：曾打算从 {since} 起：" if language == "zh" else f"{until}: planned from {since} on: "
    days = f"{since or '?'}~{until}"
    if language == "en":
        return f"{days}: was: "
    if statement.startswith("曾"):
        return f"{days}："
    return f"{days}：{'曾认为' if _SOMEBODY.match(statement) else '曾'}"


def reason_note(reason: str, language: Language) -> str:
    """The reason of a retraction as it stands after the statement; nothing for no reason."""
    if not reason:
        return ""
    return f" ({reason})" if language == "en" else f"（{reason}）"


def _without_comments(text: str) -> str:
    while (start := text.find("<!--")) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        text = text[:start] + text[end + 3 :]
    return text
