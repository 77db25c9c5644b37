"""Which pages there are, and how the two languages of one become a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from qingtuan.language import Language, Words
from scripts.reference import command_line, commands, errors, events, http, mcp_server, settings, tools
from scripts.reference.instance import Instance, instance

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

Write = Callable[[Language, Instance], str]
"""What stands below the title, in one language."""

PAGES: Mapping[str, tuple[Words, Write]] = {
    "settings.md": (settings.TITLE, settings.write),
    "commands.md": (commands.TITLE, commands.write),
    "command-line.md": (command_line.TITLE, command_line.write),
    "tools.md": (tools.TITLE, tools.write),
    "mcp-server.md": (mcp_server.TITLE, mcp_server.write),
    "events.md": (events.TITLE, events.write),
    "errors.md": (errors.TITLE, errors.write),
    "http.md": (http.TITLE, http.write),
}
_MADE = "<!-- Written by `make docs` from the source: mend the words there, not here. -->"


def pages() -> dict[str, str]:
    """Every generated page by its file name.

    Raises:
        NoWords: something that belongs on a page has no words.
    """
    built = instance()
    return {name: _page(title, write, built) for name, (title, write) in PAGES.items()}


def _page(title: Words, write: Write, built: Instance) -> str:
    anchor = title.en.lower().replace(" ", "-")
    return (
        f"{_MADE}\n\n# {title.zh}\n\n[English below](#{anchor})\n\n{write('zh', built)}\n\n"
        f"---\n\n# {title.en}\n\n{write('en', built)}\n"
    )
