"""`qingtuan capability`: tools that were made here: see, call, bring, approve, switch off, take along."""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from qingtuan.capabilities.archive import MAX_ARCHIVE
from qingtuan.channels.cli.link import Result
from qingtuan.cli.capability_files import definition_at
from qingtuan.cli.capability_views import listed, shown, waiting_shown
from qingtuan.cli.door import entered
from qingtuan.cli.parser import Parser
from qingtuan.cli.reading import dumped
from qingtuan.cli.shell import Shell
from qingtuan.cli.speaking import ACCOUNT
from qingtuan.cli.view import printable
from qingtuan.errors import Disconnected, UsageWrong
from qingtuan.identity.accounts import LOCAL, is_account
from qingtuan.language import Words
from qingtuan.storage.files import read_regular, write_atomic

_WHAT = Words("做什么", "what to do")
_ACTIONS = {
    "list": Words("列出来，和等你看的", "list them, and what waits for you"),
    "search": Words("按用处找", "look for one by what it does"),
    "show": Words("一个的全部：说明、参数、代码、版本、用得怎么样", "all about one: description, code, versions, use"),
    "run": Words("自己调用一次", "call one yourself"),
    "deploy": Words("从磁盘部署：自己写的文件夹", "deploy one from the disk: a folder that you wrote"),
    "approve": Words("看一个等着的版本；带上代码就是认可", "see a version that waits; with its code, approve it"),
    "reject": Words("不要一个等着的版本", "turn down a version that waits"),
    "disable": Words("停用", "switch one off"),
    "enable": Words("重新启用", "switch one on again"),
    "delete": Words("删掉；版本都留着，可以回退", "delete one; its versions stay and can be rolled back to"),
    "rollback": Words("用回以前的一个版本，也能找回删掉的", "go back to an earlier version, also of a deleted one"),
    "export": Words("打成一个 zip 带走", "take them along as a zip file"),
    "import": Words("从 zip 里拿进来，一个一个等你看", "take some in from a zip file; each waits for you"),
}
_NAME = Words("名字", "name")
_WORDS = Words("要它做什么", "what it should do")
_LIMIT = Words("最多几个", "at most so many")
_GIVEN = Words("参数=值，或者一个 JSON 对象", "ARGUMENT=VALUE, or one JSON object")
_PATH = Words(
    "文件夹（capability.toml、main.ts、cases.json），或者写着全部的 .json 文件",
    "a folder (capability.toml, main.ts, cases.json), or a .json file that holds all of it",
)
_CODE = Words("看的时候给的代码", "the code that stands beside it")
_NUMBER = Words("版本", "version")
_FILE = Words("zip 文件", "zip file")
_NAMES = Words("哪些（默认全部）", "which (default: all)")
_YES = Words("要问的也不问了", "do without the question that a chat would ask")
_JSON = Words("用 JSON", "as JSON")

_RUNNING = Words("{name} 第 {version} 版在用了。", "{name} runs as version {version}.")
_SAME = Words("{name} 没有变，还是第 {version} 版。", "{name} is as it was, version {version}.")
_WAITING = Words(
    "{name} 第 {version} 版等主人看：qingtuan capability approve {name}",
    "{name}, version {version}, waits for the owner: qingtuan capability approve {name}",
)
_OFF = Words("{name} 停用了。", "{name} is off.")
_ON = Words("{name} 可以用了。", "{name} may be used.")
_DELETED = Words(
    "{name} 删掉了。找回来：qingtuan capability rollback {name} 版本",
    "{name} is deleted. To have it back: qingtuan capability rollback {name} VERSION",
)
_REJECTED = Words("{name} 的那个版本不要了。", "That version of {name} is turned down.")
_EXPORTED = Words("写好了：{path}", "Written: {path}")
_REFUSED = Words("{name} 没有拿：{why}", "{name} was not taken: {why}")
_NO_FILE = Words("{0} 读不了。", "{0} cannot be read.")
_THERE = Words("{0} 已经有了。", "{0} exists already.")
_NOT_JSON = Words("这不是 JSON 对象：{0}", "That is no JSON object: {0}")
_NO_VALUE = Words("{0} 要写成 参数=值。", "Write {0} as ARGUMENT=VALUE.")
_NO_ACCOUNT = Words("{0} 不是账号，要写成 qq:10001 这样。", "{0} is no account; write it like qq:10001.")


