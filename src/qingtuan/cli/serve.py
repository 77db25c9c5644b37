"""`qingtuan serve`: an instance that stays, and that terminals speak through."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace

from qingtuan.app.channels import channels_of
from qingtuan.backups.swap import Swap
from qingtuan.channels.entry import OF_PROGRAMS, Entries, titled
from qingtuan.cli import channel_lines
from qingtuan.cli.door import Claim, Door, claimed, opened
from qingtuan.cli.lean import leave_out
from qingtuan.cli.log_file import logging_to
from qingtuan.cli.notifying import Notifier
from qingtuan.cli.parser import Parser
from qingtuan.cli.restarting import SERVES, Requests, Wanted
from qingtuan.cli.shell import Shell, explained, settings_of
from qingtuan.cli.winding_down import wind_down
from qingtuan.errors import HomeInUse, QingtuanError
from qingtuan.language import Words

_RUNNING = Words(
    "在运行，数据在 {home}。qingtuan chat、ask 会连到这里；Ctrl-C 结束。",
    "Running, with data in {home}. qingtuan chat and ask connect here; Ctrl-C ends it.",
)
_LISTENING = Words("程序从 http://{host}:{port} 调用。", "Programs call http://{host}:{port}.")
_CHATS = Words(
    "聊天软件：{names}；连上了会在这里说。",
    "Chat apps: {names}; it is said here when they are connected.",
)
_AND = Words("、", ", ")
_ENDING = Words(
    "正在停下，最多再等 {seconds} 秒让回答说完；再按一次马上停。",
    "Stopping; answers may take {seconds} more seconds. Once more ends it at once.",
)
_ALREADY = Words("已经有一个在运行了，数据在 {home}。", "One is running already, with data in {home}.")
_NOT_WITH_THAT = Words("恢复的数据打不开，换回来了。", "What was restored cannot be opened; it was put back.")
_LOG = logging.getLogger("qingtuan.serve")
_FINISH_SECONDS = 20.0
"""How long turns that run may go on before another state takes the place of theirs."""


def arguments(parser: Parser) -> None:
    """It takes none."""


async def run(_: argparse.Namespace, shell: Shell) -> int:
    leave_out()
    ending = Ending()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ending.asked)
    shell.home.prepare()
    async with claimed(shell, SERVES) as claim:
        if claim.link is not None:
            home = shell.home.path
            raise HomeInUse(_ALREADY.filled(home=home))
        with logging_to(shell.home.logs):
            await _Serving(shell, claim, ending).run()
    return 0


class Ending:
    """How far somebody wants it to end."""

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self.at_once = asyncio.Event()

    def asked(self) -> None:
        """Asked once, it ends in peace; asked again, at once."""
        (self.at_once if self.wanted.is_set() else self.wanted).set()


@dataclass(slots=True)
class _Restored:
    """Another state that stands in its place, with which no instance has opened yet."""

    wanted: Wanted
    swap: Swap
    before: Shell


class _Serving:
    """One instance after the other on one data folder, which this process keeps."""

    def __init__(self, shell: Shell, claim: Claim, ending: Ending) -> None:
        self._shell = shell
        self._claim = claim
        self._ending = ending
        self._notifier = Notifier(os.environ, shell.clock)
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
            assert door.app is not None
            entries = await stack.enter_async_context(channels_of(door.app))
            lines = self._tell(entries)
            for beside in (self._notifier.watch(), lines.watch()):
                stack.callback(asyncio.create_task(beside).cancel)
            wanted = await self._asked(requests)
            if wanted is None:
                await self._end(door, entries)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(_at_rest(door), _FINISH_SECONDS)
            return wanted

    def _tell(self, entries: Entries) -> channel_lines.ChannelLines:
        """Say that it runs, and what does not; gives what says the rest as it changes."""
        shell = self._shell
        lines = channel_lines.ChannelLines(entries.health, shell.clock, lambda words: shell.note(shell.say(words)))
        shell.note(shell.say(_RUNNING).format(home=shell.home.path))
        for name, error in entries.failed.items():
            for said in (name, *OF_PROGRAMS) if name == "server" else (name,):
                lines.know(said, error.words)
            shell.explain(error)
            _LOG.info("%s did not start: %s", name, explained(error, "en"))
        if (off := channel_lines.off(entries.health())) is not None:
            shell.note(shell.say(off))
        on = [one.name for one in entries.health() if one.state != "off"]
        if chats := [titled(name) for name in on if name not in OF_PROGRAMS]:
            names = shell.say(_AND).join(shell.say(words) for words in chats)
            shell.note(shell.say(_CHATS).format(names=names))
        if entries.address is not None:
            host, port = entries.address
            shell.note(shell.say(_LISTENING).format(host=f"[{host}]" if ":" in host else host, port=port))
            _LOG.info("listening on %s port %s", host, port)
        _LOG.info("running: %s", ", ".join(f"{one.name} {one.state}" for one in entries.health()))
        self._notifier.ready()
        return lines

    async def _end(self, door: Door, entries: Entries) -> None:
        """Let what is being answered come to its end, unless somebody wants to end at once."""
        assert door.app is not None
        assert door.server is not None
        self._notifier.stopping()
        seconds = door.app.settings.server.finish_seconds
        _LOG.info("stopping")
        if not door.app.queues.at_rest:
            self._shell.note(self._shell.say(_ENDING).format(seconds=f"{seconds:g}"))
        winding = asyncio.ensure_future(wind_down(door.app, entries, door.server.settled, seconds))
        at_once = asyncio.ensure_future(self._ending.at_once.wait())
        await asyncio.wait([winding, at_once], return_when=asyncio.FIRST_COMPLETED)
        for task in (winding, at_once):
            task.cancel()
        await asyncio.gather(winding, at_once, return_exceptions=True)

    async def _asked(self, requests: Requests) -> Wanted | None:
        waits = [asyncio.ensure_future(self._ending.wanted.wait()), asyncio.ensure_future(requests.wanted())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return None if self._ending.wanted.is_set() else await requests.wanted()
        finally:
            for wait in waits:
                wait.cancel()


async def _at_rest(door: Door) -> None:
    """Wait until no turn runs and nobody waits for an answer."""
    if door.app is not None and door.server is not None:
        await door.app.queues.idle()
        await door.server.settled()
