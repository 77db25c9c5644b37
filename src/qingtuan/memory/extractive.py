"""A summary without a model: the sentences of people that say most, as they were said. Pure.

For a model that is too small to write one: it would copy, and lose a negation on the way (facts on small models).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from qingtuan.clock import day_of
from qingtuan.language import Language, Words
from qingtuan.memory.compressing import Line, clipped

CHARS = 400
"""Of one summary, about."""

_SENTENCE = re.compile(r"[^。！？!?；;]+[。！？!?；;]*|[。！？!?；;]+")
_SIGNALS = (
    # decisions and corrections
    re.compile(
        r"决定|定了|就定|改成|改为|改到|改在|换成|取消|纠正|更正|说错|不对|应该是|其实|而不是|选|同意|确认"
        r"|\b(?:decid\w+|agreed?|cancel\w*|instead|change\w* to|correction|actually|confirm\w*|chose|choose)\b",
        re.IGNORECASE,
    ),
    # wishes that last, and what is ruled out
    re.compile(
        r"以后|每次|每天|每周|一直|总是|都要|必须|一定|不要|别|不能|不用|不吃|不喝|不坐|记住|记得"
        r"|\b(?:always|never|every|from now on|must|don't|do not|cannot|remember)\b",
        re.IGNORECASE,
    ),
    # tasks and what is open
    re.compile(
        r"计划|打算|准备|安排|负责|截止|之前|还没|没做|待办|任务|项目|预约|会议|考试|出差|提醒|要交|要去|要做"
        r"|\b(?:plan\w*|deadline|due|project|task|todo|meeting|exam|trip|remind\w*|need to|have to|by \w{3,6}day)\b",
        re.IGNORECASE,
    ),
    # what can be looked up later: numbers, days, names in Latin letters
    re.compile(r"\d|[周星期礼拜][一二三四五六日天]|明天|后天|下周|下个?月|[A-Z][A-Za-z]{2,}"),
)
_QUESTION = re.compile(r"[?？]\s*$|[吗呢]\s*[。.]?\s*$")
_LONGEST = 120
_SHORTEST = 4
_NOTHING = Words("- 闲聊，没有要留的事。", "- Small talk; nothing to keep.")


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: int
    score: float
    text: str


def extract(read: Sequence[Line], zone: tzinfo, language: Language) -> str:
    """A summary of these lines: points in the order of the conversation, with speaker and day."""
    found: list[_Candidate] = []
    for line in read:
        if line.voice == "assistant":
            continue
        pieces = [line.text] if line.voice == "system" else _SENTENCE.findall(line.text)
        for piece in pieces:
            score = 2.0 if line.voice == "system" else _score(piece)
            if score > 0:
                day = day_of(line.time, zone).isoformat()
                text = f"- [{line.speaker} {day}] {clipped(piece.strip(), _LONGEST)}"
                found.append(_Candidate(len(found), score, text))
    return _picked(found, language)


def roll_up(texts: Iterable[str], language: Language) -> str:
    """One summary of several, in points."""
    points = [point for text in texts for point in text.splitlines() if point.strip() != _NOTHING.say(language)]
    # The newest of them are the nearest to what is being talked about.
    found = [
        _Candidate(place, _score(point.partition("]")[2] or point) + place / len(points), point)
        for place, point in enumerate(points)
    ]
    return _picked(found, language)


def _score(sentence: str) -> float:
    text = sentence.strip()
    if len(text) < _SHORTEST or _QUESTION.search(text):
        return 0.0
    return float(sum(bool(signal.search(text)) for signal in _SIGNALS))


def _picked(found: Sequence[_Candidate], language: Language) -> str:
    chosen: list[_Candidate] = []
    texts: set[str] = set()
    room = CHARS
    for candidate in sorted(found, key=lambda one: (-one.score, -one.place)):
        if len(candidate.text) < room and candidate.text not in texts:
            chosen.append(candidate)
            texts.add(candidate.text)
            room -= len(candidate.text) + 1
    chosen.sort(key=lambda one: one.place)
    return "\n".join(one.text for one in chosen) or _NOTHING.say(language)
