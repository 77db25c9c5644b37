"""What every command is given: the data folder, the settings, a language, and two ways to speak."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from qingtuan.clock import Clock
from qingtuan.errors import QingtuanError, SettingsWrong
from qingtuan.home import Home
from qingtuan.language import Language, Words
from qingtuan.settings import Settings, load


@dataclass(frozen=True, slots=True)
class Shell:
    """The surroundings of one command."""

    home: Home
    language: Language
    clock: Clock
    read: Settings | SettingsWrong
    """The settings, or what is wrong with them."""

    @property
    def settings(self) -> Settings:
        """The settings. Raises `SettingsWrong`."""
        if isinstance(self.read, SettingsWrong):
            raise self.read
        return self.read

    def say(self, words: Words) -> str:
        """A sentence in the person's language."""
        return words.say(self.language)

    def out(self, text: str) -> None:
        """What was asked for, on standard output."""
        print(text, flush=True)

    def note(self, text: str) -> None:
        """Everything else, on standard error."""
        print(text, file=sys.stderr, flush=True)

    def explain(self, error: QingtuanError) -> None:
        """An error, with its detail: whoever sits at this terminal is the owner."""
        self.note(explained(error, self.language))


def settings_of(home: Home) -> Settings | SettingsWrong:
    """The settings of a data folder as they are now, or what is wrong with them."""
    try:
        return load(home.path)
    except SettingsWrong as error:
        return error


def explained(error: QingtuanError, language: Language) -> str:
    """An error as the owner reads it."""
    detail = f" ({error.detail})" if error.detail else ""
    return f"{error.say(language)}{detail}"


def is_terminal() -> bool:
    """Whether a person reads and types here."""
    return sys.stdin.isatty() and sys.stdout.isatty()
