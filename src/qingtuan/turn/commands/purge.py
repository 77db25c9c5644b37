"""`/memory purge N`: an entry is erased for good, after a question that says what goes and what cannot be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from qingtuan.errors import LimitReached
from qingtuan.events.log import Event
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Reader
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By
from qingtuan.memory.erasing.erasures import Beyond, Erasures
from qingtuan.memory.erasing.purging import Found, Purging
from qingtuan.memory.known import Known
from qingtuan.memory.likeness import fold
from qingtuan.memory.memory import Memory


@dataclass(frozen=True, slots=True)
class Purge:
    """The command over one memory."""

    memory: Memory
    purging: Purging
    erasures: Erasures
    busy: Callable[[Reader], bool]
    """Whether a message is being answered where this reader is: what is being said could repeat what goes."""

    async def ask(self, name: str, by: By) -> str:
        """What would go, and how to say yes."""
        known = self.memory.editing.changeable(name, by)
        found = self.purging.found(known, by)
        beyond = await self.erasures.beyond()
        return _question(found, by.language) + "\n" + _far(beyond, by, by.language) + _how(known, by.language)

    async def do(self, name: str, by: By) -> str:
        """Erase it. Raises `LimitReached` while a message is being answered."""
        known = self.memory.editing.changeable(name, by)
        if self.busy(by.reader):
            raise LimitReached(_BUSY)
        same = self._same(known, by)

        def begin() -> Event:
            # What was under way had to end first, and meanwhile somebody may have said something.
            if self.busy(by.reader):
                raise LimitReached(_BUSY)
            return self.purging.erase(known, by)

        erased = await self.erasures.carry_out(begin)
        told = _DONE.say(by.language).format(name=known.name)
        if same:
            names = " ".join(f"#{one.name}" for one in same)
            told += _SAME.say(by.language).format(names=names, first=same[0].name)
        if erased.left_out and by.reader.is_owner_alone:
            told += _LEFT_OUT.say(by.language).format(names=_listed(erased.left_out, by.language))
        return told

    def _same(self, known: Known, by: By) -> list[Known]:
        """Other entries of the scope that say the same: they stay."""
        said = frozenset(map(fold, self.purging.texts(known)))
        seen = self.memory.library.beliefs(sight(by.reader), [known.scope])
        others = [one for one in seen if one.name and one.name != known.name]
        return [one for one in others if {fold(one.belief.statement), fold(one.belief.data.value or "")} & said]


def _question(found: Found, language: Language) -> str:
    known = found.trail.known
    lines = [_SURE.say(language).format(name=known.name, text=known.belief.statement)]
    if found.messages or found.repeated:
        along = _ALONG if found.repeated else _ALONG_ALONE
        lines.append(along.say(language).format(messages=found.messages, repeated=found.repeated))
    return "\n".join(lines)


def _far(beyond: Beyond, by: By, language: Language) -> str:
    """What cannot be reached. Where the owner keeps copies is the owner's affair."""
    parts = [_CHATS.say(language)]
    if by.reader.is_owner_alone:
        if beyond.backups:
            parts.append(_BACKUPS.say(language).format(count=len(beyond.backups)))
        if beyond.remotes:
            parts.append(_REMOTES.say(language).format(names=_listed(beyond.remotes, language)))
    else:
        parts.append(_COPIES.say(language))
    return _FAR.say(language).format(parts=_listed(parts, language))


def _how(known: Known, language: Language) -> str:
    return "\n" + _HOW.say(language).format(name=known.name)


def _listed(parts: Iterable[str], language: Language) -> str:
    return Words("、", ", ").say(language).join(parts)


_SURE = Words(
    "要彻底清除 #{name}「{text}」吗？页面上、历史里、git 历史里都不会再有，撤销不了。",
    "Erase #{name} “{text}” for good? It will be in no page, no history and no git history, and cannot be undone.",
)
_ALONG = Words(
    "说过它的消息（{messages} 条，整条）和重复它的回答、结果（{repeated} 处）也一起抹掉。",
    "The messages that said it ({messages}, whole ones) and what repeats it, replies and results ({repeated}), go too.",
)
_ALONG_ALONE = Words(
    "说过它的消息（{messages} 条，整条）也一起抹掉。", "The messages that said it ({messages}, whole ones) go, too."
)
_FAR = Words("抹不到的：{parts}。", "Out of reach: {parts}.")
_CHATS = Words("聊天软件里的记录，和换了说法的话", "the chat app's own record, and what was said in other words")
_BACKUPS = Words("备份（backups/ 里 {count} 个）", "backups ({count} in backups/)")
_REMOTES = Words("wiki 的 git 远端 {names}", "git remotes of the wiki: {names}")
_COPIES = Words("已有的备份", "backups that exist")
_HOW = Words("确定就发：/memory purge {name} 确认", "If so, send: /memory purge {name} confirm")
_DONE = Words("#{name} 彻底清除了。", "#{name} is erased for good.")
_SAME = Words(
    "{names} 说的是同一件事，还在；也要清除就发 /memory purge {first}。",
    " {names} says the same and stays; to erase that, too: /memory purge {first}.",
)
_LEFT_OUT = Words(
    "wiki 的 git 里这些没带过来：{names}；reflog 也清空了。",
    " Of your own git work in the wiki these were left out: {names}; reflogs are empty.",
)
_BUSY = Words("正在回答一句话，等它说完再清除。", "A message is being answered; erase it when that is done.")
