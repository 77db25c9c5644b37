"""Tells systemd how a service is (sd_notify): it started, it stops, it is alive. Without systemd, nothing."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from qingtuan.clock import Clock


class Notifier:
    """A line to whoever started this process, if they asked for one."""

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # A socket of the file system, or a name of its own ("@…"); anything else is none.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address if address.startswith("/") else ""
        self._clock = clock
        self._seconds = _watchdog(environ)

    def ready(self) -> None:
        """It has started."""
        self._say("READY=1")

    def stopping(self) -> None:
        """It is about to end."""
        self._say("STOPPING=1")

    async def watch(self) -> None:
        """Say again and again that the loop is alive, if that is wanted: twice in the time that was given."""
        while self._address and self._seconds:
            self._say("WATCHDOG=1")
            await self._clock.sleep(self._seconds / 2)
        await asyncio.Event().wait()

    def _say(self, text: str) -> None:
        if self._address:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.setblocking(False)
                line.sendto(text.encode(), self._address)


def _watchdog(environ: Mapping[str, str]) -> float:
    """Seconds within which systemd wants to hear of this process; 0 if it does not."""
    given, process = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not given.isdigit() or (process and process != str(os.getpid())):
        return 0.0
    return int(given) / 1_000_000
