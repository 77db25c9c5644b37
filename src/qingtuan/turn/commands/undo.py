"""`/undo`: what a person wrote last, taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import tzinfo

from qingtuan.language import Words
from qingtuan.memory.undoing import Undoing
from qingtuan.turn.commands.behalf import by_of
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation

UndoElsewhere = Callable[[str, Invocation], Awaitable[str | None]]
"""Takes back what was written because of an event if there is more to it than the memory, and says so; None if not."""


async def _nothing_more(_: str, __: Invocation) -> None:
    """All that was written is memory."""


def undo_command(undoing: Undoing, zone: Callable[[str], tzinfo], elsewhere: UndoElsewhere = _nothing_more) -> Command:
    """The command over one memory; `zone` is that of a person, in which their days are counted."""

    async def undo(invocation: Invocation) -> CommandReply:
        by = by_of(invocation, zone)
        newest = undoing.newest(by)
        if newest is not None and newest.cause and (told := await elsewhere(newest.cause, invocation)) is not None:
            return CommandReply(told)
        undone = await undoing.last(by)
        if not invocation.reader.is_alone:
            return CommandReply(_UNDONE_HERE.say(invocation.language))  # what it was may be private
        return CommandReply(_UNDONE.say(invocation.language).format(what=undone))

    return Command(("撤销", "undo"), Words("撤销上一次写入", "take back the last write"), undo, short_help=True)


_UNDONE = Words("已撤销：{what}", "Taken back: {what}")
_UNDONE_HERE = Words("已撤销你上一次的写入。", "Your last write is taken back.")
