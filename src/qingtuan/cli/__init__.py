"""The command line: `qingtuan COMMAND …`, one module for each command.

A module has `arguments(parser)`, which says what the command takes, and `run(args, shell)`, a coroutine that does it
and gives the exit status. It is imported when its command is used, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from qingtuan.language import Language, Words, system_language

COMMANDS: dict[str, Words] = {
    "chat": Words("聊天", "talk"),
    "ask": Words("说一句，等回答", "say one thing and wait for the answer"),
    "serve": Words("一直开着，聊天软件都从这里走", "keep it running, with all chat apps on it"),
    "init": Words("设置语言、模型和聊天软件，给认领码", "set language, model and chat apps; gives a claim code"),
    "login": Words("扫码登录 QQ、微信", "log in to QQ or WeChat by scanning a code"),
    "doctor": Words("检查一遍，说怎么修", "look everything over and say how to mend it"),
    "memory": Words("看和改记住的事", "see and change what is remembered"),
    "review": Words("等你点头才记的事：看、留、改、不要", "what waits for a word: list, accept, edit, reject"),
    "persona": Words("角色卡：看、换", "persona cards: list, use"),
    "distill": Words("把以前说过的话整理一遍，找出该记的", "go through past talk for what is worth remembering"),
    "wiki": Words("记忆的页面：看、历史、差异、回退", "pages of the memory: show, history, diff, rollback"),
    "export": Words("把记忆带走：一个 Markdown 文件夹", "take memory along: a folder of Markdown"),
    "import": Words("把别处的记忆带进来，先看后写", "bring memory in from elsewhere; look first, then write"),
    "undo": Words("撤销上一次改动", "take back the last change"),
    "index": Words("重建或核对索引", "rebuild or verify the index"),
    "backup": Words("备份整个数据文件夹，开着也行", "back up the whole data folder, also while it is in use"),
    "restore": Words("从备份恢复，现在的数据留着", "put a backup in the place of what is there, which is kept"),
    "forget": Words("把一个人彻底抹掉，连同历史", "forget a person for good, with all history"),
    "trace": Words("一轮对话从头到尾发生了什么", "what happened in one turn, from message to reply"),
    "events": Words("发生过的一切", "all that happened"),
    "cost": Words("用了多少，花了多少", "what was used and what it cost"),
    "model": Words("看、测、下载模型", "list, check and pull models"),
    "mcp": Words("带来工具的服务器：看、认可、重启、试", "servers that bring tools: list, approve, restart, check"),
    "capability": Words("自己造的工具：看、用、部署、认可", "tools made here: list, run, deploy, approve"),
    "key": Words("程序用的密钥：发、看、收回", "keys of programs: add, list, revoke"),
    "settings": Words("每项设置的值和来处", "each setting, its value and where it comes from"),
}
"""By the name that is typed, which is the module's too."""

_USAGE = Words("用法：qingtuan 命令 [参数…]", "usage: qingtuan COMMAND [ARGUMENTS…]")
_ABOUT = Words(
    "小青团：记得住事、办事先问的私人助理。", "Qingtuan: a personal agent that remembers, and asks before it acts."
)
_COMMANDS = Words("命令：", "commands:")
_MORE = Words(
    "qingtuan 命令 --help 说明一个命令。数据在 QINGTUAN_HOME（默认 ~/.qingtuan）。",
    "qingtuan COMMAND --help explains one. Data lies in QINGTUAN_HOME (~/.qingtuan by default).",
)


INTERRUPTED = 130
"""What shells expect of a command that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status (contracts.md, Commands)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["-h"], ["--help"], ["help"]):
        print(overview(language_before_settings()))
        return 0
    if given == ["--version"]:
        from qingtuan import __version__

        print(f"qingtuan {__version__}")
        return 0
    try:
        # What this imports reads settings, which takes longer than all of the above.
        from qingtuan.cli.running import run

        return run(given)
    except KeyboardInterrupt:
        return INTERRUPTED


def overview(language: Language) -> str:
    """The lines of `qingtuan --help`."""
    width = max(map(len, COMMANDS)) + 3
    lines = [f"  {name:{width}}{words.say(language)}" for name, words in COMMANDS.items()]
    head = (_USAGE.say(language), "", _ABOUT.say(language), "", _COMMANDS.say(language))
    return "\n".join((*head, *lines, "", _MORE.say(language)))


def language_before_settings() -> Language:
    """The language as the environment has it: for what must be said before, or without, reading settings."""
    match os.environ.get("QINGTUAN_LANGUAGE", "").strip():
        case "zh":
            return "zh"
        case "en":
            return "en"
        case _:
            return system_language()
