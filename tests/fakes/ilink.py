"""Tencent's iLink with its CDN, played over real sockets: what a WeChat bot sees (platforms.md, 2).

In a test:

    async with Ilink() as ilink:
        account = ilink.bind()  # a phone that has scanned; `account.token` lets a bot in
        await account.says("你好")
        sent = await ilink.delivered(1)

As a process of its own, for trying the real program by hand:

    python -m tests.fakes.ilink --port 8099

Then set QINGTUAN_CHANNELS__WXCLAW__BASE_URL and …__CDN_URL to the printed addresses, run `qingtuan login wechat`
(the phone scans and confirms by itself), and type: each line is a message, `/image PATH` and `/file PATH` send one.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import itertools
import json
import re
import secrets
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, quote

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from qingtuan.channels.http.server import Server

USER = "o9cq80fakeuser@im.wechat"
BOT = "b0f5fakebot@im.bot"
_PATIENCE = 20.0
"""Seconds of real time after which nothing will happen any more."""
FIRST_ID = 7412345678901234501
"""Beyond what a float holds exactly: ids are uint64."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    at: float

    @property
    def body(self) -> Mapping[str, Any]:
        body: Mapping[str, Any] = json.loads(self.raw) if self.raw else {}
        return body


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the bot sent and the server took."""

    account: str
    to: str
    item: Mapping[str, Any]
    client_id: str
    context_token: str
    message_id: int
    at: float

    @property
    def text(self) -> str:
        return str(self.item.get("text_item", {}).get("text", ""))


@dataclass(slots=True)
class Answer:
    """A scripted answer."""

    body: Mapping[str, Any] = field(default_factory=lambda: {"ret": 0})
    status: int = 200
    delay: float = 0.0
    """Seconds before it."""
    taken: bool = False
    """Whether the message counts as sent all the same: the answer is lost or wrong."""
    raw: bytes | None = None


@dataclass(slots=True)
class Bound:
    """A phone that has bound the bot, and the session of the bot on it."""

    server: Ilink
    bot: str
    user: str
    token: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    expired: Mapping[str, Any] | None = None
    """What every request of this session is answered from now on."""
    typing: list[tuple[str, int]] = field(default_factory=list)
    started: int = 0
    stopped: int = 0
    since_inbound: dict[str, int] = field(default_factory=dict)

    async def says(self, text: str, **more: Any) -> dict[str, Any]:
        """The person sends a text."""
        return await self.sends({"type": 1, "text_item": {"text": text}}, **more)

    async def sends(self, *items: Mapping[str, Any], user: str | None = None, **more: Any) -> dict[str, Any]:
        """The person sends these items in one message."""
        number = self.server.number()
        message = {
            "seq": number % 10**6,
            "message_id": number,
            "from_user_id": user or self.user,
            "to_user_id": self.bot,
            "client_id": f"wx-{number}",
            "create_time_ms": round(time.time() * 1000),
            "session_id": "",
            "group_id": "",
            "message_type": 1,
            "message_state": 2,
            "item_list": list(items),
            "context_token": f"CT-{number}",
            **more,
        }
        return await self.arrives(message)

    async def arrives(self, *messages: dict[str, Any]) -> dict[str, Any]:
        """These messages wait for the bot, in one batch."""
        self.messages += messages
        for message in messages:
            if message.get("message_type") == 1:
                self.since_inbound[message.get("from_user_id", "")] = 0
        await self.server.changed()
        return messages[-1]


class Ilink:
    """The service, on a free port of the loopback address, for as long as the `async with` lasts."""

    def __init__(self, *, port: int = 0, hold: float = 1.0, most: int | None = 10) -> None:
        """`hold`: seconds that an idle poll is held. `most`: messages that may follow one of the person's; None lets
        any number pass."""
        self.hold = hold
        self.most = most
        self.asked: list[Asked] = []
        self.sent: list[Sent] = []
        self.scripted: dict[str, deque[Answer]] = defaultdict(deque)
        """By the last part of the path, what is answered next, each once."""
        self.accounts: list[Bound] = []
        self.blobs: dict[str, bytes] = {}
        """The CDN, by download parameter: cipher bytes."""
        self.codes: list[Code] = []
        self.next_code: Callable[[Code], None] = lambda code: None
        """Sets up each QR code that is asked for."""
        self.polling = 0
        self._uploads: dict[str, str] = {}
        self._numbers = itertools.count(FIRST_ID)
        self._changed = asyncio.Condition()
        self._closed = False
        self._port = port
        self._server = Server("127.0.0.1", port, {"/": self._answer})

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        await self.changed()
        await self._server.stop()

    async def goes_away(self) -> None:
        """Nobody listens on its port any more."""
        self._port = self._server.port
        await self.__aexit__()

    async def comes_back(self) -> None:
        """It listens again, knowing all that it knew."""
        self._closed = False
        self._server = Server("127.0.0.1", self._port, {"/": self._answer})
        await self._server.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def cdn(self) -> str:
        return f"{self.url}/c2c"

    def number(self) -> int:
        return next(self._numbers)

    async def changed(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def bind(self, user: str = USER, bot: str = BOT) -> Bound:
        """A phone scans and confirms; the session that the bot had on this phone ends."""
        for account in self.accounts:
            if account.user == user and account.expired is None:
                account.expired = {"errcode": -14, "errmsg": "session timeout"}
        account = Bound(self, bot, user, f"bot-token-{secrets.token_hex(8)}")
        self.accounts.append(account)
        return account

    async def delivered(self, count: int) -> list[Sent]:
        """The messages of the bot, once there are so many."""
        await self.until(lambda: len(self.sent) >= count)
        return self.sent

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so; looked at whenever a request was answered."""
        async with asyncio.timeout(_PATIENCE), self._changed:
            await self._changed.wait_for(condition)

    def calls(self, name: str) -> list[Asked]:
        """The requests to one endpoint, by the last part of its path."""
        return [asked for asked in self.asked if asked.path.endswith(f"/{name}")]

    def keep(self, data: bytes, key: bytes, param: str) -> None:
        """Put a file on the CDN as WeChat does: encrypted."""
        padder = PKCS7(128).padder()
        padded = padder.update(data) + padder.finalize()
        encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        self.blobs[param] = encryptor.update(padded) + encryptor.finalize()

    def read(self, param: str, key: str) -> bytes:
        """A file that the bot put there, decrypted with the key of its message (base64 of 32 hex digits)."""
        decryptor = Cipher(algorithms.AES(bytes.fromhex(base64.b64decode(key).decode())), modes.ECB()).decryptor()
        unpadder = PKCS7(128).unpadder()
        return unpadder.update(decryptor.update(self.blobs[param]) + decryptor.finalize()) + unpadder.finalize()

    # The wire

    async def _answer(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        body = b""
        more = True
        while more:
            piece = await receive()
            body += piece.get("body", b"")
            more = piece.get("more_body", False)
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        asked = Asked(scope["path"], query, headers, body, asyncio.get_running_loop().time())
        self.asked.append(asked)
        status, answer, extra = await self._handle(asked)
        raw = answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
        with contextlib.suppress(Exception):  # whoever asked may have gone
            head = [(b"content-length", str(len(raw)).encode()), *((k.encode(), v.encode()) for k, v in extra.items())]
            await send({"type": "http.response.start", "status": status, "headers": head})
            await send({"type": "http.response.body", "body": raw})
        await self.changed()

    async def _handle(self, asked: Asked) -> tuple[int, Mapping[str, Any] | bytes, Mapping[str, str]]:
        name = asked.path.rpartition("/")[2]
        scripted = self.scripted[name].popleft() if self.scripted[name] else None
        if scripted is not None:
            if scripted.delay:
                await asyncio.sleep(scripted.delay)
            if scripted.taken and (account := self._account(asked)) is not None:
                self._send(asked, account)
            if scripted.raw is not None or scripted.status != 200 or scripted.body != {"ret": 0}:
                return scripted.status, scripted.raw if scripted.raw is not None else scripted.body, {}
        if asked.path.startswith("/c2c/"):
            return self._cdn(name, asked)
        if name in ("get_bot_qrcode", "get_qrcode_status"):
            return 200, await self._login(name, asked), {}
        account = self._account(asked)
        if account is None:
            return 401, {"errmsg": "unauthorized"}, {}
        if account.expired is not None:
            return 200, account.expired, {}
        return 200, await self._bot(name, asked, account), {}

    def _account(self, asked: Asked) -> Bound | None:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        return next((account for account in self.accounts if account.token == token), None)

    async def _bot(self, name: str, asked: Asked, account: Bound) -> Mapping[str, Any]:
        match name:
            case "getupdates":
                return await self._updates(asked, account)
            case "sendmessage":
                return self._send(asked, account)
            case "getconfig":
                return {"ret": 0, "typing_ticket": f"ticket-{asked.body['ilink_user_id']}"}
            case "sendtyping":
                if asked.body["typing_ticket"] != f"ticket-{asked.body['ilink_user_id']}":
                    return {"ret": -1, "errmsg": "bad ticket"}
                account.typing.append((asked.body["ilink_user_id"], asked.body["status"]))
            case "getuploadurl":
                param = secrets.token_hex(8)
                self._uploads[param] = asked.body["filekey"]
                return {"ret": 0, "upload_param": param}
            case "notifystart":
                account.started += 1
            case "notifystop":
                account.stopped += 1
        return {"ret": 0}

    async def _updates(self, asked: Asked, account: Bound) -> Mapping[str, Any]:
        cursor = str(asked.body.get("get_updates_buf") or "")
        seen = int(cursor.removeprefix("cur-")) if re.fullmatch(r"cur-\d+", cursor) else 0

        def due() -> bool:
            return self._closed or account.expired is not None or len(account.messages) > seen

        self.polling += 1
        await self.changed()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.hold), self._changed:
                    await self._changed.wait_for(due)
        finally:
            self.polling -= 1
        if account.expired is not None:
            return account.expired
        return {
            "ret": 0,
            "msgs": account.messages[seen:],
            "get_updates_buf": f"cur-{len(account.messages)}",
            "longpolling_timeout_ms": round(self.hold * 1000),
        }

    def _send(self, asked: Asked, account: Bound) -> Mapping[str, Any]:
        message = asked.body["msg"]
        if len(message["item_list"]) != 1 or not message.get("client_id") or message.get("from_user_id") != "":
            return {"ret": -1, "errmsg": "malformed"}
        to = message["to_user_id"]
        known = next((sent for sent in self.sent if sent.client_id == message["client_id"]), None)
        if known is not None:
            return {"ret": 0, "message_id": known.message_id}
        count = account.since_inbound.get(to, 0)
        if self.most is not None and count >= self.most:
            return {"ret": -2, "errmsg": "rate limited"}
        account.since_inbound[to] = count + 1
        token = message.get("context_token", "")
        now = asyncio.get_running_loop().time()
        sent = Sent(account.bot, to, message["item_list"][0], message["client_id"], token, self.number(), now)
        self.sent.append(sent)
        return {"ret": 0, "message_id": sent.message_id}

    def _cdn(self, name: str, asked: Asked) -> tuple[int, bytes, Mapping[str, str]]:
        param = asked.query.get("encrypted_query_param", "")
        if name == "upload":
            if self._uploads.get(param) != asked.query.get("filekey"):
                return 400, b"", {"x-error-message": "unknown upload"}
            kept = f"down-{param}"
            self.blobs[kept] = asked.raw
            return 200, b"", {"x-encrypted-param": kept}
        if param not in self.blobs:
            return 404, b"", {"x-error-message": "gone"}
        return 200, self.blobs[param], {}

    async def _login(self, name: str, asked: Asked) -> Mapping[str, Any]:
        if name == "get_bot_qrcode":
            code = Code(self, f"qr-{secrets.token_hex(6)}", tuple(asked.body.get("local_token_list", ())))
            self.codes.append(code)
            self.next_code(code)
            return {"qrcode": code.name, "qrcode_img_content": f"https://liteapp.weixin.qq.com/q/{quote(code.name)}"}
        found = next((code for code in self.codes if code.name == asked.query.get("qrcode")), None)
        return await found.status(asked.query.get("verify_code", "")) if found is not None else {"status": "expired"}


