"""`command-line.md`: every `qingtuan` command with its options, read off the parsers, and the exit statuses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from qingtuan.cli import COMMANDS, INTERRUPTED
from qingtuan.cli.parser import Parser
from qingtuan.cli.running import EXITS, module_of
from qingtuan.language import Language, Words
from scripts.reference.errors import exit_status, tree
from scripts.reference.instance import Instance
from scripts.reference.text import NoWords, code, prose, say, table

TITLE = Words("命令行", "Command line")

_INTRODUCTION = Words(
    """\
`qingtuan 命令 [参数…]`；在仓库里是 `make chat ARGS='命令 …'`。
方括号里的可以不写，`|` 隔开的选一个，大写的换成自己的值。
`qingtuan --help` 列出命令，`qingtuan 命令 --help` 说明一个，`qingtuan --version` 是版本。

回答写到标准输出，其余的话写到标准错误输出。
`chat` 或 `serve` 正开着数据文件夹时，别的命令照样能用：要写的经过它写。
""",
    """\
`qingtuan COMMAND [ARGUMENTS…]`; in the repository, `make chat ARGS='COMMAND …'`. What stands in brackets may be left
out, `|` separates alternatives, capitals stand for a value of yours. `qingtuan --help` lists the commands,
`qingtuan COMMAND --help` explains one, `qingtuan --version` is the version.

Answers go to standard output, whatever else is said to standard error. While `chat` or `serve` has the data folder
open, the other commands work as ever: what they write goes through it.
""",
)
_EXIT_TITLE = Words("退出码", "Exit status")
_EXITS: Mapping[int, Words] = {
    0: Words("做成了", "done"),
    1: Words(
        "没做成：出了别的错，或者对话被停下；`doctor`、`mcp check`、`index verify` 是有东西要修",
        "not done: another error, or the turn was stopped; of `doctor`, `mcp check` and `index verify`: something is "
        "to be mended",
    ),
    2: Words("命令写得不对", "the command is not understood"),
    3: Words("连不上模型，或者它拒绝了", "the model cannot be reached, or refused"),
    4: Words(
        "被拒绝：这个人不能在这里做这件事，或者消息没有被接下（不在名单上、太长、到了当天的上限）",
        "refused: this person may not do that here, or the message was not taken (on no list, too long, a day's limit)",
    ),
    5: Words("停下来等人答复", "stopped for a question that waits for an answer"),
    6: Words(
        "别的进程占着数据文件夹，又不能经过它", "another process has the data folder and cannot be spoken through"
    ),
    INTERRUPTED: Words("被 Ctrl-C 结束", "ended by Ctrl-C"),
}
_JSON = Words(
    """\
`qingtuan ask --json` 在 0、3、4、5 时打印一个对象：
`{reply, session, turn, pending, usage, tools, error?}`。
`pending` 是这个人在这里所有等着答复的问题（`code`、`summary`、`expires`），`tools` 是用过的工具的名字。
""",
    """\
