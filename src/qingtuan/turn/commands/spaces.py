"""Commands of the owner about one chat: whether it is answered, and how what is said there becomes memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qingtuan.errors import UsageWrong
from qingtuan.events.log import Place
from qingtuan.events.overheard import LONGEST, MOST, Overhearing
from qingtuan.events.sessions import Session
from qingtuan.language import Words
from qingtuan.memory.memory import Policies, Policy
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation
from qingtuan.turn.kit import Record


def space_commands(record: Record, policies: Policies, settle: Callable[[Session], None]) -> list[Command]:
    """The commands over the chats of one instance. `settle` lets what was said in a session be, unread."""
    hand = _Hand(record, policies, settle)
    return [
        Command(
            ("启用", "enable", "启用本群"),
            Words("让我在这个群里回答", "answer in this group"),
            hand.enable,
            owner_only=True,
            opens=True,
        ),
        Command(
            ("停用", "disable", "停用本群", "禁用本群"),
            Words("让我在这个群里不再回答", "answer in this group no more"),
            hand.disable,
            owner_only=True,
            opens=True,
        ),
        Command(
            ("记忆策略", "policy"),
            Words("这里说的话怎么记", "how what is said here becomes memory"),
            hand.policy,
            owner_only=True,
            usage="[auto|review|manual]",
            forms=_FORMS,
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Hand:
    record: Record
    policies: Policies
    settle: Callable[[Session], None]

    async def enable(self, invocation: Invocation) -> CommandReply:
        """Let the group where this is said be answered."""
        words = _GREETING
        if self.record.choices.of(invocation.reader.space, "listening") == "no":
            words = _GREETING_UNHEARD
        return self._turned("yes", words, _ENABLED_ALREADY, invocation)

    async def disable(self, invocation: Invocation) -> CommandReply:
        """Let nobody in the group where this is said be answered, whatever the settings say."""
        return self._turned("no", _DISABLED, _DISABLED_ALREADY, invocation)

    def _turned(self, value: str, words: Words, already: Words, invocation: Invocation) -> CommandReply:
        by_hand(invocation)
        space = invocation.reader.space
        if not space.is_group:
            raise UsageWrong(_IN_A_GROUP)
        if self.record.choices.of(space, "enabled") == value:
            return CommandReply(already.say(invocation.language))
        place = Place(invocation.session.id, space, None, invocation.reader.person)
        with self.record.log.transaction():
            self.record.choices.choose(space, "enabled", value, place, cause=invocation.message.id)
            if value == "no":
                Overhearing(self.record.log, self.record.clock).clear(space)
        return CommandReply(words.say(invocation.language).format(most=MOST, days=LONGEST.days))

    async def policy(self, invocation: Invocation) -> CommandReply:
        """Show, or change, how it is in the chat where this is said."""
        space, language = invocation.reader.space, invocation.language
        word = invocation.argument.lower()
        if word and word not in _POLICIES:
            raise UsageWrong(_USAGE)
        before = self.policies.of(space)
        if word:
            self._choose(_POLICIES[word], before, invocation)
        now = self.policies.of(space)
        by_command = self.record.choices.of(space, "policy") is not None
        lines = [
            (_CHANGED if word else _IS).say(language).format(policy=now, means=_MEANS[now].say(language)),
            (_BY_COMMAND if by_command else _BY_SETTINGS).say(language),
        ]
        return CommandReply("\n".join(lines if not word else lines[:1]))

    def _choose(self, wanted: Policy | None, before: Policy, invocation: Invocation) -> None:
        space = invocation.reader.space
        place = Place(invocation.session.id, space, None, invocation.reader.person)
        with self.record.log.transaction():
            self.record.choices.choose(space, "policy", wanted, place, cause=invocation.message.id)
            if before == "manual" and self.policies.of(space) != "manual":
                # What was said while nothing was to be read stays unread.
                for session in self.record.sessions.of(space):
                    self.settle(session)


_IN_A_GROUP = Words("在那个群里发。", "Send it in that group.")
_GREETING = Words(
    "这个群启用了。@我、回复我，或者发命令（/help），我就回答：可以问事、让我总结上面聊的、帮忙记东西。\n"
    "没对我说的话，收得到的我也听着：只留最近 {most} 条、{days} 天，问到时才看，不记进记忆。不想被听：/旁听 关\n"
    "不要我了：主人发 /停用",
    "This group is enabled. Mention me, reply to me or give a command (/help), and I answer: ask me things, have me "
    "sum up what was said above, or keep something.\n"
    "I read along, too, where it reaches me: of what is not said to me I keep the newest {most} messages for {days} "
    "days, look at them when asked, and never write them to memory. Not to be heard: /overhear off\n"
    "To end it, the owner sends /disable",
)
_GREETING_UNHEARD = Words(
    "这个群启用了。@我、回复我，或者发命令（/help），我就回答：可以问事、帮忙记东西。没对我说的话我不留。\n"
    "不要我了：主人发 /停用",
    "This group is enabled. Mention me, reply to me or give a command (/help), and I answer: ask me things, or have me "
    "keep something. Of what is not said to me I keep nothing.\nTo end it, the owner sends /disable",
)
_ENABLED_ALREADY = Words("这个群已经启用了。", "This group is enabled already.")
_DISABLED = Words(
    "这个群停用了，谁说话我都不回。再要：/启用", "This group is disabled: I answer nobody here. /enable ends that."
)
_DISABLED_ALREADY = Words("这个群已经停用了。", "This group is disabled already.")
_POLICIES: dict[str, Policy | None] = {
    "auto": "auto",
    "自动": "auto",
    "review": "review",
    "先问": "review",
    "审核": "review",
    "manual": "manual",
    "手动": "manual",
    "default": None,
    "默认": None,
}
_MEANS: dict[Policy, Words] = {
    "auto": Words(
        "明说的就记下，看出来的等你点头（/审核）",
        "what is said outright is written, what is only concluded waits for a word (/review)",
    ),
    "review": Words(
        "让它记住的就记下，别的都先等点头（/审核）",
        "what it is told to remember is written, all else waits for a word (/review)",
    ),
    "manual": Words("只记让它记住的，聊天里的不找", "only what it is told to remember is written; talk is not read"),
}
_FORMS = (
    Form(Words("", ""), Words("现在怎么记", "how it is now")),
    Form(Words("auto", "auto"), _MEANS["auto"]),
    Form(Words("review", "review"), _MEANS["review"]),
    Form(Words("manual", "manual"), _MEANS["manual"]),
    Form(Words("默认", "default"), Words("听设置的", "as the settings say")),
)
_USAGE = Words("用法：/记忆策略 auto|review|manual|默认", "Usage: /policy auto|review|manual|default")
_IS = Words("这里是 {policy}：{means}。", "Here it is {policy}: {means}.")
_CHANGED = Words("这里改成 {policy} 了：{means}。", "Here it is {policy} now: {means}.")
_BY_COMMAND = Words(
    "是用命令定的；/记忆策略 默认 就听设置的。", "Chosen by command; /policy default goes by the settings."
)
_BY_SETTINGS = Words(
    "是设置里的；/记忆策略 auto|review|manual 只改这里。",
    "As the settings say; /policy auto|review|manual changes it here.",
)
