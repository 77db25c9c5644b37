"""Commands about the conversation itself: help, who speaks, next session, clearing, stopping."""

from __future__ import annotations

from collections.abc import Callable

from qingtuan.events.sessions import Session, Sessions
from qingtuan.identity.scopes import Role
from qingtuan.language import Language, Words
from qingtuan.turn.commands.registry import Command, CommandReply, Commands, Invocation
from qingtuan.turn.stopping import Stopping

_HELP_LINES = 8
"""`/help` fits one screen of a chat app (memory.md, Commands)."""

_TALK = Words("直接说话就行：记事、查记忆、办事都能说。", "Just talk: to remember, to look up, to get things done.")
_MORE = Words("全部命令：/help all", "All commands: /help all")
_NEXT = Words("好，开始新的对话。", "A new session begins.")
_CLEARED = Words(
    "这个对话的上下文清空了。记住的事和记录都还在。",
    "The context of this session is empty now. What is remembered and recorded stays.",
)
_STOPPED = Words("已停下。", "Stopped.")
_NOTHING_RUNS = Words("现在没有在做的事。", "Nothing is running.")
_NOTHING_OPEN = Words("现在没有等你确认的事。", "Nothing is waiting for your answer.")


def conversation_commands(
    sessions: Sessions, stopping: Stopping, left: Callable[[Session], None], commands: Callable[[], Commands]
) -> list[Command]:
    """`left` is told of a session that was left by `/new`, so that what is due for it gets done;
    `commands` gives the whole registry, which `/help` lists."""

    async def help_(invocation: Invocation) -> CommandReply:
        usable = commands().usable(invocation.reader)
        if invocation.argument.lower() in ("all", "全部"):
            return CommandReply("\n".join(_line(command, invocation.language) for command in usable))
        lines = [_line(command, invocation.language) for command in usable if command.short_help]
        frame = [_TALK.say(invocation.language), *lines[: _HELP_LINES - 2], _MORE.say(invocation.language)]
        return CommandReply("\n".join(frame))

    async def new(invocation: Invocation) -> CommandReply:
        sessions.start(invocation.session.space, invocation.reader.person, cause=invocation.message.id)
        left(invocation.session)
        return CommandReply(_NEXT.say(invocation.language))

    async def clear(invocation: Invocation) -> CommandReply:
        sessions.clear(invocation.session, invocation.reader.person, cause=invocation.message.id)
        return CommandReply(_CLEARED.say(invocation.language))

    async def stop(invocation: Invocation) -> CommandReply:
        # In a group people stop what they began; the owner stops anything.
        reader = invocation.reader
        stopped = stopping.stop(invocation.session.id, None if reader.role is Role.OWNER else reader.person)
        return CommandReply((_STOPPED if stopped else _NOTHING_RUNS).say(invocation.language))

    async def nothing_open(invocation: Invocation) -> CommandReply:
        # An answer to an open question never comes here: the desk knows it before it looks for commands.
        return CommandReply(_NOTHING_OPEN.say(invocation.language))

    return [
        Command(("帮助", "help"), Words("能用的命令", "commands you can use"), help_, usage="[all]"),
        Command(("新对话", "new"), Words("开始新的对话", "begin a new session"), new, steers=True, short_help=True),
        Command(
            ("清空", "clear", "重置"), Words("清空当前对话的上下文", "empty this session's context"), clear, steers=True
        ),
        Command(("停", "stop"), Words("停下正在做的事", "stop what is running"), stop, overtakes=True, short_help=True),
        Command(("确认", "confirm"), Words("答应一件等确认的事", "agree to what waits"), nothing_open, usage="[CODE]"),
        Command(("取消", "cancel"), Words("不做一件等确认的事", "drop what waits"), nothing_open, usage="[CODE]"),
    ]


def _line(command: Command, language: Language) -> str:
    names = " ".join(f"/{name}" for name in command.names[:2])
    usage = f" {command.usage}" if command.usage else ""
    return f"{names}{usage}  {command.help.say(language)}"
