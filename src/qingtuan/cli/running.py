"""Runs one command: its arguments, its surroundings, its errors, its exit status."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Coroutine, Sequence
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Protocol, cast

from qingtuan.cli import COMMANDS, INTERRUPTED, language_before_settings
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell, explained, settings_of
from qingtuan.clock import SystemClock
from qingtuan.errors import (
    HomeInUse,
    ModelRefused,
    ModelUnreachable,
    NotAllowed,
    QingtuanError,
    UsageWrong,
)
from qingtuan.home import Home
from qingtuan.language import Language, Words
from qingtuan.settings import Settings

if TYPE_CHECKING:
    from qingtuan.channels.outcome import Status

EXITS: dict[Status, int] = {
    "answered": 0,
    "failed": 1,
    "stopped": 1,
    "wrong": 2,
    "unreachable": 3,
    "refused": 4,
    "waiting": 5,
}
"""Exit statuses by how a message ended (contracts.md, Commands)."""

_BY_ERROR: tuple[tuple[type[QingtuanError], int], ...] = (
    (UsageWrong, 2),
    (ModelUnreachable, 3),
    (ModelRefused, 3),
    (NotAllowed, 4),
    (HomeInUse, 6),
)
_NO_COMMAND = Words("要一个命令，qingtuan --help 列出全部。", "A command is needed; qingtuan --help lists them.")
_UNKNOWN = Words("没有 {name} 这个命令。{near}", "There is no command {name}. {near}")
_NEAR = Words("是不是 {name}？", "Is it {name}?")
_LIST = Words("qingtuan --help 列出全部。", "qingtuan --help lists them.")


_FINISHED = Words("上次恢复做到一半断了，现在做完了。", "A restore was cut off; it is finished now.")


class Command(Protocol):
    """A module of a command."""

    def arguments(self, parser: Parser) -> None:
        """Say what the command takes."""
        ...

    def run(self, args: argparse.Namespace, shell: Shell) -> Coroutine[None, None, int]:
        """Do it, and give the exit status."""
        ...


def run(given: Sequence[str]) -> int:
    """Run a command line and give its exit status; errors are said on standard error."""
    language = language_before_settings()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign is no reason to fail
    try:
        home = Home.resolve()
        if home.restore_note.exists():
            _finish_restore(home, language)
        read = settings_of(home)
        language = read.speaks if isinstance(read, Settings) else language
        name, command = _find(given)
        parser = Parser(language, prog=f"qingtuan {name}", description=COMMANDS[name].say(language))
        command.arguments(parser)
        args = parser.parse_args(given[1:])
        return asyncio.run(command.run(args, Shell(home, language, SystemClock(), read)))
    except QingtuanError as error:
        print(explained(error, language), file=sys.stderr)
        return exit_of(error)
    except SystemExit as left:  # --help
        return left.code if isinstance(left.code, int) else 0
    except asyncio.CancelledError:  # Ctrl-C, where a command handles it itself
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; nothing may complain about that at the end of the process either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _finish_restore(home: Home, language: Language) -> None:
    """Finish what was cut off, before anything of the folder is read."""
    from qingtuan.cli.unfinished import finished  # hardly ever needed

    if (swap := asyncio.run(finished(home, SystemClock()))) is not None:
        print(_FINISHED.say(language), swap.words.say(language), file=sys.stderr)


def exit_of(error: QingtuanError) -> int:
    """The exit status of an error."""
    return next((status for kind, status in _BY_ERROR if isinstance(error, kind)), 1)


def _find(given: Sequence[str]) -> tuple[str, Command]:
    if not given:
        raise UsageWrong(_NO_COMMAND)
    name = given[0]
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = _NEAR.filled(name=near[0]) if near else _LIST
        raise UsageWrong(
            Words(_UNKNOWN.zh.format(name=name, near=hint.zh), _UNKNOWN.en.format(name=name, near=hint.en))
        )
    return name, cast(Command, import_module(module_of(name)))


def module_of(name: str) -> str:
    """The module of a command. A name that Python keeps for itself has `_` behind it."""
    return f"qingtuan.cli.{name}{'_' if iskeyword(name) else ''}"
