"""`qingtuan serve` with something in the way: one sentence says what it is and what to do, and the rest works."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from qingtuan.channels.wxclaw.accounts import Login, keep_login, login_file
from tests.cli.conftest import CommandLine
from tests.fakes.ilink import USER, Ilink
from tests.fakes.napcat import NapCat
from tests.fakes.telegram_server import TOKEN, TelegramServer

QQ_TOKEN = "a-long-and-random-token"
OWNERS = json.dumps(["qq:10000", "tg:5", f"wx:{USER}"])
PATIENCE = 20.0


class Serving:
    """A running `serve`, and what it has said so far."""

    def __init__(self, qingtuan: CommandLine) -> None:
        self.qingtuan = qingtuan
        self.said = ""
        self.process = qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line

    async def says(self, *words: str) -> str:
        """Wait until it has said all of this; the whole."""
        with suppress(TimeoutError):
            await until(lambda: all(word in self.said for word in words) or self.process.poll() is not None)
        assert [word for word in words if word not in self.said] == [], self.said
        return self.said

    async def base(self) -> str:
        """Where it listens."""
        await self.says("http://")
        found = re.search(r"http://[0-9.:]+\d", self.said)
        assert found is not None
        return found[0]

    async def chat(self, message: str) -> httpx.Response:
        """Say something over HTTP."""
        base = await self.base()
        added = await asyncio.to_thread(self.qingtuan, "key", "add", "laptop", "--person", "owner")
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            head = {"authorization": f"Bearer {added.out.strip()}"}
            return await http.post(f"{base}/chat", json={"message": message}, headers=head)

    async def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.to_thread(self.process.wait, 30)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def serving(qingtuan: CommandLine, **environ: str) -> AsyncIterator[Serving]:
    named = {f"QINGTUAN_{name}": value for name, value in environ.items()}
    serve = Serving(qingtuan.with_(QINGTUAN_OWNER__ACCOUNTS=OWNERS, **named))
    try:
        yield serve
    finally:
        await asyncio.to_thread(serve.close)
    assert "Traceback" not in serve.said


@asynccontextmanager
async def telegram() -> AsyncIterator[TelegramServer]:
    server = await TelegramServer().start()
    try:
        yield server
    finally:
        await server.close()


def telegram_of(server: TelegramServer) -> dict[str, str]:
    return {"CHANNELS__TELEGRAM__TOKEN": TOKEN, "CHANNELS__TELEGRAM__API_SERVER": server.url}


async def talks(server: TelegramServer) -> None:
    """Telegram answers."""
    before = answers(server)
    await server.say("你好")
    await until(lambda: answers(server) == before + 1)


def answers(server: TelegramServer) -> int:
    """How often it was answered."""
    return sum("阿青" in text for text in server.texts())


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("zh", ("没有开", "QQ（channels.onebot.access_token 没填）", "Telegram（channels.telegram.token 没填）")),
        ("en", ("Not on: ", "QQ (channels.onebot.access_token is empty)", "qingtuan login wechat")),
    ],
)
async def test_empty_tokens(qingtuan: CommandLine, language: str, words: tuple[str, ...]) -> None:
    empty = {"CHANNELS__ONEBOT__ACCESS_TOKEN": " ", "CHANNELS__TELEGRAM__TOKEN": ""}
    async with serving(qingtuan, LANGUAGE=language, **empty) as serve:
        await serve.says(*words)
        assert (await serve.chat("你好")).json()["reply"] == "你好，**阿青**。"


@pytest.mark.parametrize(("language", "words"), [("zh", "QQ 没有口令"), ("en", "QQ has no token")])
async def test_no_token_where_there_is_an_address(qingtuan: CommandLine, language: str, words: str) -> None:
    async with telegram() as server:
        urls = {"CHANNELS__ONEBOT__URLS": '["ws://127.0.0.1:9"]', "CHANNELS__ONEBOT__ACCESS_TOKEN": ""}
        async with serving(qingtuan, LANGUAGE=language, **urls, **telegram_of(server)) as serve:
            said = await serve.says(words, "@TestNameBot")
            assert said.count(words) == 1
            await talks(server)


@pytest.mark.parametrize(
    ("language", "words"),
    [("zh", ("连不上 Telegram", "channels.telegram.proxy")), ("en", ("Telegram is out of reach",))],
)
async def test_a_server_that_cannot_be_reached(qingtuan: CommandLine, language: str, words: tuple[str, ...]) -> None:
    away = {"CHANNELS__TELEGRAM__TOKEN": TOKEN, "CHANNELS__TELEGRAM__API_SERVER": "http://127.0.0.1:9"}
    async with serving(qingtuan, LANGUAGE=language, **away) as serve:
        await serve.says(*words)
        assert TOKEN not in serve.said
        assert (await serve.chat("你好")).status_code == 200


@pytest.mark.parametrize(
    ("language", "words"), [("zh", "channels.onebot.urls 写得对不对"), ("en", "whether channels.onebot.urls is right")]
)
async def test_a_napcat_that_cannot_be_reached(qingtuan: CommandLine, language: str, words: str) -> None:
    async with telegram() as server:
        away = {"CHANNELS__ONEBOT__ACCESS_TOKEN": QQ_TOKEN, "CHANNELS__ONEBOT__URLS": '["ws://127.0.0.1:9"]'}
        async with serving(qingtuan, LANGUAGE=language, **away, **telegram_of(server)) as serve:
            await serve.says(words)
            await talks(server)


@pytest.mark.parametrize(("language", "words"), [("zh", "BotFather"), ("en", "BotFather")])
async def test_a_wrong_key_of_telegram(qingtuan: CommandLine, language: str, words: str) -> None:
    async with telegram() as server, NapCat() as napcat:
        server.token = "666:another"
        qq = {"CHANNELS__ONEBOT__ACCESS_TOKEN": QQ_TOKEN}
        async with serving(qingtuan, LANGUAGE=language, **qq, **telegram_of(server)) as serve:
            said = await serve.says(words)
            assert TOKEN not in said
            await napcat.connect(f"{(await serve.base()).replace('http', 'ws')}/onebot/v11/ws", QQ_TOKEN)
            await napcat.says(10000, "你好")
            assert "阿青" in (await napcat.sent())[0].text
            await serve.says("qq:10001")
            server.token = TOKEN
            await serve.says("@TestNameBot")  # it comes by itself once the key is right


@pytest.mark.parametrize(("language", "words"), [("zh", "口令不对"), ("en", "with a wrong token")])
async def test_a_wrong_token_of_napcat(qingtuan: CommandLine, language: str, words: str) -> None:
    async with telegram() as server, NapCat() as napcat:
        qq = {"CHANNELS__ONEBOT__ACCESS_TOKEN": QQ_TOKEN}
        async with serving(qingtuan, LANGUAGE=language, **qq, **telegram_of(server)) as serve:
            url = f"{(await serve.base()).replace('http', 'ws')}/onebot/v11/ws"
            for _ in range(2):
                with pytest.raises(Exception, match="403"):
                    await napcat.connect(url, "a-wrong-one")
            said = await serve.says(words)
            assert QQ_TOKEN not in said
            assert "a-wrong-one" not in said
            await talks(server)


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_session_of_wechat_that_ended(qingtuan: CommandLine, language: str) -> None:
    async with telegram() as server, Ilink(hold=0.3) as ilink:
        phone = ilink.bind()
        qingtuan.home_of().prepare()
        keep_login(login_file(qingtuan.home), Login(phone.bot, phone.token, ilink.url, phone.user))
        wechat = {"CHANNELS__WXCLAW__BASE_URL": ilink.url, "CHANNELS__WXCLAW__CDN_URL": ilink.cdn}
        async with serving(qingtuan, LANGUAGE=language, **wechat, **telegram_of(server)) as serve:
            await phone.says("你好")
            await ilink.delivered(1)
            await talks(server)
            phone.expired = {"errcode": -14, "errmsg": "session timeout"}
            await ilink.changed()
            said = await serve.says("qingtuan login wechat")
            assert phone.token not in said
            await talks(server)
            # The owner is told where they can read it.
            await until(lambda: any("qingtuan login wechat" in text for text in server.texts()))


async def test_a_wrong_key_of_a_program(qingtuan: CommandLine) -> None:
    async with serving(qingtuan) as serve, httpx.AsyncClient(trust_env=False) as http:
        base = await serve.base()
        refused = await http.post(f"{base}/chat", json={"message": "你好"}, headers={"authorization": "Bearer sk-no"})
        assert refused.status_code == 401
        error = refused.json()["error"]
        assert "qingtuan key add" in error["message"]
        assert (await serve.chat("你好")).status_code == 200


@pytest.mark.parametrize(("language", "words"), [("zh", "被别的程序占着"), ("en", "Another program has")])
async def test_a_port_that_is_taken(qingtuan: CommandLine, language: str, words: str) -> None:
    async with telegram() as server:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            async with serving(qingtuan, LANGUAGE=language, SERVER__PORT=port, **telegram_of(server)) as serve:
                said = await serve.says(words, "@TestNameBot")
                assert said.count(words) == 1
                await talks(server)
                assert await serve.end() == 0


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own, as large as given."""
    folder.mkdir(parents=True)
    size = f"size={megabytes}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(file: Path) -> None:
    """Write until there is no room for more."""
    number = os.open(file, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while os.write(number, b"\0" * 4096):
            pass
    os.close(number)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_disk_that_is_full(qingtuan: CommandLine, language: str) -> None:
    """What cannot be stored is not taken, and comes again: nothing is lost, and nothing ends."""
    async with telegram() as server:
        with small_disk(qingtuan.home, 24):
            async with serving(qingtuan, LANGUAGE=language, **telegram_of(server)) as serve:
                await serve.says("@TestNameBot")
                answered = await serve.chat("你好")
                assert answered.status_code == 200
                head = dict(answered.request.headers)
                filler = qingtuan.home / "filler"
                fill(filler)
                await server.say("你好")
                await serve.says("磁盘" if language == "zh" else "disk")
                async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
                    base = await serve.base()
                    refused = await http.post(
                        f"{base}/chat", json={"message": "你好"}, headers={"authorization": head["authorization"]}
                    )
                assert refused.status_code in (503, 507), refused.text
                assert refused.json()["error"]["message"]
                assert server.texts() == []
                filler.unlink()
                await until(lambda: server.texts())
                assert ["阿青" in text for text in server.texts()] == [True]
                assert await serve.end() == 0
