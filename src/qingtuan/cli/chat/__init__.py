"""`qingtuan chat`: a conversation on a terminal, or line by line where there is none."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import suppress
from functools import partial
from typing import Protocol

from qingtuan.app.models import NO_MODEL, weights_in_use
from qingtuan.channels.cli.link import Link
from qingtuan.cli.chat.plain import PlainScreen
from qingtuan.cli.chat.talk import Screen, Talk
from qingtuan.cli.door import entered
from qingtuan.cli.first_use import have_model, uses_embedded
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell, is_terminal
from qingtuan.cli.speaking import speaker_arguments, speaker_of
from qingtuan.errors import Disconnected, NotAllowed
from qingtuan.language import Words

_SMALL = Words(
    "没有设置模型服务，由本机小模型 {name} 回答：记事、想起、办单件事都行，复杂的事要更大的模型：qingtuan init",
    "No model service is set, so the small local model {name} answers. It remembers, recalls and does single things; "
    "for more, set a larger one: qingtuan init",
)


class TalkingScreen(Screen, Protocol):
    """A screen that also says what is typed there."""

    async def greet(self, model: str, advice: str) -> None:
        """Show what a person should know first: which model answers, and what to do about it. Either may be empty."""
        ...

    async def read(self, talk: Talk) -> None:
        """Say what is typed until the person leaves."""
        ...


def arguments(parser: Parser) -> None:
    speaker_arguments(parser)


async def run(args: argparse.Namespace, shell: Shell) -> int:
    speaker = speaker_of(args)
    shell.home.prepare()
    screen = _screen(shell)
    talk = Talk(speaker, args.session, screen)
    if (chatting := asyncio.current_task()) is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):  # the window was closed: end in peace
            asyncio.get_running_loop().add_signal_handler(number, chatting.cancel)
    reading: asyncio.Task[None] | None = None
    try:
        while reading is None or not reading.done():
            async with entered(shell, "qingtuan chat", serve=True, first=partial(have_model, shell)) as door:
                if reading is None:
                    await screen.greet(_model(shell), _advice(shell))
                reading = await _converse(talk, door.link, screen, reading)
        await reading
    finally:
        if reading is not None:
            reading.cancel()
    return 0


async def _converse(
    talk: Talk, link: Link, screen: TalkingScreen, reading: asyncio.Task[None] | None
) -> asyncio.Task[None]:
    """Talk over one line until it breaks or the person leaves. What had waited is shown before anything is read."""
    caught_up = asyncio.Event()
    over = asyncio.create_task(talk.over(link, caught_up))
    catching_up = asyncio.create_task(caught_up.wait())
    try:
        await asyncio.wait({over, catching_up}, return_when=asyncio.FIRST_COMPLETED)
        if reading is None:
            with suppress(Disconnected, NotAllowed):  # what is said next comes to the same, and tells
                await talk.remind(link)
            reading = asyncio.create_task(screen.read(talk))
        await asyncio.wait({over, reading}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        over.cancel()
        catching_up.cancel()
        with suppress(asyncio.CancelledError, Disconnected):
            await over
    return reading


def _screen(shell: Shell) -> TalkingScreen:
    if not is_terminal():
        return PlainScreen(shell)
    from qingtuan.cli.chat.terminal import TerminalScreen

    return TerminalScreen(shell)


def _model(shell: Shell) -> str:
    """The name of the model that answers; empty if there is none."""
    if not uses_embedded(shell.settings):
        return shell.settings.llm.model or ""
    found = weights_in_use(shell.settings)
    return found[0].name if found else ""


def _advice(shell: Shell) -> str:
    """What a person should know who has set no model."""
    if not uses_embedded(shell.settings):
        return ""
    name = _model(shell)
    return shell.say(_SMALL).format(name=name) if name else shell.say(NO_MODEL)
