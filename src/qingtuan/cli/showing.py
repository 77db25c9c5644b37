"""Showing the answer to one message as it comes: whole messages to a pipe, growing text to a terminal."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Protocol

from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import answers
from qingtuan.cli.growing import Growing
from qingtuan.cli.shell import Shell
from qingtuan.cli.view import put, shown
from qingtuan.messages import Outbound
from qingtuan.turn.desk import Taken

if TYPE_CHECKING:
    from rich.segment import Segments

_REFRESH = 8
"""Times a second that growing text is drawn."""


class Show(Protocol):
    """Something that shows pieces, within a `with` block."""

    def __enter__(self) -> object: ...

    def __exit__(self, *_: object) -> None: ...

    def take(self, piece: Followed) -> None:
        """Show the next piece."""
        ...


class Silent:
    """Shows nothing: the outcome is printed at the end."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def take(self, piece: Followed) -> None:
        pass


class Plain(Silent):
    """Whole messages as they were written: the answer on standard output, what is said beside it on standard error."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._taken = Taken("known")
        self._said = False

    def take(self, piece: Followed) -> None:
        if isinstance(piece, Taken):
            self._taken = piece
        elif isinstance(piece, Outbound) and answers(self._taken, piece.kind):
            self._shell.out(f"\n{piece.text}" if self._said else piece.text)
            self._said = True
        elif isinstance(piece, Outbound):
            self._shell.note(piece.text)


class Drawn:
    """On a terminal: the text as it grows, and in its place the whole message once it is there."""

    def __init__(self, shell: Shell) -> None:
        from rich.console import Console
        from rich.live import Live

        self._language = shell.language
        self._console = Console(highlight=False)
        self._growing = Growing(shell.language)
        self._ticks = itertools.count()
        self._live = Live(console=self._console, get_renderable=self._draw, refresh_per_second=_REFRESH, transient=True)

    def __enter__(self) -> None:
        self._live.start()

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def take(self, piece: Followed) -> None:
        self._growing.take(piece)
        if isinstance(piece, Outbound):
            self._live.stop()
            put(self._console, shown(piece, self._language))
            self._live.start()

    def _draw(self) -> Segments:
        from rich.segment import Segments

        width, height = self._console.size
        drawn = self._growing.drawn(self._console, width=width, height=max(3, height - 2), tick=next(self._ticks))
        return Segments(drawn)
