"""Which tools the small model is shown: at most five, by what the person's words call for. Pure.

A larger model is given tools and decides. This one calls what it is shown, so it is shown little: no search for a
statement, no note-taking for a question. The words below only choose what is offered; whether a tool is called, and
how, is the model's own decision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from qingtuan.dates import mentions
from qingtuan.models.chat import ToolSpec
from qingtuan.models.embedded.guards import asks, asks_about_self
from qingtuan.models.embedded.wording import pieces, shares_with

MOST = 5
SEARCHES = ("memory_search", "memory_recall")
CORE = ("remember", *SEARCHES, "reminder_create")
"""Told of in the stable part of the prompt, in this order, as far as the request has them."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the choice rests on."""

    words: str
    """What the person said now."""
    earlier: str = ""
    """What they said in the messages before; counts less."""
    context: str = ""
    """Everything else that was said or came back from tools."""
    entries: tuple[str, ...] = ()
    """The memories in the prompt: what they answer needs no search."""
    used: tuple[str, ...] = ()
    """Tools that ran in this turn. They are not offered again, so that a small model cannot go round in circles."""


_TO_WRITE = re.compile(r"记住|记下|记一下|记着|帮我记|remember|note that|keep in mind", re.IGNORECASE)
_TO_RECALL = re.compile(
    r"聊过|说过|提过|讲过|聊了|说了|聊的|说的|上次|之前|以前|最近|记得"
    r"|earlier|yesterday|last (?:time|week)|talked|told you|said",
    re.IGNORECASE,
)
_TO_REMIND = re.compile(r"提醒|闹钟|叫醒|remind|alarm|wake", re.IGNORECASE)
_PERHAPS_REMIND = re.compile(r"叫我|喊我|别忘|记得|don['’]t let me forget", re.IGNORECASE)
"""Words that ask for a reminder only beside a time."""
_TASTE = re.compile(
    r"喜欢|一般|平时|通常|习惯|偏好|最爱|讨厌|过敏|\b(?:prefer|like|usually|favou?rite|hate|allergic)\b", re.IGNORECASE
)
"""A question about oneself with such a word is for memory, whatever else it names."""
_REQUEST = re.compile(
    r"^(?:请|麻烦|能不能|可以|可不可以|快)*(?:(?:帮|给|替|为|让|叫|教|陪|告诉|跟)(?:我|忙)|推荐|讲|写|翻译|介绍|解释|列|查|算|看看|找|约|订|取消|来[个一首段])"
    r"|^(?:please|can you|could you|book|find|tell me|show me|give me|write|translate|explain|recommend)\b",
    re.IGNORECASE,
)
_ID = re.compile(r"[A-Za-z]\w*-?\d|\d{4,}|_\w")

_Table = tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]


def _table(*rows: tuple[str, str]) -> _Table:
    return tuple((re.compile(name), re.compile(words, re.IGNORECASE)) for name, words in rows)


