"""Questions of a command to whoever runs it: on a terminal, or from lines of standard input."""

from __future__ import annotations

import sys

from qingtuan.cli.shell import Shell, is_terminal
from qingtuan.language import Words

_YES = frozenset({"y", "yes", "是", "好", "要", "确认"})


async def answered(shell: Shell, question: str, *, secret: bool = False) -> str:
    """What was typed, stripped; empty at the end of input. With `secret` it is not shown."""
    if is_terminal():
        from prompt_toolkit import PromptSession

        # Only the last line of a prompt is folded where it is too long.
        *above, line = question.split("\n")
        for said in above:
            shell.note(said)
        try:
            text: str = await PromptSession[str]().prompt_async(line, is_password=secret)
        except EOFError:
            return ""
        return text.strip()
    shell.note(question)
    return sys.stdin.readline().strip()


async def agreed(shell: Shell, question: Words, *, unless: bool) -> bool:
    """Whether the answer is yes; `unless` is what no answer means."""
    text = (await answered(shell, shell.say(question))).lower()
    return unless if not text else is_yes(text)


def is_yes(answer: str) -> bool:
    """Whether an answer, stripped and in lower case, agrees."""
    return answer in _YES
