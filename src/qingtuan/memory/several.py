"""Whether a statement stands beside what is known of the same, or takes its place. Pure.

Two allergies are both so. No model decides: it is read off what the statement is about, and off the person's own
words (我还养了一条狗).
"""

from __future__ import annotations

import re
from typing import Literal

from qingtuan.memory.likeness import fold, negated, normalise_value
from qingtuan.memory.statements import spot_of
from qingtuan.memory.topics import Kind

_SEVERAL = re.compile(
    r"(?:食物|药物)?过敏(?:[原源史]|的东西)?|忌口|不吃(?:的(?:东西|食物|菜)?)?|爱好|兴趣(?:爱好)?|特长|技能|宠物|朋友|孩子|子女"
    r"|会(?:说|讲)?的语言|会的乐器|乐器|(?:常去|去过|想去|关注|看过|想看|读过|想读)的\S{1,6}|待办|要办的事"
    r"|(?:food )?allerg(?:y|ies)|hobb(?:y|ies)|interests?|skills?|pets?|friends?|children|kids|languages? spoken"
    r"|dietary restrictions?"
)
"""Questions that have several answers at a time, whatever the names of the pages' own (`many`)."""
_VERBS = "有|养|喜欢|喜爱|爱|会|想|要|吃|喝|玩|学|不吃|不喝|不喜欢|对|买|去|懂|讨厌|怕|常|带"
_BESIDE = re.compile(
    rf"(?:还|也|又)(?:{_VERBS})|另外|除了[^，。]{{1,12}}(?:还|也|都)"
    r"|\b(?:also|as well|another|in addition)\b|\btoo\b\s*[.!。]?\s*$",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"改(?:到|成|为|在|期|时间|主意)|换(?:成|到|了)|变成|推迟|提前|挪到|延到|延期|取消|不去了|说错|记错|更正|纠正|不再|其实是"
    r"|\b(?:instead|moved to|rescheduled|changed to|cancell?ed|correction|no longer|actually)\b",
    re.IGNORECASE,
)


Stands = Literal["", "beside", "instead"]
"""How a statement stands to what is known of the same: as such things do, beside it, or in its place."""


def stands(kind: Kind, predicate: str, words: str) -> Stands:
    """How a statement of this kind, about this, said in these words of the person, stands to what is known of the same.
    What is dated leaves other dates in force, unless it was moved."""
    if _INSTEAD.search(words):
        return "instead"
    several = kind in ("event", "task") or _SEVERAL.fullmatch(fold(predicate)) is not None
    return "beside" if several or _BESIDE.search(words) else ""


def clause_of(words: str, part: str) -> str:
    """The clause of what somebody said in which a part of it stands; empty if it stands nowhere as it is."""
    start = words.find(part) if part else -1
    return spot_of(words, start, start + len(part)).clause if start >= 0 else ""


_STANCE = re.compile(
    r"不|没|别|无|勿|未|再|了|的|很|太|也|都|还|就|会|能|喜欢|喜爱|爱|讨厌|拒绝|停止|想|要|吃|喝|现在|以后|并|是"
)


def opposed(one: str, other: str) -> bool:
    """Whether two values of one thing say yes and no to the same: 吃香菜 and 不吃香菜, 喜欢川菜 and 讨厌川菜."""
    if negated(one) == negated(other):
        return False
    mine, theirs = (_STANCE.sub("", normalise_value(text)) for text in (one, other))
    return bool(mine) and mine == theirs