FACTS = ("weather", "calculate", "web_search")
"""Tools that know numbers which the model can only make up."""
_ACTS = _table(
    (
        r"reserve|book",
        r"^(?!.*(?:哪些|几个)).*(?<![的有个些预])(?:预约|预定|预订|占座|订|约)(?![了过])|\b(?:reserve|book)\b",
    ),
    (r"cancel|delete", r"取消|删|退|不要了|\b(?:cancel|delete|remove)"),
    (r"check_in", r"签到|\bcheck (?:me )?in\b"),
    (r"send", r"发给|发送|\bsend\b"),
)
_THINGS = _table(
    (r"seat|area", r"座位|位子|图书馆|自习|空位|\b(?:seat|library|desk)"),
    (r"find|list", r"查|看看|有没有|哪些|空|找|\b(?:free|available|find|which|list)"),
    (r"forget", r"忘掉|忘了|别再记|不用记|\bforget"),
    (r"note", r"笔记|\bnotes?\b"),
    (r"todo", r"待办|清单|做完了|\b(?:to-?do|task)"),
    (r"reminder_(?:list|update|delete)", r"提醒|闹钟|\b(?:reminder|alarm)"),
    (r"watch", r"订阅|关注|盯着|新版本|\b(?:watch|follow|subscribe)"),
    (r"weather", r"天气|下雨|雨|伞|温度|气温|多少度|冷吗|热吗|\b(?:weather|rain|umbrella|temperature)"),
    (r"web_search|search_web", r"网上|搜|查一下|新闻|最新|\b(?:search|google|news)"),
    (r"web_read", r"网页|链接|http|\b(?:page|link|url)"),
    (r"calculate", r"算|等于|[加减乘除+*×÷]|\b(?:calculate|plus|minus|times|divided)\b"),
    (r"send_file", r"文件|\bfile"),
)
"""What people say for what a tool's name says in English."""
_LEAST = 1.0
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a text names a time does not depend on when it is read."""


def choose(tools: Sequence[ToolSpec], situation: Situation) -> tuple[ToolSpec, ...]:
    """At most five of `tools`, the best fitting first.

    Once a tool has run, only what was clearly asked for besides is left: this model goes on calling what it may.
    """
    scored = [
        (_score(tool, situation), -index, tool)
        for index, tool in enumerate(tools)
        if tool.name not in situation.used and _can_name(tool, situation)
        if not situation.used or _plainly_asked(tool, situation.words)
    ]
    ranked = sorted(scored, key=lambda entry: entry[:2], reverse=True)
    return tuple(tool for score, _, tool in ranked if score >= _LEAST)[:MOST]


def act_called_for(tools: Sequence[ToolSpec], words: str) -> ToolSpec | None:
    """The first of `tools` that does what `words` ask to be done outside (约, 取消 …), or None."""
    return next((tool for tool in tools if _hits(_ACTS, tool, words)), None)


def _can_name(tool: ToolSpec, situation: Situation) -> bool:
    """Whether a tool that wants an id can be given one: an id must have been said or found first."""
    wants = any(name == "id" or name.endswith("_id") for name in tool.parameters.get("required", ()))
    return not wants or bool(situation.used or _ID.search(f"{situation.words} {situation.earlier} {situation.context}"))


def _plainly_asked(tool: ToolSpec, words: str) -> bool:
    if tool.name == "remember":
        return bool(_TO_WRITE.search(words))
    return _hits(_ACTS, tool, words) > 0 or (tool.name == "reminder_create" and bool(_TO_REMIND.search(words)))


def _score(tool: ToolSpec, situation: Situation) -> float:
    words = situation.words
    match tool.name:
        case "remember":
            states = not asks(words) and not _REQUEST.search(words) and not _TO_REMIND.search(words)
            return 3 if states or _TO_WRITE.search(words) else 0
        case "memory_search":
            return 3 if asks_about_self(words) and not shares_with(words, situation.entries) else 0
        case "memory_recall":
            return 3 if asks(words) and _TO_RECALL.search(words) else 0
        case "reminder_create":
            timed = _PERHAPS_REMIND.search(words) and mentions(words, _SOME_DAY, UTC)
            return 3 if _TO_REMIND.search(words) or timed else 0
        case "capability_search":
            return 0
        case _ if asks_about_self(words) and _TASTE.search(words):
            return 0
        case _:
            return _fit(tool, words) + 0.4 * _fit(tool, situation.earlier)


def _fit(tool: ToolSpec, words: str) -> float:
    own = pieces(f"{tool.name.replace('_', ' ')} {tool.description}") & pieces(words)
    return 2.0 * (_hits(_ACTS, tool, words) + _hits(_THINGS, tool, words)) + 0.5 * min(len(own), 4)


def _hits(table: _Table, tool: ToolSpec, words: str) -> int:
    return sum(len(set(asked.findall(words))) for name, asked in table if name.search(tool.name))
