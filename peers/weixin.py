"""Tencent's own WeChat client against the iLink server that our tests play: what it understands is what iLink says.

Its modules are loaded one by one, since the whole is a plug-in of a program that is not wanted here; the few functions
that they ask of that program are put beside them at run time.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from peers.checks import Check
from peers.node import HERE, Node
from qingtuan.channels.wxclaw.accounts import Login
from qingtuan.channels.wxclaw.ilink import UploadMediaType, ilink_of
from qingtuan.channels.wxclaw.media import item_of
from qingtuan.channels.wxclaw.wire import Http
from qingtuan.messages import Attachment
from tests.fakes.ilink import FIRST_ID, USER, Bound, Code, Ilink

_PACKAGE = "@tencent-weixin/openclaw-weixin"
_PATIENCE = 60.0
_OURS = "我们放上去的"
_HOST: Mapping[str, str] = {
    "account-id": "export const normalizeAccountId = (id) => id;",
    "infra-runtime": "export const resolvePreferredOpenClawTmpDir = () => process.env.HOME;"
    "export const withFileLock = async (file, options, work) => work();",
    "plugin-runtime": "export const getGlobalHookRunner = () => undefined;",
    "hook-runtime": "export const fireAndForgetHook = () => {};"
    "export const buildCanonicalSentMessageHookContext = () => ({});"
    "export const toPluginMessageContext = () => ({});"
    "export const toPluginMessageSentEvent = () => ({});",
}
"""What the modules ask of the program that they belong to."""

Values = Mapping[str, Any]
Seen = Callable[[Values, Ilink, Bound], bool]


def _took_the_message(values: Values, _: Ilink, __: Bound) -> bool:
    got = values["receive"]
    return bool(got["count"] == 1 and got["id"] == str(FIRST_ID) and "你好" in got["body"] and got["hold"] == 1000)


def _is_known_again(values: Values, ilink: Ilink, _: Bound) -> bool:
    return ilink.sent[0].text == "腾讯的客户端说" and values["say"] == str(ilink.sent[0].message_id)


def _left_its_file(values: Values, ilink: Ilink, _: Bound) -> bool:
    media = ilink.sent[1].item["file_item"]["media"]
    there = ilink.read(media["encrypt_query_param"], media["aes_key"])
    return values["upload"] == [70001, 70016] and len(there) == 70001


def _logged_in(values: Values, ilink: Ilink, _: Bound) -> bool:
    got = values["login"]
    newest = ilink.accounts[-1]
    return bool(got["connected"] and got["account"] == newest.bot and got["user"] == USER and got["base"] == ilink.url)


_CHECKS: Mapping[str, Seen] = {
    "says that it begins and ends": lambda values, _, bound: (
        values["begin"] == values["end"] == 0 and (bound.started, bound.stopped) == (1, 1)
    ),
    "takes a message, its id exact": _took_the_message,
    "waits for the next with its cursor": lambda values, *_: values["wait"] == {"count": 0, "ret": 0},
    "shows and ends the typing sign": lambda values, _, bound: (
        values["type"] is True and [state for _, state in bound.typing] == [1, 2]
    ),
    "sends a text and learns its id": _is_known_again,
    "encrypts and uploads a file": _left_its_file,
    "downloads and decrypts it": lambda values, *_: values["download"] is True,
    "decrypts what our client uploaded": lambda values, *_: values["ours"] == _OURS,
    "logs in with a number from the phone": _logged_in,
}


def run(node: Node) -> Iterator[tuple[str, list[Check]]]:
    """The client and what it made of the server."""
    _put_beside(node)
    yield "openclaw-weixin", asyncio.run(_tried(node))


def _put_beside(node: Node) -> None:
    folder = node.modules / "openclaw"
    (folder / "plugin-sdk").mkdir(parents=True, exist_ok=True)
    exports = {f"./plugin-sdk/{name}": f"./plugin-sdk/{name}.mjs" for name in _HOST}
    (folder / "package.json").write_text(json.dumps({"name": "openclaw", "exports": exports}), "utf-8")
    for name, text in _HOST.items():
        (folder / "plugin-sdk" / f"{name}.mjs").write_text(text, "utf-8")


async def _tried(node: Node) -> list[Check]:
    async with Ilink() as ilink:
        bound = ilink.bind()
        await bound.says("你好 🍡")
        ilink.next_code = _phone
        values, errors = await _run(node, ilink, bound)
        return [_check(name, seen, values, errors, (ilink, bound)) for name, seen in _CHECKS.items()]


def _phone(code: Code) -> None:
    code.steps.extend([{"status": "wait"}, {"status": "scaned"}])
    code.verify = "42"


async def _run(node: Node, ilink: Ilink, bound: Bound) -> tuple[dict[str, Any], dict[str, str]]:
    """What each step came to, and what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        plan = {
            "package": str(node.modules / _PACKAGE),
            "base": ilink.url,
            "cdn": ilink.cdn,
            "token": bound.token,
            "user": USER,
            "folder": folder,
            "ours": await _uploaded(ilink, bound),
        }
        process = await asyncio.create_subprocess_exec(
            str(node.binary), str(HERE / "weixin.mjs"), json.dumps(plan), cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "HOME": folder},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_PATIENCE):
                out, _ = await process.communicate(b"42\n")
        except TimeoutError:
            process.kill()
            await process.wait()
            return {}, {"": f"no end within {_PATIENCE:g} s"}
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for line in out.decode(errors="replace").splitlines():
        if line.startswith('{"name":'):
            step = json.loads(line)
            (errors if "error" in step else values)[step["name"]] = step.get("error", step.get("value"))
    return values, errors if values else {"": out.decode(errors="replace")[-300:]}


async def _uploaded(ilink: Ilink, bound: Bound) -> Mapping[str, Any]:
    """A file that our own client puts on the CDN, as a message names it."""
    http = Http()
    try:
        adapter = await ilink_of(http, ilink.cdn)
        bot = adapter.bot(Login(bound.bot, bound.token), ilink.url)
        data = _OURS.encode()
        done = await bot.upload(data, UploadMediaType.FILE, USER)
        item = item_of(Attachment("file", "a.txt", "text/plain", "0" * 64, len(data)), done)
        media: Mapping[str, Any] = item["file_item"]["media"]
        return media
    finally:
        await http.close()


def _check(name: str, seen: Seen, values: Values, errors: Mapping[str, str], server: tuple[Ilink, Bound]) -> Check:
    try:
        if seen(values, *server):
            return Check(name, "passed")
        why = json.dumps(values, ensure_ascii=False)
    except (LookupError, TypeError, ValueError) as error:
        why = "; ".join(f"{step}: {text}" for step, text in errors.items()) or repr(error)
    return Check(name, "failed", why[:300])
