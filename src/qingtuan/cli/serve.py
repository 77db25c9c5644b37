"""`qingtuan serve`: an instance that stays, and that terminals speak through."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace

from qingtuan.app.channels import channels_of
from qingtuan.backups.swap import Swap
from qingtuan.cli.door import Claim, Door, claimed, opened
from qingtuan.cli.parser import Parser
from qingtuan.cli.restarting import SERVES, Requests, Wanted
from qingtuan.cli.shell import Shell, settings_of
from qingtuan.errors import HomeInUse, QingtuanError
from qingtuan.language import Words

_RUNNING = Words(
    "在运行，数据在 {home}。qingtuan chat、ask 会连到这里；Ctrl-C 结束。",
    "Running, with data in {home}. qingtuan chat and ask connect here; Ctrl-C ends it.",
)
_ALREADY = Words("已经有一个在运行了，数据在 {home}。", "One is running already, with data in {home}.")
_NOT_WITH_THAT = Words("恢复的数据打不开，换回来了。", "What was restored cannot be opened; it was put back.")
_FINISH_SECONDS = 20.0
"""How long turns that run may go on before another state takes the place of theirs."""


def arguments(parser: Parser) -> None:
    """It takes none."""


async def run(_: argparse.Namespace, shell: Shell) -> int:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    shell.home.prepare()
    async with claimed(shell, SERVES) as claim:
        if claim.link is not None:
            home = shell.home.path
            raise HomeInUse(_ALREADY.filled(home=home))
        await _Serving(shell, claim, ended).run()
    return 0


@dataclass(slots=True)
class _Restored:
    """Another state that stands in its place, with which no instance has opened yet."""

    wanted: Wanted
    swap: Swap
    before: Shell


class _Serving:
    """One instance after the other on one data folder, which this process keeps."""

    def __init__(self, shell: Shell, claim: Claim, ended: asyncio.Event) -> None:
        self._shell = shell
        self._claim = claim
        self._ended = ended
        self._restored: _Restored | None = None

    async def run(self) -> None:
        """Serve until that is ended."""
        while (wanted := await self._opened()) is not None:
            if (swap := wanted.place(self._shell.clock.now())) is not None:
                self._restored = _Restored(wanted, swap, self._shell)
                read = settings_of(self._shell.home)
                language = self._shell.language if isinstance(read, QingtuanError) else read.speaks
                self._shell = replace(self._shell, read=read, language=language)

    async def _opened(self) -> Wanted | None:
        """Serve with the state as it is, until that is ended or another one is to take its place."""
        try:
            return await self._served()
        except QingtuanError as error:
            if (restored := self._restored) is None:
                raise
            # Not with what was restored, then: as it was before.
            self._shell, self._restored = restored.before, None
            restored.swap.undo()
            restored.wanted.failed(error)
            self._shell.explain(error)
            self._shell.note(self._shell.say(_NOT_WITH_THAT))
            return await self._served()

    async def _served(self) -> Wanted | None:
        shell, requests = self._shell, Requests(self._shell.home)
        async with AsyncExitStack() as stack:
            opening = opened(shell, SERVES, serve=True, claim=self._claim.lock, requests=requests)
            door = await stack.enter_async_context(opening)
            if self._restored is not None:
                self._restored.wanted.done(self._restored.swap)
                shell.note(shell.say(self._restored.swap.words))
                self._restored = None
            if door.app is not None:
                entries = await stack.enter_async_context(channels_of(door.app))
                for error in entries.failed.values():
                    shell.explain(error)
            shell.note(shell.say(_RUNNING).format(home=shell.home.path))
            wanted = await self._asked(requests)
            if wanted is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(_at_rest(door), _FINISH_SECONDS)
            return wanted

    async def _asked(self, requests: Requests) -> Wanted | None:
        waits = [asyncio.ensure_future(self._ended.wait()), asyncio.ensure_future(requests.wanted())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return None if self._ended.is_set() else await requests.wanted()
        finally:
            for wait in waits:
                wait.cancel()


async def _at_rest(door: Door) -> None:
    """Wait until no turn runs and nobody waits for an answer."""
    if door.app is not None and door.server is not None:
        await door.app.queues.idle()
        await door.server.settled()
