"""`/memory` and `/undo`: a person's own hand on what is remembered (seeds 001 and 004, one store)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime, tzinfo
from typing import Literal

from qingtuan.errors import NotAllowed, UsageWrong
from qingtuan.events.log import Place
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Role, Scope, Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By, Wish
from qingtuan.memory.entries import is_current
from qingtuan.memory.library import Known
from qingtuan.memory.memory import Memory
from qingtuan.memory.recall import Listener, Recall
from qingtuan.memory.undoing import Undoing
from qingtuan.messages import Origin
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation

_Sub = Callable[[Invocation, str], Awaitable[str]]


def memory_commands(memory: Memory, recall: Recall, undoing: Undoing, zone: tzinfo) -> list[Command]:
    """The commands over one memory; `zone` is the instance's, in which days are named."""
    subs = _Subcommands(memory, recall, zone)

    async def memory_(invocation: Invocation) -> CommandReply:
        word, _, rest = invocation.argument.partition(" ")
        sub = subs.by_word.get(word.lower())
        if not invocation.argument:
            return CommandReply(await subs.listed(invocation, ""))
        if sub is None or not _fits(word.lower(), rest.strip()):
            # Words that only begin like a subcommand are something to remember: `/memory list of my books`.
            return CommandReply(await subs.add(invocation, invocation.argument))
        return CommandReply(await sub(invocation, rest.strip()))

    async def undo(invocation: Invocation) -> CommandReply:
        undone = await undoing.last(subs.by(invocation))
        if invocation.reader.space.is_group:
            return CommandReply(_UNDONE_HERE.say(invocation.language))  # what it was may be private
        return CommandReply(_UNDONE.say(invocation.language).format(what=undone))

    usage = "[list|add|del|edit|pin|share|why|clear]"
    return [
        Command(
            ("记忆", "memory"),
            Words("看和改记住的事", "see and change what is remembered"),
            memory_,
            usage=usage,
            answers_in_private=True,
            short_help=True,
        ),
        Command(
            ("撤销", "undo"),
            Words("撤销上一次写入", "take back the last write"),
            undo,
            answers_in_private=False,
            short_help=True,
        ),
    ]


_NUMBER = re.compile(r"[#＃]?(?:[Gg]|群)?\d{1,9}\Z")
_ALONE = frozenset({"list", "clear", "列表", "清空"})
_SURE = frozenset({"确认", "confirm", "yes"})
_NUMBERED = frozenset({"del", "delete", "pin", "unpin", "why", "删除", "edit", "share", "改", "置顶", "为什么"})


def _fits(word: str, rest: str) -> bool:
    """Whether what follows a subcommand is of its kind; if not, the whole is content."""
    if word in _ALONE:
        return not rest or (word in ("clear", "清空") and rest.lower() in _SURE)
    if word in _NUMBERED:
        return bool(_NUMBER.match(rest.split(" ")[0])) if rest else True
    return True


class _Subcommands:
    def __init__(self, memory: Memory, recall: Recall, zone: tzinfo) -> None:
        self._memory = memory
        self._recall = recall
        self._zone = zone
        self.by_word: dict[str, _Sub] = {
            "list": self.listed,
            "列表": self.listed,
            "add": self.add,
            "添加": self.add,
            "del": self.delete,
            "delete": self.delete,
            "删除": self.delete,
            "edit": self.edit,
            "改": self.edit,
            "pin": self.pin,
            "置顶": self.pin,
            "unpin": self.unpin,
            "share": self.share,
            "公开": self.share,
            "why": self.why,
            "为什么": self.why,
            "clear": self.clear,
            "清空": self.clear,
        }

    def by(self, invocation: Invocation) -> By:
        reader, message = invocation.reader, invocation.message
        said = datetime.fromisoformat(message.payload["said_at"]).astimezone(self._zone)
        return By(
            reader=reader,
            place=Place(invocation.session.id, invocation.session.space, None, reader.person),
            cause=message.id,
            words=invocation.argument,
            said_at=said,
            language=invocation.language,
            origin=Origin.OWNER if reader.role is Role.OWNER else Origin.PERSON,
        )

    async def listed(self, invocation: Invocation, _: str) -> str:
        await self._memory.number(Scope.of_person(invocation.reader.person), self.by(invocation))
        entries = sorted(self._current(invocation), key=lambda known: not known.belief.data.pinned)
        return _listing(entries, invocation.language)

    async def add(self, invocation: Invocation, text: str) -> str:
        if not text:
            raise UsageWrong(Words("要记什么？用法：/memory add 内容", "Remember what? Usage: /memory add TEXT"))
        done = await self._memory.remember(Wish(content=text, kind="fact", how="manual"), self.by(invocation))
        if done.outcome == "same" and done.known:
            return _SAME.say(invocation.language).format(name=done.known.name, text=done.known.belief.statement)
        return _ADDED.say(invocation.language).format(name=done.known.name if done.known else "?")

    async def delete(self, invocation: Invocation, argument: str) -> str:
        gone = await self._memory.retire(_name(argument, invocation), self.by(invocation))
        return _DELETED.say(invocation.language).format(name=gone.name, text=gone.belief.statement)

    async def edit(self, invocation: Invocation, argument: str) -> str:
        name, _, text = argument.partition(" ")
        if not text.strip():
            raise UsageWrong(Words("用法：/memory edit 编号 新内容", "Usage: /memory edit NUMBER NEW TEXT"))
        changed = await self._memory.edit(_name(name, invocation), text.strip(), self.by(invocation))
        return _EDITED.say(invocation.language).format(name=changed.name, text=changed.belief.statement)

    async def pin(self, invocation: Invocation, argument: str) -> str:
        pinned = await self._memory.pin(_name(argument, invocation), self.by(invocation))
        words = _PINNED if pinned.belief.data.pinned else _UNPINNED
        return words.say(invocation.language).format(name=pinned.name)

    async def unpin(self, invocation: Invocation, argument: str) -> str:
        pinned = await self._memory.pin(_name(argument, invocation), self.by(invocation), pinned=False)
        return _UNPINNED.say(invocation.language).format(name=pinned.name)

    async def share(self, invocation: Invocation, argument: str) -> str:
        name, _, how = argument.partition(" ")
        wanted = _SHARING.get(how.strip().lower())
        if wanted is None:
            raise UsageWrong(
                Words(
                    "用法：/memory share 编号 只有我|我在哪都能用|公开|全局",
                    "Usage: /memory share NUMBER private|own|public|all",
                )
            )
        shared = await self._memory.share(_name(name, invocation), wanted, self.by(invocation))
        label = _LABELS[wanted].say(invocation.language)
        return _SHARED.say(invocation.language).format(name=shared.name, label=label)

    async def why(self, invocation: Invocation, argument: str) -> str:
        known = self._memory.named(_name(argument, invocation), self.by(invocation))
        return self._recall.why(known, Listener(self._zone, invocation.language))

    async def clear(self, invocation: Invocation, argument: str) -> str:
        if argument.lower() not in _SURE:
            count = len(self._own(invocation))
            return _SURELY.say(invocation.language).format(count=count)
        count = await self._memory.clear(self.by(invocation))
        return _CLEARED.say(invocation.language).format(count=count)

    def _own(self, invocation: Invocation) -> list[Known]:
        own = Scope.of_person(invocation.reader.person)
        return [known for known in self._current(invocation) if known.scope == own]

    def _current(self, invocation: Invocation) -> list[Known]:
        today = self.by(invocation).said_at.date()
        seen = self._memory.library.beliefs(sight(invocation.reader))
        return [known for known in seen if is_current(known.belief, today)]


