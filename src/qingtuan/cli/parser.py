"""`argparse` in the language of the person, with errors as exceptions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from qingtuan.errors import UsageWrong
from qingtuan.language import Language, Words

_HEADINGS = {
    "positional arguments": Words("参数", "arguments"),
    "options": Words("选项", "options"),
}
_ACTION = Words("动作", "ACTION")
_HELP = Words("显示这些说明", "show these lines")
_SEE = Words("qingtuan {command} --help 说明用法。", "See qingtuan {command} --help.")
_ERRORS = (
    (r"unrecognized arguments: (.*)", Words("不认识 {0}。", "Not understood: {0}.")),
    (r"the following arguments are required: (.*)", Words("还缺 {0}。", "Missing: {0}.")),
    (r"one of the arguments (.*) is required", Words("{0} 里要给一个。", "One of {0} is needed.")),
    (r"argument (.*): expected (?:one|at least one) argument.*", Words("{0} 后面要跟一个值。", "{0} needs a value.")),
    (r"argument (.*): not allowed with argument (.*)", Words("{0} 和 {1} 不能一起用。", "{0} goes not with {1}.")),
    (r"argument (.*): invalid choice: '?(.*?)'? \(choose from (.*)\)", Words("{0} 只能是 {2}。", "{0} is one of {2}.")),
    (r"argument (.*): invalid \w+ value: (.*)", Words("{0} 的值不对：{1}。", "{0} cannot be {1}.")),
    (r"ambiguous option: (.*) could match (.*)", Words("{0} 可以是 {1}。", "{0} could be {1}.")),
)
"""What argparse says, and how we say it."""


class Parser(argparse.ArgumentParser):
    """A parser of one command."""

    def __init__(self, language: Language = "en", **kwargs: Any) -> None:
        self.language: Language = language
        super().__init__(add_help=False, allow_abbrev=False, formatter_class=_formatter(language), **kwargs)
        for group in self._action_groups:
            if group.title in _HEADINGS:
                group.title = _HEADINGS[group.title].say(language)
        self.add_argument("-h", "--help", action="help", help=_HELP.say(language))

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong. Raises `UsageWrong`."""
        said = next((words for words in _said(message)), Words(message, message))
        see = _SEE.say(self.language).format(command=self.prog.removeprefix("qingtuan").strip())
        raise UsageWrong(Words(f"{said.zh}{see}", f"{said.en} {see}"))

    def actions(self, title: Words, *, required: bool = True) -> Callable[[str, Words], Parser]:
        """A place for sub-commands, kept as `action`; the result adds one, by name and what it does."""
        places = self.add_subparsers(
            dest="action", required=required, metavar=_ACTION.say(self.language), title=title.say(self.language)
        )

        def add(name: str, words: Words) -> Parser:
            said = words.say(self.language)
            return places.add_parser(name, help=said, description=said, language=self.language)

        return add


def _said(message: str) -> Iterable[Words]:
    for pattern, words in _ERRORS:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            yield words.filled(*found.groups())


def _formatter(language: Language) -> type[argparse.HelpFormatter]:
    usage = "用法：" if language == "zh" else "usage: "

    class Formatter(argparse.RawDescriptionHelpFormatter):
        def __init__(self, prog: str) -> None:
            super().__init__(prog, max_help_position=30)

        def add_usage(self, usage_text: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
            super().add_usage(usage_text, actions, groups, usage if prefix is None else prefix)

    return Formatter
