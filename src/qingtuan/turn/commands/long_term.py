"""The owner's memory by hand, in the commands of seed 001: facts and preferences, of the owner and of a group.

They write and show the same entries as `/memory`. What is asked in a group is about that group alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

from qingtuan.errors import NotThere, UsageWrong
from qingtuan.identity.privacy import Prints, sight
from qingtuan.identity.scopes import SHARED, Reader, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.acts import Wish
from qingtuan.memory.entries import is_over
from qingtuan.memory.known import BY_HAND, Known, Name
from qingtuan.memory.memory import Memory
from qingtuan.memory.overview import Overview
from qingtuan.memory.topics import Kind
from qingtuan.turn.commands.adding import WAITS, hidden
from qingtuan.turn.commands.behalf import by_of
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation

_MOST = 20
"""Entries of one subject that are shown (seed 001)."""


def long_term_commands(memory: Memory, overview: Overview, zone: Callable[[str], tzinfo]) -> list[Command]:
    """The commands over one memory; `zone` is that of a person, in which their days are counted."""
    hand = _Hand(memory, overview, zone)
    return [
        Command(
            ("添加事实记忆", "add-fact"),
            Words("手动记一条事实；群里记的是这个群的", "write a fact by hand; in a group, one of that group"),
            hand.add_fact,
            owner_only=True,
            prints=Prints.GROUP,
            usage="TEXT",
        ),
        Command(
            ("添加偏好记忆", "add-preference"),
            Words("手动记一条自己的偏好，在哪都能用", "write a preference of yours by hand, for wherever you are"),
            hand.add_preference,
            owner_only=True,
            prints=Prints.GROUP,
            usage="TEXT",
        ),
        Command(
            ("查看长期记忆", "long-term"),
            Words("手动记的；群里看的是这个群的", "what was written by hand; in a group, of that group"),
            hand.show,
            owner_only=True,
            prints=Prints.GROUP,
        ),
        Command(
            ("删除长期记忆", "delete-long-term"),
            Words("删一条（移到历史）", "delete an entry (it moves to history)"),
            hand.delete,
            owner_only=True,
            prints=Prints.GROUP,
            usage="NUMBER",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Hand:
    memory: Memory
    overview: Overview
    zone: Callable[[str], tzinfo]

    async def add_fact(self, invocation: Invocation) -> CommandReply:
        in_group = invocation.reader.space.is_group
        return await self._add(invocation, "fact", _FACT, for_group=in_group)

    async def add_preference(self, invocation: Invocation) -> CommandReply:
        return await self._add(invocation, "preference", _PREFERENCE)

    async def _add(self, invocation: Invocation, kind: Kind, words: Words, *, for_group: bool = False) -> CommandReply:
        text, language = invocation.argument, invocation.language
        if not text:
            raise UsageWrong(_USAGES[kind])
        wish = Wish(content=text, kind=kind, how="manual", for_group=for_group)
        done = await self.memory.remember(wish, by_of(invocation, self.zone))
        if done.known is None:
            return CommandReply(WAITS.say(language).format(reason=done.reason.say(language) if done.reason else ""))
        subject = _subject(done.known.scope, invocation, language)
        said = (_KNOWN if done.outcome == "same" else words).say(language)
        told = said.format(name=done.known.name, subject=subject)
        return CommandReply(told + hidden(text, done.known, language))

    async def show(self, invocation: Invocation) -> CommandReply:
        reader, language, by = invocation.reader, invocation.language, by_of(invocation, self.zone)
        today, in_group = by.said_at.date(), reader.space.is_group
        scopes = [Scope.of_group(reader.space.id)] if in_group else [Scope.of_person(reader.person), SHARED]
        await self.memory.edited([scope.folder for scope in scopes])
        lines: list[str] = []
        others = 0
        for scope in scopes:
            if self.memory.writer.may_write(by, scope):
                await self.memory.editing.number(scope, by)
            entries = self._current(scope, reader, today)
            by_hand = [known for known in entries if known.belief.data.how in BY_HAND]
            others += len(entries) - len(by_hand)
            lines += _listing(by_hand, _subject(scope, invocation, language), language)
        lines += [] if in_group else self._groups(reader, today, language)
        parts = ["\n".join([*lines, "", _FOOT.say(language)])] if lines else [_NONE.say(language)]
        if others and not in_group:
            parts.append(_OTHERS.say(language).format(count=others))
        return CommandReply("\n".join(parts))

    def _current(self, scope: Scope, reader: Reader, today: date) -> list[Known]:
        seen = self.memory.library.beliefs(sight(reader), [scope])
        return [known for known in seen if known.belief.current and not is_over(known.belief, today)]

    def _groups(self, reader: Reader, today: date, language: Language) -> list[str]:
        counts: Mapping[Scope, int] = self.overview.by_hand(reader, today)
        groups = {scope.id: count for scope, count in counts.items() if scope.kind == "group"}
        return [_GROUP_LINE.say(language).format(id=name, count=count) for name, count in sorted(groups.items())]

    async def delete(self, invocation: Invocation) -> CommandReply:
        name = _name(invocation)
        try:
            gone = await self.memory.editing.retire(name, by_of(invocation, self.zone))
        except NotThere as error:
            raise NotThere(_no_entry(name)) from error
        return CommandReply(_DELETED.say(invocation.language).format(name=gone.name))


def _name(invocation: Invocation) -> str:
    """The entry that is meant; a bare number in a group is one of that group, whose list is what is shown there.

    Raises:
        UsageWrong: it is no name of an entry.
    """
    word = invocation.argument.removeprefix("ID").removeprefix("id").strip()
    name = Name.read(word)
    if name is None:
        raise UsageWrong(_USAGE_DELETE)
    if name.kind == "user":
        return f"{'群' if invocation.reader.space.is_group else ''}{name.number}"
    return f"{'G' if name.kind == 'shared' else '群'}{name.number}"


def _listing(entries: Sequence[Known], subject: str, language: Language) -> list[str]:
    """The lines about one subject: a head with the count, and the newest entries, pinned ones first."""
    if not entries:
        return []
    lines = [_HEAD.say(language).format(subject=subject, count=_count(entries, language))]
    lines += [_line(known, language) for known in sorted(entries, key=_newest_first)[:_MOST]]
    if len(entries) > _MOST:
        lines.append(_MORE.say(language).format(count=len(entries) - _MOST))
    return lines


def _newest_first(known: Known) -> tuple[bool, int, int]:
    data = known.belief.data
    return (not data.pinned, -(data.since or date.min).toordinal(), -(known.belief.number or 0))


def _line(known: Known, language: Language) -> str:
    pin = "📌" if known.belief.data.pinned else ""
    kind = (_IS_PREFERENCE if known.type == "preference" else _IS_FACT).say(language)
    return f"{pin}#{known.name} [{kind}] {known.belief.statement}"


def _subject(scope: Scope, invocation: Invocation, language: Language) -> str:
    """Whom an entry is about, as seed 001 says it."""
    if scope.kind == "shared":
        return _ALL.say(language)
    if scope.kind == "group":
        return _GROUP.say(language).format(id=scope.id)
    return _USER.say(language).format(id=invocation.account)


def _count(found: Sequence[Known], language: Language) -> str:
    words = _ENTRY if len(found) == 1 else _ENTRIES
    return words.say(language).format(count=len(found))


def _no_entry(name: str) -> Words:
    return Words(f"没有找到长期记忆：{name}", f"No long-term memory found: {name}")


_FACT = Words("已添加事实摘要记忆：ID {name}，对象：{subject}。", "Fact added: ID {name}, about {subject}.")
_PREFERENCE = Words("已添加偏好摘要记忆：ID {name}，对象：{subject}。", "Preference added: ID {name}, about {subject}.")
_KNOWN = Words("已经记着了：ID {name}，对象：{subject}。", "Known already: ID {name}, about {subject}.")
_DELETED = Words("已删除长期记忆：ID {name}。/undo 可撤销", "Long-term memory deleted: ID {name}. /undo takes it back")
_NONE = Words("当前相关对象暂无手动长期记忆。", "Nothing was written by hand about anybody here.")
_HEAD = Words("{subject}（{count}）：", "{subject} ({count}):")
_ENTRY = Words("{count} 条", "{count} entry")
_ENTRIES = Words("{count} 条", "{count} entries")
_MORE = Words("另有 {count} 条更早的", "{count} earlier ones")
_OTHERS = Words("聊天里记下的另有 {count} 条，/memory 看全部。", "{count} more were noted in talk; /memory lists all.")
_GROUP_LINE = Words("群聊 {id}（{count} 条，在那个群里看）", "group {id} ({count}; shown in that group)")
_GROUP = Words("群聊 {id}", "group {id}")
_USER = Words("用户 {id}", "user {id}")
_ALL = Words("全局", "for all")
_IS_FACT = Words("事实", "fact")
_IS_PREFERENCE = Words("偏好", "preference")
_FOOT = Words("删除：/删除长期记忆 ID", "Delete: /delete-long-term ID")
_USAGES: Mapping[str, Words] = {
    "fact": Words("用法：/添加事实记忆 内容", "Usage: /add-fact TEXT"),
    "preference": Words("用法：/添加偏好记忆 内容", "Usage: /add-preference TEXT"),
}
_USAGE_DELETE = Words("用法：/删除长期记忆 ID，例如 3", "Usage: /delete-long-term ID, such as 3")
