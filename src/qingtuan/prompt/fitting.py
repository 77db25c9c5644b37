"""Making a request fit a model's context. Pure, and such that the same beginning stays as long as it can."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from qingtuan.language import Language, Words
from qingtuan.models.chat import ToolSpec
from qingtuan.models.usage import estimate_tokens
from qingtuan.prompt.draft import Draft
from qingtuan.prompt.history import Said

_ANSWER = 4096
"""Tokens that are left for the answer, but never more than a quarter of the context."""
_SHORTEST = 400
"""Characters that stay of a piece at least: less says nothing."""
_STEPS = 4
"""Into how many steps the room for earlier turns is divided. They leave a step at a time and not turn by turn: else
every request of a long session would begin anew behind its rules, and no provider's cache would help."""


def fitted(draft: Draft, context: int, language: Language) -> Draft:
    """The draft with as much left out as it takes to fit `context` tokens together with its answer."""
    room = context - min(_ANSWER, context // 4) - _fixed(draft)
    current = _shortened(draft.current, room, language)
    return replace(draft, current=current, before=_without_oldest(draft.before, room - _tokens(current)))


def _fixed(draft: Draft) -> int:
    layers = (layer.text for layer in (*draft.head, *draft.tail))
    return sum(map(estimate_tokens, layers)) + sum(map(_tokens_of_tool, draft.tools))


@lru_cache(maxsize=1024)
def _tokens_of_tool(tool: ToolSpec) -> int:
    return estimate_tokens(f"{tool.name}{tool.description}{json.dumps(dict(tool.parameters))}")


def _tokens(items: Iterable[Said]) -> int:
    return sum(map(_tokens_of, items))


def _tokens_of(item: Said) -> int:
    message = item.message
    return estimate_tokens(message.text) + sum(estimate_tokens(call.arguments) for call in message.calls)


def _without_oldest(items: tuple[Said, ...], room: int) -> tuple[Said, ...]:
    if sum(len(item.message.text) for item in items) <= room // 2 and not any(item.message.calls for item in items):
        return items  # a character is less than two tokens: no need to count
    excess = _tokens(items) - room
    if excess <= 0:
        return items
    step = max(1, room // _STEPS)
    leaving = -(-excess // step) * step
    begin = 0
    while begin < len(items) and leaving > 0:
        turn = items[begin].turn
        while begin < len(items) and items[begin].turn == turn:
            leaving -= _tokens_of(items[begin])
            begin += 1
    return items[begin:]


def _shortened(items: tuple[Said, ...], room: int, language: Language) -> tuple[Said, ...]:
    """The messages of this turn; where they do not fit, its material and results lose their middle, the longest ones
    first. The person's own words stay whole: a model that cannot read them must say so."""
    limit = max((len(item.message.text) for item in items if _may_shrink(item)), default=0)
    while _tokens(items) > room and limit > _SHORTEST:
        limit = max(_SHORTEST, limit * 3 // 4)
        items = tuple(_cut(item, limit, language) if _may_shrink(item) else item for item in items)
    return items


def _may_shrink(item: Said) -> bool:
    return item.message.role == "tool" or (item.message.role == "user" and item.origin.foreign)


def _cut(item: Said, limit: int, language: Language) -> Said:
    text = item.message.text
    if len(text) <= limit:
        return item
    # Whole lines: in material each one carries the mark that says that nobody here said it.
    head, tail = text[: limit * 3 // 4].rsplit("\n", 1)[0], text[-(limit // 4) :].split("\n", 1)[-1]
    left_out = _LEFT_OUT.say(language).format(count=len(text) - len(head) - len(tail))
    return replace(item, message=replace(item.message, text=f"{head}\n{left_out}\n{tail}"))


_LEFT_OUT = Words("[太长，中间略去 {count} 字]", "[Too long: {count} characters left out here]")
