"""Commands of the registry from the command line: said like any message, by whoever they are for."""

from __future__ import annotations

import uuid
from contextlib import aclosing

from qingtuan.channels.cli.link import Link, Saying, Speaker
from qingtuan.channels.outcome import Done
from qingtuan.cli.door import entered
from qingtuan.cli.running import EXITS
from qingtuan.cli.shell import Shell
from qingtuan.errors import Disconnected


async def command(shell: Shell, speaker: Speaker, text: str, *, quiet: bool = False) -> int:
    """Say a command and print its answer; the exit status. What went wrong goes to standard error, and with `quiet`
    nothing else is printed."""
    done = await _said(shell, speaker, text)
    if done.status != "answered":
        shell.note(done.reply or done.error or "")
    elif not quiet:
        shell.out(done.reply or "")
    return EXITS[done.status]


async def answer_of(shell: Shell, speaker: Speaker, text: str) -> str:
    """What a command answers; empty if it failed. Raises as `entered`."""
    done = await _said(shell, speaker, text)
    return done.reply if done.status == "answered" else ""


async def _said(shell: Shell, speaker: Speaker, text: str) -> Done:
    async with entered(shell, f"qingtuan {text.split()[0].lstrip('/')}") as door:
        return await _done(door.link, Saying(speaker, text, uuid.uuid4().hex))


async def _done(link: Link, saying: Saying) -> Done:
    async with aclosing(link.say(saying)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Done):
                return piece
    raise Disconnected
