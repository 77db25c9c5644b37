"""Sentences of the small model, put in order by code: asking it for more makes them worse."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["profile", "preference", "rule"]

_PROFILE = re.compile(
    r"(?:^|[，。！\s])(?:我|本人)(?:叫|是|姓|今年|住|家在|来自|属|的(?:名字|生日|专业|工作|职业|学校))"
    r"|\bmy (?:name|birthday|job|major) is\b|\bI(?:'m| am) (?:a|an|from)\b|\bI live\b|\bcall me\b",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"(?:以后|每次|从现在起|从今往后)[^，。]{0,12}(?:别|不要|请|要先|必须|记得|叫我|回复|提醒)"
    r"|(?:回复|回答|说话)[^，。]{0,8}(?:简短|简洁|用中文|用英文)"
    r"|\b(?:always|never|from now on)\b.{0,20}\b(?:ask|answer|reply|call|remind|tell)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"优先|偏好|喜欢|更爱|最爱|讨厌|不喜欢|不爱|忌口|不吃|不喝|习惯|宁愿|倾向|受不了|过敏"
    r"|\bprefer|\blikes?\b|\bloves?\b|\bhates?\b|\bfavou?rite\b|\bdislikes?\b|\bwould rather\b|\ballergic\b",
    re.IGNORECASE,
)


def kind_of(words: str) -> Kind | None:
    """The kind of what `words` tell of the speaker; None leaves it to whoever stores it."""
    if _PREFERENCE.search(words):
        return "preference"
    if _RULE.search(words):
        return "rule"
    return "profile" if _PROFILE.search(words) else None


_SUBJECT = re.compile(r"(?:用户说?我?|我(?![们的和]))(?=\S{2,})|(?:the user|user|I)\s+(?=\S)", re.IGNORECASE)


def about_the_speaker(content: str, words: str) -> str:
    """`content` without the name of the speaker that it begins with: a note about them needs none. What the speaker
    themselves said with such a beginning (用户研究小组) stays."""
    begins = _SUBJECT.match(content)
    own = content.startswith("用户") and content[:4] in words
    return content if begins is None or own else content[begins.end() :]


_ECHO = 4
"""Characters in a row that a reply has from the question: then its 我 is the speaker's."""


def addressed(reply: str, words: str) -> str:
    """`reply` with 你 for the 我 that it begins with, where it only repeats how the speaker began: asked 我喜欢坐哪里,
    the small model answers 我喜欢坐…"""
    echo = len(reply) >= _ECHO and reply[0] == "我" and reply[:_ECHO] == words[:_ECHO]
    return f"你{reply[1:]}" if echo else reply
