"""`/memory always` and `/memory never`: what is to be remembered, or not, of what is said about something."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo

from qingtuan.errors import UsageWrong
from qingtuan.language import Language, Words
from qingtuan.memory.keeping import Rule
from qingtuan.memory.ruling import Ruling
from qingtuan.turn.commands.behalf import by_of
from qingtuan.turn.commands.registry import Form, Invocation


@dataclass(frozen=True, slots=True)
class KeepingWords:
    """Both subcommands; `zone` is that of a person."""

    ruling: Ruling
    zone: Callable[[str], tzinfo]

    async def always(self, invocation: Invocation, argument: str) -> str:
        return await self._does(invocation, argument, always=True)

    async def never(self, invocation: Invocation, argument: str) -> str:
        return await self._does(invocation, argument, always=False)

    async def _does(self, invocation: Invocation, argument: str, *, always: bool) -> str:
        if not argument:
            return self._listed(invocation, always=always)
        by, language = by_of(invocation, self.zone), invocation.language
        if taken := _AWAY.fullmatch(argument):
            gone = await self.ruling.remove(int(taken["number"]), by, always=always, shared=bool(taken["shared"]))
            return _REMOVED.say(language).format(text=gone.text)
        shared = _FOR_ALL.match(argument)
        text = argument[shared.end() :] if shared else argument
        if not text.strip():
            raise UsageWrong(_USAGE)
        rule = await self.ruling.add(text, by, always=always, shared=shared is not None)
        told = (_ALWAYS if always else _NEVER).say(language).format(text=rule.text)
        return f"{_TO_ALL.say(language)}{told}" if shared else told

    def _listed(self, invocation: Invocation, *, always: bool) -> str:
        language, found = invocation.language, self.ruling.of(by_of(invocation, self.zone))
        own, shared = found.own.of(always=always), found.shared.of(always=always)
        if not own and not shared:
            return (_NO_ALWAYS if always else _NO_NEVER).say(language)
        lines = [*_numbered(own, "", language), *_numbered(shared, "G", language)]
        return "\n".join([(_ALL_ALWAYS if always else _ALL_NEVER).say(language), *lines, _HOW_AWAY.say(language)])


def _numbered(rules: tuple[Rule, ...], prefix: str, language: Language) -> list[str]:
    mark = _TO_ALL.say(language) if prefix else ""
    return [f"{prefix}{number}. {mark}{rule.text}" for number, rule in enumerate(rules, 1)]


FORMS = (
    Form(
        Words("总是 话题", "always TOPIC"),
        Words(
            "聊到这个就记下，不用再问；不写话题就列出", "what is said about it is written without asking; alone, a list"
        ),
    ),
    Form(
        Words("从不 话题", "never TOPIC"),
        Words(
            "聊到这个从不记，除非你明说；「从不 删除 1」去掉",
            "it is never written unless you say so; `never del 1` ends that",
        ),
    ),
)
_AWAY = re.compile(r"(?:del|delete|删除|删)\s*#?(?P<shared>[Gg]?)(?P<number>[0-9]{1,6})")
_FOR_ALL = re.compile(r"\s*(?:全局|所有人|for all)\s*[:：]\s*", re.IGNORECASE)
_USAGE = Words(
    "用法：/memory 从不 话题，或 /memory 从不 全局：话题", "Usage: /memory never TOPIC, or /memory never for all: TOPIC"
)
_ALWAYS = Words(
    "好，聊到「{text}」总会记下。/undo 可撤销",
    "All right: what is said about “{text}” is always kept. /undo takes it back",
)
_NEVER = Words(
    "好，聊到「{text}」从不记。/undo 可撤销",
    "All right: what is said about “{text}” is never kept. /undo takes it back",
)
_TO_ALL = Words("[全局] ", "[for all] ")
_REMOVED = Words("去掉了：{text}。/undo 可撤销", "Removed: {text}. /undo takes it back")
_ALL_ALWAYS = Words("总是记住：", "Always remembered:")
_ALL_NEVER = Words("从不记住：", "Never remembered:")
_NO_ALWAYS = Words(
    "没有定什么总是要记。定：/memory 总是 话题", "Nothing is always remembered. Say: /memory always TOPIC"
)
_NO_NEVER = Words("没有定什么从不记。定：/memory 从不 话题", "Nothing is never remembered. Say: /memory never TOPIC")
_HOW_AWAY = Words("去掉：/memory 总是|从不 删除 编号", "Remove: /memory always|never del N")