@dataclass(slots=True)
class Code:
    """A QR code, and what the phone does with it."""

    server: Ilink
    name: str
    known: tuple[str, ...]
    """Tokens that the program said it has."""
    steps: deque[Mapping[str, Any]] = field(default_factory=deque)
    """What is answered before the end, one after the other."""
    verify: str = ""
    """The number that the phone shows, if it asks for one."""
    tries: int = 3
    user: str = USER
    bot: str = BOT
    baseurl: str | None = None
    end: Mapping[str, Any] | None = None
    """How it ends; None binds the phone."""

    async def status(self, verify_code: str) -> Mapping[str, Any]:
        if self.steps:
            return self.steps.popleft()
        if self.verify:
            if not verify_code:
                return {"status": "need_verifycode"}
            if verify_code != self.verify:
                self.tries -= 1
                return {"status": "need_verifycode" if self.tries else "verify_code_blocked"}
            self.verify = ""
            return {"status": "scaned"}
        if self.end is not None:
            return self.end
        account = self.server.bind(self.user, self.bot)
        self.end = {
            "status": "confirmed",
            "bot_token": account.token,
            "ilink_bot_id": account.bot,
            "ilink_user_id": account.user,
            "baseurl": self.baseurl if self.baseurl is not None else self.server.url,
        }
        return self.end