def arguments(parser: Parser) -> None:
    language, add = parser.language, parser.actions(_WHAT)
    made = {name: add(name, words) for name, words in _ACTIONS.items()}
    for name in ("show", "run", "approve", "reject", "disable", "enable", "delete", "rollback"):
        made[name].add_argument("name", metavar="NAME", help=_NAME.say(language))
    made["search"].add_argument("words", nargs="+", metavar="WORDS", help=_WORDS.say(language))
    made["search"].add_argument("--limit", type=int, default=8, metavar="N", help=_LIMIT.say(language))
    made["run"].add_argument("given", nargs="*", metavar="ARGUMENT=VALUE", help=_GIVEN.say(language))
    made["run"].add_argument("--yes", action="store_true", help=_YES.say(language))
    made["deploy"].add_argument("path", metavar="FOLDER|FILE", help=_PATH.say(language))
    made["approve"].add_argument("code", nargs="?", default="", metavar="CODE", help=_CODE.say(language))
    made["reject"].add_argument("version", type=int, metavar="VERSION", help=_NUMBER.say(language))
    made["rollback"].add_argument("version", type=int, metavar="VERSION", help=_NUMBER.say(language))
    made["export"].add_argument("file", metavar="FILE", help=_FILE.say(language))
    made["export"].add_argument("names", nargs="*", metavar="NAME", help=_NAMES.say(language))
    made["import"].add_argument("file", metavar="FILE", help=_FILE.say(language))
    for action in made.values():
        action.add_argument("--as", dest="account", metavar="ACCOUNT", default=LOCAL, help=ACCOUNT.say(language))
        action.add_argument("--json", action="store_true", help=_JSON.say(language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    if not is_account(args.account):
        raise UsageWrong(_NO_ACCOUNT.filled(args.account))
    return await _Capability(args, shell).done()


class _Capability:
    """One use of the command."""

    def __init__(self, args: argparse.Namespace, shell: Shell) -> None:
        self._args = args
        self._shell = shell

    async def done(self) -> int:
        match self._args.action:
            case "list":
                self._out(found := await self._job("list"), lambda: listed(found, self._shell.language))
            case "search":
                words = " ".join(self._args.words)
                found = await self._job("search", words=words, limit=self._args.limit)
                self._out(found, lambda: listed(found, self._shell.language))
            case "show":
                card = await self._job("show", name=self._args.name)
                self._out(card, lambda: shown(card, self._shell.language))
            case "run":
                await self._run()
            case "approve" if not self._args.code:
                waiting = await self._job("waiting", name=self._args.name)
                self._out(waiting, lambda: waiting_shown(self._args.name, waiting, self._shell.language))
            case "export":
                await self._export()
            case "import":
                return await self._import()
            case _:
                await self._change()
        return 0

    async def _run(self) -> None:
        given: list[str] = self._args.given
        whole = len(given) == 1 and given[0].lstrip().startswith("{")
        wanted = _json_of(given[0]) if whole else {}
        words = {} if whole else _words_of(given)
        done = await self._job("run", name=self._args.name, arguments=wanted, words=words, yes=self._args.yes)
        result = done["result"]
        self._out(done, lambda: result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2))
        if done["printed"] and not self._args.json:
            self._shell.note(printable(done["printed"]))

    async def _change(self) -> None:
        args = self._args
        match args.action:
            case "deploy":
                self._told(await self._job("deploy", definition=definition_at(Path(args.path))))
            case "approve":
                self._told(await self._job("approve", name=args.name, code=args.code))
            case "reject":
                await self._job("reject", name=args.name, version=args.version)
                self._said(_REJECTED)
            case "rollback":
                self._told(await self._job("rollback", name=args.name, version=args.version))
            case "delete":
                await self._job("delete", name=args.name)
                self._said(_DELETED)
            case action:
                await self._job("switch", name=args.name, off=action == "disable")
                self._said(_OFF if action == "disable" else _ON)

    async def _export(self) -> None:
        path = _free(Path(self._args.file))
        data = base64.b64decode(await self._job("export", names=self._args.names))
        write_atomic(path, data)
        self._shell.note(self._shell.say(_EXPORTED).format(path=path))

    async def _import(self) -> int:
        path = Path(self._args.file)
        data = read_regular(path, limit=MAX_ARCHIVE)
        if data is None:
            raise UsageWrong(_NO_FILE.filled(path))
        loaded = await self._job("import", data=base64.b64encode(data).decode())
        if self._args.json:
            self._shell.out(dumped(loaded))
        else:
            for made in loaded["deployed"]:
                self._told(made)
            for name, why in loaded["refused"].items():
                self._shell.note(printable(self._shell.say(_REFUSED).format(name=name, why=why)))
        return 1 if loaded["refused"] else 0

    async def _job(self, action: str, **given: Any) -> Any:
        async with entered(self._shell, "qingtuan capability") as door:
            link = door.link
            async with aclosing(link.run(f"capability.{action}", {"account": self._args.account, **given})) as reports:
                async for report in reports:
                    if isinstance(report, Result):
                        return report.value
        raise Disconnected

    def _out(self, value: Any, text: Any) -> None:
        self._shell.out(dumped(value) if self._args.json else printable(text()))

    def _said(self, words: Words) -> None:
        if self._args.json:
            self._shell.out(dumped(None))
        else:
            self._shell.out(self._shell.say(words).format(name=self._args.name))

    def _told(self, made: Mapping[str, Any]) -> None:
        if self._args.json:
            self._shell.out(dumped(made))
            return
        words = _WAITING if made["waits"] else _SAME if made["same"] else _RUNNING
        self._shell.out(self._shell.say(words).format(name=made["name"], version=made["version"]))


def _free(path: Path) -> Path:
    """A path at which nothing lies yet. Raises `UsageWrong`."""
    if path.exists():
        raise UsageWrong(_THERE.filled(path))
    return path


def _json_of(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageWrong(_NOT_JSON.filled(str(error))) from None
    if not isinstance(value, dict):
        raise UsageWrong(_NOT_JSON.filled(text[:60]))
    return value


def _words_of(given: list[str]) -> dict[str, str | list[str]]:
    """Arguments as they were typed; one that was given several times is a list."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageWrong(_NO_VALUE.filled(text[:60]))
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}
