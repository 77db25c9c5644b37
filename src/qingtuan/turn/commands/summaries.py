"""Session summaries in the owner's hand: how they stand, what they say, taking them away, making one now (seed 001).

What they say, and how the assistant is set up, is for the owner's private chat; there a group is named by its number.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import NotThere, UsageWrong
from qingtuan.events.log import Place
from qingtuan.events.sessions import Session
from qingtuan.identity.privacy import Prints, event_sight
from qingtuan.language import Language, Words
from qingtuan.memory.compressing import SummaryRules
from qingtuan.memory.summaries import Compressed, Summaries, Summary, SummaryStatus
from qingtuan.messages import Space
from qingtuan.turn.asking import Aside
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.kit import Kit
from qingtuan.turn.queue import SessionQueues

_NEWEST = 5
"""Summaries that are shown (seed 001)."""
_SHORT = 5
"""Characters of an id by which people name a summary: the end of it, where ids of one session differ."""


def summary_commands(kit: Kit, summaries: Summaries, queues: SessionQueues) -> list[Command]:
    """The commands over the summaries of one instance."""
    hand = _Hand(kit, summaries, queues)
    return [
        Command(
            ("摘要状态", "summary-status"),
            Words("离下一次压缩还有多远", "how far this session is from being compressed"),
            hand.status,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[GROUP]",
        ),
        Command(
            ("查看摘要", "summaries"),
            Words("较早的对话压成了什么", "what older talk was compressed into"),
            hand.show,
            owner_only=True,
            prints=Prints.PERSON,
            usage="[GROUP]",
        ),
        Command(
            ("删除摘要", "delete-summary", "清空当前摘要"),
            Words("删掉一段摘要，重新读原文", "delete a summary; what it covered is read raw again"),
            hand.delete,
            owner_only=True,
            prints=Prints.INTERNALS,
            usage="[NUMBER|all] [GROUP]",
        ),
        Command(
            ("压缩", "compress", "压缩当前会话", "压缩对话"),
            Words("现在就压缩较早的对话", "compress older talk now"),
            hand.compress,
            owner_only=True,
            waits=True,
            prints=Prints.GROUP,
            usage="[GROUP]",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Hand:
    kit: Kit
    summaries: Summaries
    queues: SessionQueues

    async def status(self, invocation: Invocation) -> CommandReply:
        session = self._session(invocation, invocation.argument)
        return CommandReply(_status(self.summaries.status(session), invocation.language))

    async def show(self, invocation: Invocation) -> CommandReply:
        session, language = self._session(invocation, invocation.argument), invocation.language
        found = self._newest(invocation, session, _NEWEST)
        if not found:
            return CommandReply(_NONE.say(language))
        count = self.summaries.status(session).summaries
        head = _HEAD if count <= len(found) else _HEAD_NEWEST
        parts = [head.say(language).format(count=count, shown=len(found))]
        parts += [f"{_range(summary, language)}\n{summary.text}" for summary in found]
        return CommandReply("\n\n".join([*parts, _FOOT.say(language)]))

    async def delete(self, invocation: Invocation) -> CommandReply:
        name, group = _which(invocation.argument)
        session, language = self._session(invocation, group), invocation.language
        found = self._newest(invocation, session, _ALL_OF_THEM)
        if not found:
            raise NotThere(_NONE)
        chosen = _named(found, name)
        names = self.summaries.delete(session, chosen.id, invocation.reader.person, cause=invocation.message.id)
        gone = [one for one in reversed(found) if one.id in names]
        status = self.summaries.status(session)
        said = _deleted(gone).say(language)
        again = _AGAIN.say(language) if status.on and not status.missing else ""
        return CommandReply(f"{said}{again}")

    async def compress(self, invocation: Invocation) -> CommandReply:
        session, language = self._session(invocation, invocation.argument), invocation.language

        async def work() -> Compressed:
            ask = Aside(self.kit, Place(session.id, session.space))
            return await self.summaries.compress(session, ask, manual=True)

        done = await self.queues.in_order(session.id, work, invocation.reader.person)
        status = self.summaries.status(session)
        match done.outcome:
            case "written":
                # None if it was rolled up with older ones at once.
                found = self._newest(invocation, session, _ALL_OF_THEM)
                summary = next((one for one in found if one.id == done.summary), None)
                return CommandReply(_written(done, summary, status).say(language))
            case "under_way":
                return CommandReply(_UNDER_WAY.say(language))
            case "failed":
                return CommandReply(_FAILED.say(language))
        return CommandReply(_too_little(status).say(language))

    def _newest(self, invocation: Invocation, session: Session, limit: int) -> list[Summary]:
        person = self.kit.people.person(invocation.reader.person)
        sight = event_sight(
            invocation.reader,
            person.accounts if person else (),
            left=self.kit.people.groups_left(invocation.reader.person),
        )
        return self.summaries.newest(sight, limit, session=session.id)

    def _session(self, invocation: Invocation, group: str) -> Session:
        """The session that is meant: this one, or in private that of the group of this number.

        Raises:
            NotThere: there is no such group.
        """
        if not group:
            return invocation.session
        platform = invocation.account.partition(":")[0]
        wanted = group.removeprefix("group:")
        found = [
            session
            for session in self.kit.record.sessions.of_groups()
            if session.space == Space("group", wanted) or session.space == Space("group", f"{platform}:{wanted}")
        ]
        if not found:
            raise NotThere(_no_group(group))
        return found[0]


def _which(argument: str) -> tuple[str, str]:
    """The summary and the group that an argument names, each empty for none."""
    words = argument.split()
    if len(words) > 2:
        raise UsageWrong(_USAGE)
    if len(words) == 1 and ":" in words[0]:
        return "", words[0]
    return (*words, "", "")[0], (*words, "", "")[1]


def _named(found: list[Summary], name: str) -> Summary:
    """The summary of this short id; the newest for none, the oldest for all.

    Raises:
        NotThere: there is none.
    """
    if not name:
        return found[0]
    if name.lower() in _EVERY:
        return found[-1]
    wanted = name.lstrip("#＃").upper()
    fitting = [one for one in found if wanted and one.id.endswith(wanted)]
    if len(fitting) != 1:
        raise NotThere(_no_summary(name))
    return fitting[0]


def _status(status: SummaryStatus, language: Language) -> str:
    rules = status.rules
    lines = [
        _ON if status.on else _OFF,
        _raw(status),
        _in_force(status),
        Words(
            f"一次最多压 {rules.batch} 条，不到 {rules.least} 条不压，最近的 {rules.keep_recent} 条总是原文。",
            f"At most {rules.batch} at once and not fewer than {rules.least}; the newest {rules.keep_recent} stay raw.",
        ),
    ]
    return "\n".join(line.say(language) for line in lines)


def _raw(status: SummaryStatus) -> Words:
    if not status.on:
        most = status.rules.max_context_messages
        return Words(
            f"原文 {status.messages} 条；请求里最多带最近 {most} 条。",
            f"{status.messages} raw messages; a request holds the newest {most} at most.",
        )
    if not status.missing:
        return Words(
            f"原文 {status.messages} 条，过了 {status.trigger} 条：下一轮之后就压。",
            f"{status.messages} raw messages, beyond the {status.trigger}: compressed after the next turn.",
        )
    return Words(
        f"原文 {status.messages} 条；过了 {status.trigger} 条开始压，还差 {status.missing} 条。",
        f"{status.messages} raw messages; beyond {status.trigger} they are compressed: {status.missing} to go.",
    )


def _in_force(status: SummaryStatus) -> Words:
    if not status.summaries:
        return Words("还没有摘要。", "There is no summary yet.")
    return Words(
        f"摘要 {status.summaries} 段，代表 {status.covered_messages} 条。",
        f"Summaries: {status.summaries}, for {status.covered_messages} messages.",
    )


def _short(summary: Summary) -> str:
    return f"#{summary.id[-_SHORT:]}"


def _days(summary: Summary) -> str:
    first, last = summary.days
    return first if first == last else f"{first}~{last}"


def _range(summary: Summary, language: Language) -> str:
    older = _ROLLED.say(language) if summary.level > 1 else ""
    return _RANGE.say(language).format(name=_short(summary), days=_days(summary), count=summary.messages) + older


def _deleted(gone: list[Summary]) -> Words:
    names = " ".join(_short(one) for one in gone)
    count = sum(one.messages for one in gone)
    later = Words("（后面的接着它，一起删）", " (those that follow it go with it)") if len(gone) > 1 else Words("", "")
    return Words(
        f"删了 {names}{later.zh}，它盖住的 {count} 条又读原文了。",
        f"Deleted {names}{later.en}; the {count} messages that it stood for are read raw again.",
    )


def _written(done: Compressed, summary: Summary | None, status: SummaryStatus) -> Words:
    what = Words("并进了更早的摘要", "became part of an older summary")
    if summary is not None:
        chars, name = len(summary.text), _short(summary)
        what = Words(f"压成了一段 {chars} 字的摘要（{name}）", f"became a summary of {chars} characters ({name})")
    code = Words("（模型没写成，是摘出来的原句）", " (picked out by code: no model wrote it)")
    note = code if done.by_code else Words("", "")
    return Words(
        f"较早的 {done.messages} 条{what.zh}{note.zh}，还有 {status.messages} 条原文。"
        f"现在 {status.summaries} 段摘要代表 {status.covered_messages} 条。",
        f"The oldest {done.messages} messages {what.en}{note.en}; {status.messages} stay raw. "
        f"Summaries now: {status.summaries}, for {status.covered_messages} messages.",
    )


def _too_little(status: SummaryStatus) -> Words:
    rules: SummaryRules = status.rules
    spare = max(0, status.messages - rules.keep_recent)
    return Words(
        f"先不压：原文 {status.messages} 条，留下最近 {rules.keep_recent} 条后只有 {spare} 条，不到 {rules.least} 条。",
        f"Not compressed: of {status.messages} raw messages the newest {rules.keep_recent} stay, which leaves {spare}; "
        f"fewer than {rules.least} are not compressed.",
    )


def _no_group(group: str) -> Words:
    return Words(f"没有在 {group} 这个群里说过话。", f"There was no talk in a group {group}.")


def _no_summary(name: str) -> Words:
    return Words(f"没有 {name} 这段摘要。/查看摘要 看有哪些。", f"There is no summary {name}; /summaries lists them.")


_ALL_OF_THEM = 1000
_EVERY = frozenset({"all", "全部"})
_ON = Words("摘要：开着。", "Summaries are on.")
_OFF = Words(
    "摘要：关着（设置 memory.compression），/压缩 还能用。", "Summaries are off (memory.compression); /compress works."
)
_NONE = Words("这个对话还没有摘要。", "This session has no summaries yet.")
_HEAD = Words("摘要 {count} 段，新的在前：", "Summaries: {count}, newest first:")
_HEAD_NEWEST = Words("摘要 {count} 段，最新的 {shown} 段：", "Summaries: {count}; the newest {shown}:")
_RANGE = Words("{name} {days}，{count} 条", "{name} {days}, {count} messages")
_ROLLED = Words("，由更早的几段合成", ", made of earlier ones")
_FOOT = Words(
    "删除：/删除摘要 编号，它和后面的都重新读原文",
    "Delete: /delete-summary NUMBER; it and those after it are read raw again",
)
_AGAIN = Words("下一轮之后会重新压。", " They are compressed anew after the next turn.")
_USAGE = Words("用法：/删除摘要 [编号|全部] [群号]", "Usage: /delete-summary [NUMBER|all] [GROUP]")
_UNDER_WAY = Words("正在压，等一下再看。", "It is being compressed at this moment.")
_FAILED = Words(
    "没压成：没有写出摘要。什么都没变，过会儿再试。",
    "Not compressed: no summary came of it. Nothing has changed; try again later.",
)