def _name(argument: str, invocation: Invocation) -> str:
    word = argument.strip().lstrip("#＃")
    if not _NUMBER.match(word):
        raise UsageWrong(Words("请带上编号，例如 /memory del 3。", "Please give a number, as in /memory del 3."))
    if word[0] in "Gg" and invocation.reader.role is not Role.OWNER:
        raise NotAllowed(Words("全局记忆只有主人能改。", "Only the owner may change shared memory."))
    return word.upper()


def _listing(entries: list[Known], language: Language) -> str:
    """The list of seed 004: a head with the count, pinned ones first, a foot that says how to delete."""
    if not entries:
        return _EMPTY.say(language)
    lines = [_HEAD.say(language).format(count=len(entries))]
    for known in entries:
        pin = "📌" if known.belief.data.pinned else ""
        mark = _ALL.say(language) if known.scope.kind == "shared" else ""
        lines.append(f"{pin}#{known.name} {mark}{known.belief.statement}")
    return "\n".join([*lines, "", _FOOT.say(language)])


_SHARING: dict[str, Visibility | Literal["all"]] = {
    "private": Visibility.PRIVATE,
    "只有我": Visibility.PRIVATE,
    "own": Visibility.OWN,
    "我在哪都能用": Visibility.OWN,
    "public": Visibility.PUBLIC,
    "公开": Visibility.PUBLIC,
    "all": "all",
    "全局": "all",
}
_LABELS: dict[Visibility | Literal["all"], Words] = {
    Visibility.PRIVATE: Words("只有我", "only me"),
    Visibility.OWN: Words("我在哪都能用", "wherever I am"),
    Visibility.PUBLIC: Words("公开", "public"),
    "all": Words("全局", "for all"),
}
_HEAD = Words("🧠 长期记忆（{count} 条，对所有会话生效）:", "🧠 Long-term memory ({count} entries, for all sessions):")
_FOOT = Words("删除: /memory del <编号> | 清空: /memory clear", "Delete: /memory del <number> | Clear: /memory clear")
_ALL = Words("[全局] ", "[for all] ")
_EMPTY = Words("还没有记住什么。添加：/memory add 内容", "Nothing is remembered yet. Add: /memory add TEXT")
_ADDED = Words("记住了（#{name}）。", "Noted (#{name}).")
_SAME = Words("已经记着了：#{name} {text}", "Known already: #{name} {text}")
_DELETED = Words("#{name} 移到历史了：{text}。/undo 可撤销", "#{name} moved to history: {text}. /undo takes it back")
_EDITED = Words("#{name} 改成了：{text}。/undo 可撤销", "#{name} now says: {text}. /undo takes it back")
_PINNED = Words("📌 #{name} 置顶了。", "📌 #{name} is pinned.")
_UNPINNED = Words("#{name} 不再置顶。", "#{name} is no longer pinned.")
_SHARED = Words("#{name}：{label}。", "#{name}: {label}.")
_SURELY = Words(
    "要把你自己的 {count} 条记忆都移到历史吗？全局的会留下。确定就发：/memory clear 确认",
    "Move all {count} of your own entries to history? Shared ones stay. If so, send: /memory clear confirm",
)
_CLEARED = Words("{count} 条移到历史了。/undo 可撤销", "{count} entries moved to history. /undo takes it back")
_UNDONE = Words("已撤销：{what}", "Taken back: {what}")
_UNDONE_HERE = Words("已撤销你上一次的写入。", "Your last write is taken back.")
