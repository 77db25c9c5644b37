"""Commands of the owner's own: each file in `prompts/commands/` is one, and stands for the text in it.

`prompts/commands/周报.md` makes `/周报`: whoever is the owner sends it, and the text of the file is what they said.
`$ARGUMENTS` in the text is what follows the command; without it, that is put behind the text. Front matter can hold a
`description` for the help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from qingtuan.errors import Bug
from qingtuan.identity.privacy import Prints
from qingtuan.language import Words
from qingtuan.storage.files import read_regular
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation

_LIMIT = 64 * 1024
"""Bytes of one file: as for the other texts of the owner."""
_NAME = re.compile(r"[^\s/／.][^\s/／]{0,31}")
_PLACE = "$ARGUMENTS"
_LONGEST_HELP = 60


@dataclass(frozen=True, slots=True)
class OwnCommands:
    """The owner's commands, read afresh whenever they are asked for, so that an edit counts at once."""

    folder: Path

    def __iter__(self) -> Iterator[Command]:
        for path in sorted(self.folder.glob("*.md")):
            if (command := _command(path)) is not None:
                yield command

    def unusable(self) -> list[str]:
        """Names of files that make no command, by their name, for want of text, or for another command in it."""
        return [
            path.name
            for path in sorted(self.folder.glob("*.md"))
            if path.name.lower() != "readme.md" and _command(path) is None
        ]


def _command(path: Path) -> Command | None:
    if path.name.lower() == "readme.md" or not _NAME.fullmatch(path.stem):
        return None
    data = read_regular(path, limit=_LIMIT)
    try:
        text = (data or b"").decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    about, says = _split(text)
    if not says or says.startswith(("/", "／")):
        return None  # a command that stands for a command is one too many
    about = about or says.partition("\n")[0].lstrip("# ")
    about = about if len(about) <= _LONGEST_HELP else f"{about[: _LONGEST_HELP - 1]}…"
    return Command((path.stem,), Words(about, about), _never, owner_only=True, prints=Prints.NOTHING, says=says)


def _split(text: str) -> tuple[str, str]:
    """The description in the front matter, if there is one, and the text behind it."""
    found = re.match(r"---\n(.*?)\n---\n?(.*)\Z", text, re.DOTALL)
    if found is None:
        return "", text.strip()
    try:
        values = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        values = None
    about = values.get("description") if isinstance(values, dict) else None
    return (" ".join(about.split()) if isinstance(about, str) else ""), found[2].strip()


def said_with(says: str, argument: str) -> str:
    """What a command of the owner's own stands for, with what follows its name."""
    if _PLACE in says:
        return says.replace(_PLACE, argument).strip()
    return f"{says}\n{argument}".strip()


async def _never(_: Invocation) -> CommandReply:
    raise Bug(Words("这个命令是一段话，不该执行。", "This command stands for words and is not carried out."))
