"""What is being written or done right now. It vanishes when a whole message takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qingtuan.channels.following import Followed
from qingtuan.cli.view import last_lines, markdown, printable
from qingtuan.language import Language, Words
from qingtuan.messages import Outbound
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.progress import ToolRuns

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_THINKING = Words("在想", "thinking")
_USING = Words("在用 {name}", "using {name}")
_TELLS = Words("：{line}", ": {line}")


class Growing:
    """The unfinished part of an answer."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._text = ""
        self._tool: str | None = None
        self._line = ""

    def take(self, piece: Followed) -> None:
        """Grow by a piece, or begin anew."""
        match piece:
            case TextDelta(text):
                self._text += text
                self._tool = None
            case TakenBack():
                self._text = ""
            case ToolRuns(name, line):
                self._text, self._tool, self._line = "", name, line
            case Outbound():
                self._text, self._tool = "", None
            case _:
                pass

    def drawn(self, console: Console, *, width: int, height: int, tick: int) -> list[Segment]:
        """The last lines of the text; while there is none, a line that says what goes on."""
        from rich.text import Text

        if self._text.strip():
            return last_lines(console, markdown(self._text), width=width, height=height)
        words = _USING if self._tool else _THINKING
        doing = printable(words.say(self._language).format(name=self._tool)).replace("\n", " ")
        if self._tool and self._line:
            doing += _TELLS.say(self._language).format(line=" ".join(printable(self._line).split()))
        line = Text(f"{_SPINNER[tick % len(_SPINNER)]} {doing}", style="dim", no_wrap=True, overflow="ellipsis")
        return last_lines(console, line, width=width, height=1)