# By hand


@contextlib.contextmanager
def ilink_process(*arguments: str) -> Iterator[tuple[str, str]]:
    """The service as a process of its own; gives its address and that of its CDN."""
    command = [sys.executable, "-m", "tests.fakes.ilink", *arguments]
    folder = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        try:
            url, cdn = (process.stdout.readline().strip().partition("=")[2] for _ in range(2))
            yield url, cdn
        finally:
            process.kill()


async def _chat(server: Ilink, verify: str) -> None:
    def prepare(code: Code) -> None:
        code.steps.extend([{"status": "wait"}, {"status": "scaned"}])
        code.verify = verify

    async with server:
        sys.stdout.write(f"QINGTUAN_CHANNELS__WXCLAW__BASE_URL={server.url}\n")
        sys.stdout.write(f"QINGTUAN_CHANNELS__WXCLAW__CDN_URL={server.cdn}\n")
        sys.stdout.flush()
        server.next_code = prepare
        await asyncio.gather(_show(server), _type(server))


async def _show(server: Ilink) -> None:
    shown = 0
    while True:
        await asyncio.sleep(0.2)
        for sent in server.sent[shown:]:
            sys.stdout.write(f"[{sent.at:.1f}] {sent.text or json.dumps(sent.item, ensure_ascii=False)}\n")
        shown = len(server.sent)
        sys.stdout.flush()


