"""`/answer`: to a question of a program. Where one is open, the desk takes the message as its answer; what comes here
answers none."""

from __future__ import annotations

from qingtuan.language import Words
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation


def answer_command() -> Command:
    """The command."""
    return Command(
        ("回答", "answer"),
        Words("回答一个程序的问题", "answer the question of a program"),
        _run,
        usage="[CODE] TEXT",
        forms=(
            Form(
                Words("[CODE] 内容", "[CODE] TEXT"),
                Words("回答等着的问题；有几个在等就带上代码", "answer what waits; with a code if several do"),
            ),
        ),
        overtakes=True,
    )


async def _run(invocation: Invocation) -> CommandReply:
    by_hand(invocation)
    return CommandReply(_NOTHING.say(invocation.language))


_NOTHING = Words("没有程序在等你回答。", "No program waits for an answer of yours.")
