"""How messages look on a terminal: Markdown in full width, questions set apart, nothing that could steer it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from qingtuan.language import Language, Words
from qingtuan.media.store import sized
from qingtuan.messages import Attachment, Outbound

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.segment import Segment

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_CODE = re.compile(r"(`+[^`]*`+)")
_TAG = re.compile(r"<(?!https?:)(?=[A-Za-z/!?])")
_ATTACHED = Words("附件 {name}（{size}）：数据目录里的 {path}", "Attached {name} ({size}): {path} in the data folder")
_QUESTION = Words("等你回答", "waiting for your answer")


def printable(text: str) -> str:
    """The text without control characters: what others wrote must not move the cursor or rename the window."""
    return "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) != "Cc")


def markdown_source(text: str) -> str:
    """Text of a chat as Markdown that loses nothing: a line break is a line break, and a tag is text."""
    lines = []
    fence = ""
    for line in printable(text).split("\n"):
        found = _FENCE.match(line)
        if fence:
            fence = "" if found and found[1].startswith(fence) and not line.strip(" `~") else fence
        elif found:
            fence = found[1]
        elif line.strip():
            parts = _CODE.split(line)
            line = "".join(_TAG.sub("\\\\<", part) if n % 2 == 0 else part for n, part in enumerate(parts)) + "  "
        lines.append(line)
    return "\n".join(lines)


def markdown(text: str) -> RenderableType:
    """Text as it is shown."""
    from rich.markdown import Markdown

    return Markdown(markdown_source(text), code_theme="ansi_dark", hyperlinks=False)


def shown(message: Outbound, language: Language) -> RenderableType:
    """A whole message as it is shown. A question stands in a frame, as it was written: no reply can pass for one."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    if message.kind == "reply":
        attached = [Text(_attached(each, language), style="dim") for each in message.attachments]
        return Group(markdown(message.text), *attached) if attached else markdown(message.text)
    text = Text(printable(message.text))
    if message.kind == "notice":
        return text
    return Panel(text, title=_QUESTION.say(language), title_align="left", border_style="yellow", expand=False)


def _attached(attachment: Attachment, language: Language) -> str:
    """Where in the data folder something lies that came with a message; a terminal shows no pictures."""
    name = " ".join(printable(attachment.name).split())[:80]
    return _ATTACHED.say(language).format(name=name, size=sized(attachment.size), path=f"media/{attachment.hash}")


def put(console: Console, renderable: RenderableType) -> None:
    """Print something without the blanks that fill its lines: what is copied from a terminal should be the text."""
    from rich.segment import Segment, Segments

    lines = _lines(console, renderable, console.width)
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    console.print(Segments(part for line in lines for part in (*line, Segment.line())), end="")


def last_lines(console: Console, renderable: RenderableType, *, width: int, height: int) -> list[Segment]:
    """The last lines of something, without a line break behind: for what grows at its end."""
    from rich.segment import Segment

    lines = _lines(console, renderable, width)
    while lines and not lines[-1]:
        lines.pop()
    return [part for line in lines[-height:] for part in (*line, Segment.line())][:-1]


def as_ansi(console: Console, segments: Iterable[Segment]) -> str:
    """Segments as text with the escape codes of this terminal."""
    from rich.segment import Segments

    with console.capture() as captured:
        console.print(Segments(segments), end="")
    return captured.get()


def _lines(console: Console, renderable: RenderableType, width: int) -> list[list[Segment]]:
    lines = console.render_lines(renderable, console.options.update(width=width), pad=False)
    return [_trimmed(line) for line in lines]


def _trimmed(line: list[Segment]) -> list[Segment]:
    from rich.segment import Segment

    kept = list(line)
    while kept and not kept[-1].text.strip() and not (kept[-1].style and kept[-1].style.bgcolor):
        kept.pop()
    if kept and not (kept[-1].style and kept[-1].style.bgcolor):
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style, kept[-1].control)
    return kept