async def _type(server: Ilink) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        text = line.rstrip("\n")
        account = next((one for one in reversed(server.accounts) if one.expired is None), None)
        if account is None:
            sys.stdout.write("(nobody has scanned yet)\n")
        elif found := re.fullmatch(r"/(image|file) (.+)", text):
            await account.sends(_item_of(server, found[1], Path(found[2])))
        elif text == "/expire":
            account.expired = {"errcode": -14, "errmsg": "session timeout"}
            await server.changed()
        elif text:
            await account.says(text)
    await asyncio.Event().wait()


def _item_of(server: Ilink, kind: str, path: Path) -> Mapping[str, Any]:
    key, param = secrets.token_bytes(16), secrets.token_hex(8)
    server.keep(path.read_bytes(), key, param)
    media = {"encrypt_query_param": param, "aes_key": base64.b64encode(key.hex().encode()).decode(), "encrypt_type": 1}
    if kind == "image":
        return {"type": 2, "image_item": {"media": media}}
    return {"type": 4, "file_item": {"media": media, "file_name": path.name, "len": str(path.stat().st_size)}}


def main() -> None:
    parser = argparse.ArgumentParser(description="A WeChat iLink server with one phone, which you are.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--hold", type=float, default=2.0, help="seconds that an idle poll is held")
    parser.add_argument("--verify", default="", help="the number that the phone shows, if it is to show one")
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_chat(Ilink(port=given.port, hold=given.hold), given.verify))


if __name__ == "__main__":
    main()