`qingtuan ask --json` prints one object for 0, 3, 4 and 5: `{reply, session, turn, pending, usage, tools, error?}`.
`pending` holds all questions that wait for this person here (`code`, `summary`, `expires`), `tools` the names of the
tools that ran.
""",
)
_COMMAND_HEADS = (Words("写法", "form"), Words("做什么", "what it does"))
_ARGUMENT_HEADS = (Words("参数", "argument"), Words("意思", "meaning"))
_BRACKETS = Words("（{}）", " ({})")
_STATUS_HEADS = (Words("码", "status"), Words("意思", "meaning"))


@dataclass(frozen=True, slots=True)
class _Argument:
    """One argument of one form of a command."""

    form: str
    """The sub-command; empty if there is none."""
    usage: str
    label: str
    help: Words


@dataclass(frozen=True, slots=True)
class _Form:
    """A command, or one of its sub-commands."""

    name: str
    help: Words
    arguments: tuple[_Argument, ...]

    @property
    def usage(self) -> str:
        return " ".join([self.name, *(argument.usage for argument in self.arguments)])


def write(language: Language, _: Instance) -> str:
    """The page below its title."""
    parts = [prose(_INTRODUCTION, language)]
    for name, words in COMMANDS.items():
        parts.append(f"## {code(f'qingtuan {name}')}\n\n{say(words, language, f'qingtuan {name}')}")
        parts += _tables(_forms(name, words), language)
    rows = [(code(str(status)), say(words, language, f"exit status {status}")) for status, words in _exits().items()]
    heads = [words.say(language) for words in _STATUS_HEADS]
    return "\n\n".join([*parts, f"## {_EXIT_TITLE.say(language)}", table(heads, rows), prose(_JSON, language)])


def _exits() -> Mapping[int, Words]:
    used = {*EXITS.values(), *map(exit_status, tree()), INTERRUPTED}
    if wrong := used ^ _EXITS.keys():
        raise NoWords(f"exit status {min(wrong)}")
    return _EXITS


def _tables(forms: list[_Form], language: Language) -> Iterator[str]:
    if len(forms) > 1:
        heads = [words.say(language) for words in _COMMAND_HEADS]
        yield table(heads, ((code(form.usage), say(form.help, language, form.name)) for form in forms))
    elif forms[0].arguments:
        yield f"`{forms[0].usage}`"
    arguments = [argument for form in forms for argument in form.arguments]
    if arguments:
        heads = [words.say(language) for words in _ARGUMENT_HEADS]
        yield table(heads, _argument_rows(sorted(arguments, key=_is_option), language))


def _is_option(argument: _Argument) -> bool:
    return argument.label.startswith("-")


def _argument_rows(arguments: list[_Argument], language: Language) -> Iterator[tuple[str, str]]:
    """One row for each argument; of which sub-commands it is, only where another one has the same name."""
    meanings: dict[tuple[str, Words], list[str]] = {}
    for argument in arguments:
        meanings.setdefault((argument.label, argument.help), []).append(argument.form)
    labels = [label for label, _ in meanings]
    for (label, words), forms in meanings.items():
        which = (
            _BRACKETS.say(language).format(Words("、", ", ").say(language).join(forms))
            if labels.count(label) > 1
            else ""
        )
        yield f"{code(label)}{which}", say(words, language, f"{label} of {forms[0] or 'its command'}")


def _forms(name: str, words: Words) -> list[_Form]:
    chinese, english = (_parser(name, words, language) for language in ("zh", "en"))
    command = f"qingtuan {name}"
    places = _places(chinese), _places(english)
    if places[0] is None or places[1] is None:
        return [_Form(command, words, tuple(_arguments("", chinese, english)))]
    said = [_said(place) for place in places if place is not None]
    return [
        _Form(
            f"{command} {sub}",
            Words(said[0][sub], said[1][sub]),
            tuple(_arguments(sub, places[0].choices[sub], places[1].choices[sub])),
        )
        for sub in places[0].choices
    ]


def _parser(name: str, words: Words, language: Language) -> Parser:
    parser = Parser(language, prog=f"qingtuan {name}", description=words.say(language))
    import_module(module_of(name)).arguments(parser)
    return parser


def _places(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[Parser] | None:
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


def _said(place: argparse._SubParsersAction[Parser]) -> dict[str, str]:
    return {action.dest: action.help or "" for action in place._choices_actions}


def _arguments(form: str, chinese: argparse.ArgumentParser, english: argparse.ArgumentParser) -> Iterator[_Argument]:
    pairs = [
        pair
        for pair in zip(chinese._actions, english._actions, strict=True)
        if not isinstance(pair[0], (argparse._HelpAction, argparse._SubParsersAction))
    ]
    for zh, en in sorted(pairs, key=lambda pair: bool(pair[0].option_strings)):
        yield _Argument(form, _usage(zh), _label(zh), Words(zh.help or "", en.help or ""))


def _usage(action: argparse.Action) -> str:
    value = _value(action)
    if not action.option_strings:
        return {"?": f"[{value}]", "+": f"{value}…", "*": f"[{value}…]"}.get(str(action.nargs), value)
    return f"[{' '.join(filter(None, (action.option_strings[-1], value)))}]"


def _label(action: argparse.Action) -> str:
    return " ".join(filter(None, (", ".join(action.option_strings), _value(action))))


def _value(action: argparse.Action) -> str:
    """What a value is called; empty for an option that takes none."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
