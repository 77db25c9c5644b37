"""`qingtuan settings`: each setting, its value, and where that comes from."""

from __future__ import annotations

import argparse

from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.errors import NotThere
from qingtuan.language import Words
from qingtuan.settings import Place, Setting, describe

_NAME = Words(
    "一项设置或一节，例如 llm 或 llm.model；不写就是全部",
    "a setting or section, such as llm or llm.model (default: all)",
)
_CHANGED = Words("只看改过的", "only those that were changed")
_NONE = Words("没有这个设置：{name}", "No such setting: {name}")
_UNSET = Words("（没设）", "(unset)")
_FILE = Words("改设置：{path}；密钥：{secrets}", "Settings are changed in {path}, keys in {secrets}")


def arguments(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help=_NAME.say(parser.language))
    parser.add_argument("--changed", action="store_true", help=_CHANGED.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    found = [setting for setting in describe(shell.settings) if _wanted(setting, args.name)]
    if not found:
        words = _NONE.say(shell.language).format(name=args.name)
        raise NotThere(Words(words, words))
    for setting in found:
        if not args.changed or setting.source.place is not Place.DEFAULT:
            shell.out(_lines(setting, shell))
    home = shell.home
    shell.note(shell.say(_FILE).format(path=home.settings_file, secrets=home.secrets_file))
    return 0


def _wanted(setting: Setting, name: str) -> bool:
    return not name or setting.name == name or setting.name.startswith(f"{name}.")


def _lines(setting: Setting, shell: Shell) -> str:
    value = setting.value or shell.say(_UNSET)
    source = "" if setting.source.place is Place.DEFAULT else f"  ← {shell.say(setting.source.words)}"
    return f"{setting.name} = {value}{source}\n    {shell.say(setting.sentence)}"
