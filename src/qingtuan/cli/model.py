"""`qingtuan model`: which models there are, what they can really do, and the one that runs on this machine."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping

from qingtuan.app.models import NO_MODEL, model_config, models_for, weights_in_use
from qingtuan.cli.first_use import fetch, uses_embedded, wanted_weights
from qingtuan.cli.parser import Parser
from qingtuan.cli.shell import Shell
from qingtuan.cli.table import table
from qingtuan.cli.trial import Unheard
from qingtuan.cli.view import printable
from qingtuan.errors import SettingsWrong
from qingtuan.language import Words
from qingtuan.models.chat import Answer, ChatMessage, Params, Request
from qingtuan.models.check import Row, check
from qingtuan.models.client import Client
from qingtuan.models.embedded.weights import LARGER, SMALLER, Weights, cached, engine_installed, models_folder
from qingtuan.models.routing import SERVES

_WHAT = Words("做什么", "what to do")
_LIST = Words("在用哪些模型", "the models in use")
_CHECK = Words(
    "问出一个模型到底会什么（约二十个短请求）", "find out what a model can really do (some twenty short requests)"
)
_PULL = Words("下载在本机运行的小模型", "download the small model that runs on this machine")
_NAME = Words("模型名（默认平时用的那个）", "name of the model (default: the usual one)")
_SIZE = Words("哪一个（默认按内存挑）", "which one (default: by memory)")
_FALLBACK = Words("连不上时", "when it cannot be reached")
_TOOLS = Words("用工具", "tools")
_NO_TOOLS = Words("不用工具", "no tools")
_BLIND = Words("看不了图", "cannot see")
_SEES = Words("能看图", "sees")
_LOCAL = Words("本机小模型：", "models that run on this machine:")
_HERE = Words("已下载", "downloaded")
_NOT_HERE = Words("没下载", "not downloaded")
_IN_USE = Words("在用", "in use")
_NO_ENGINE = Words(
    "本机小模型的引擎没装：pip install 'qingtuan[local]'", "The engine is not installed: pip install 'qingtuan[local]'"
)
_MARKS = {True: "✓", False: "✗", None: "–"}
_SAVE = Words("把这一行写进 qingtuan.toml 的 [llm] 里：", "Put this line under [llm] in qingtuan.toml:")
_KNOWN = Words("都和已知的一样，不用改设置。", "All as it was known; no setting needs to change.")
_ANSWERS = Words("本机小模型 {name} 有回答：{text}", "The local model {name} answers: {text}")
_PULLED = Words("好了：{path}", "Done: {path}")
_OFF = Words("embedded.size 设成了 off，不下载。", "embedded.size is off, so nothing is downloaded.")
_SIZES = {"1.5b": LARGER, "0.5b": SMALLER}


def arguments(parser: Parser) -> None:
    add = parser.actions(_WHAT)
    add("list", _LIST)
    add("check", _CHECK).add_argument("name", nargs="?", metavar="MODEL", help=_NAME.say(parser.language))
    add("pull", _PULL).add_argument("--size", choices=tuple(_SIZES), help=_SIZE.say(parser.language))


async def run(args: argparse.Namespace, shell: Shell) -> int:
    if args.action == "list":
        return _list(shell)
    if args.action == "pull":
        return await _pull(_SIZES.get(args.size), shell)
    return await (_check_embedded(shell) if uses_embedded(shell.settings) else _check(args.name, shell))


def _list(shell: Shell) -> int:
    if not uses_embedded(shell.settings):
        models = models_for(shell.settings, shell.clock, str).models
        chosen = {route: models.choose(route) for route in SERVES}
        rows = [
            (shell.say(SERVES[route]), choice.model, shell.say(_TOOLS if choice.profile.tools else _NO_TOOLS),
             shell.say(_SEES if choice.sees else _BLIND))
            for route, choice in chosen.items()
        ]  # fmt: skip
        if fallback := shell.settings.llm.fallback_model:
            rows.append((shell.say(_FALLBACK), fallback, "", ""))
        shell.out(f"{shell.settings.llm.base_url}\n{table(rows)}\n")
    in_use = weights_in_use(shell.settings) if uses_embedded(shell.settings) else None
    shell.out(shell.say(_LOCAL))
    rows = []
    for weights in _SIZES.values():
        here = cached(weights, models_folder(os.environ)) is not None
        used = shell.say(_IN_USE) if in_use is not None and in_use[0] is weights else ""
        rows.append(
            (f"  {weights.name}", f"{weights.size / 1e9:.1f} GB", shell.say(_HERE if here else _NOT_HERE), used)
        )
    shell.out(table(rows))
    if not engine_installed():
        shell.note(shell.say(_NO_ENGINE))
    return 0


async def _check(name: str | None, shell: Shell) -> int:
    config = model_config(shell.settings)
    model = name or config.model
    client = Client(config.endpoint, config.profile, lambda: "call_1", shell.clock, config.timeouts)
    try:
        found = await check(client, shell.clock, model, config.profile(model))
    finally:
        await client.close()
    shell.out(f"{model} @ {config.endpoint.base_url}")
    shell.out(table([_cells(row, shell) for row in found.rows]))
    if not found.reachable:
        return 3
    if found.override:
        shell.note(shell.say(_SAVE))
        shell.out(f"profiles = {{{json.dumps(model)} = {{{_toml(found.override)}}}}}")
    else:
        shell.note(shell.say(_KNOWN))
    return 0


def _cells(row: Row, shell: Shell) -> tuple[str, ...]:
    detail = f"({' '.join(printable(row.detail).split())[:100]})" if row.detail else ""
    return (_MARKS[row.ok], shell.say(row.label), shell.say(row.found), detail)


def _toml(values: Mapping[str, object]) -> str:
    # JSON's text for a truth, a number or a string is TOML's too.
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


async def _check_embedded(shell: Shell) -> int:
    """Load the local model and let it say something; what is wrong with it comes as an error."""
    if not engine_installed():
        raise SettingsWrong(_NO_ENGINE)
    found = weights_in_use(shell.settings)
    if found is None:
        raise SettingsWrong(NO_MODEL)
    models = models_for(shell.settings, shell.clock, str).models
    request = Request((ChatMessage("user", "你好"),), (), Params(found[0].name, max_tokens=16))
    try:
        async for piece in models.stream(request, Unheard()):
            if isinstance(piece, Answer):
                shell.out(shell.say(_ANSWERS).format(name=found[0].name, text=printable(piece.text)))
    finally:
        await models.close()
    return 0


async def _pull(weights: Weights | None, shell: Shell) -> int:
    wanted = weights or wanted_weights(shell.settings)
    if wanted is None:
        raise SettingsWrong(_OFF if engine_installed() else _NO_ENGINE)
    shell.out(shell.say(_PULLED).format(path=await fetch(shell, wanted)))
    return 0
