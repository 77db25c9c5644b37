"""`qingtuan serve`: an instance that stays, and that terminals speak through."""

from __future__ import annotations

import argparse
import asyncio
import signal

from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.errors import HomeInUse
from qingtuan.language import Words

_RUNNING = Words(
    "在运行，数据在 {home}。qingtuan chat、ask 会连到这里；Ctrl-C 结束。",
    "Running, with data in {home}. qingtuan chat and ask connect here; Ctrl-C ends it.",
)
_ALREADY = Words("已经有一个在运行了，数据在 {home}。", "One is running already, with data in {home}.")


def arguments(parser: Parser) -> None:
    """It takes none."""


async def run(_: argparse.Namespace, shell: Shell) -> int:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with entered(shell, "qingtuan serve", serve=True) as door:
        home = shell.home.path
        if door.app is None:
            raise HomeInUse(Words(_ALREADY.zh.format(home=home), _ALREADY.en.format(home=home)))
        shell.note(shell.say(_RUNNING).format(home=home))
        await ended.wait()
    return 0
