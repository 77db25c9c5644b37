"""The one registry of commands (memory.md, Commands).

A command has a Chinese and an English name, says who may use it and where its answer may be read, and takes
the rest of the line. Matching is by whole words: `/todolist` is not `/todo`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

from qingtuan.events.log import Event
from qingtuan.events.sessions import Session
from qingtuan.identity.privacy import Prints
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words

_COMMAND = re.compile(r"[/／]([^\s/／]+)(?:\s+(.*))?\Z", re.DOTALL)
"""Chinese keyboards have a slash of their own."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One use of a command."""

    reader: Reader
    account: str
    channel: str
    session: Session
    message: Event
    """The message that holds it: what the command does is caused by it."""
    argument: str
    """What follows the name, stripped."""
    language: Language


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What a command answers."""

    text: str
    refusal: str = ""
    """The name of the error that `text` says, for callers that must tell a refusal from an answer."""


Run = Callable[[Invocation], Awaitable[CommandReply]]


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a command: what follows its name, and what it then does."""

    argument: Words
    help: Words


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `names` are without the slash, Chinese first; further ones are older spellings."""

    names: tuple[str, ...]
    help: Words
    run: Run
    owner_only: bool = False
    steers: bool = False
    """Whether it changes the conversation for everybody who takes part: in a group it then is not for guests."""
    waits: bool = False
    """Whether it waits for turns and for a model. It then is not done again by itself after a restart, which would have
    to wait, too."""
    overtakes: bool = False
    """Whether it goes before all that waits in its chat, and leaves what is being gathered as it is."""
    opens: bool = False
    """Whether it is obeyed in a group that is not enabled: it enables one."""
    prints: Prints = Prints.NOTHING
    """What its answer holds. What is for the person alone is refused in a group, with a hint where to go."""
    usage: str = ""
    forms: tuple[Form, ...] = ()
    """What `usage` says in short, one by one: for the reference."""
    short_help: bool = False
    """Whether it is among the few lines of `/help`."""
    says: str = ""
    """For a command of the owner's own: the text that it stands for. It is then a message of that text, not run."""

    def may_use(self, reader: Reader) -> bool:
        """Whether this person may use it at all."""
        if reader.role is Role.OWNER:
            return True
        return not self.owner_only and not (self.steers and reader.space.is_group and reader.role is Role.GUEST)

    @property
    def name(self) -> str:
        """What events call it: the English name, if it has one."""
        return self.names[1] if len(self.names) > 1 else self.names[0]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A text that looks like a command and is none; `near` are names the person may use."""

    name: str
    near: tuple[str, ...]


class Commands:
    """All commands by name."""

    def __init__(self, commands: Iterable[Command], own: Iterable[Command] = ()) -> None:
        """`own` are the owner's own, read afresh at each use; a name that one of ours has stays ours."""
        self._own = own
        self._by_name: dict[str, Command] = {}
        self._all: list[Command] = []
        for command in commands:
            self._all.append(command)
            for name in command.names:
                if self._by_name.setdefault(name.lower(), command) is not command:
                    raise ValueError(f"two commands are called /{name}")

    def __iter__(self) -> Iterator[Command]:
        yield from self._all
        yield from (command for command in self._own if command.names[0].lower() not in self._by_name)

    def match(self, text: str, reader: Reader) -> tuple[Command, str] | Unknown | None:
        """The command that a message is, with its argument; None if the message is no command.

        A slash and a space, a path (`/etc/hosts`) or a bare slash are ordinary messages.
        """
        found = _COMMAND.match(text.strip())
        if not found:
            return None
        name, argument = found[1].lower(), (found[2] or "").strip()
        command = self._by_name.get(name)
        if command is None and reader.role is Role.OWNER:
            command = next((own for own in self if own.says and own.names[0].lower() == name), None)
        if command is not None:
            return command, argument
        usable = [name.lower() for command in self.usable(reader) for name in command.names]
        return Unknown(found[1], tuple(difflib.get_close_matches(name, usable, n=3, cutoff=0.5)))

    def usable(self, reader: Reader) -> list[Command]:
        """What this person may be told that they may use, in the order of registration: for help and completion. What
        the owner's own commands are called, and what they say, is told in no group."""
        listed = self._all if reader.space.is_group else self
        return [command for command in listed if command.may_use(reader)]
