"""`qingtuan serve` as a real process: how it begins, what it says when something is in the way, and how it ends."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.napcat import NapCat

TOKEN = "a-long-and-random-token"


@dataclass
class Serving:
    """A running `serve`."""

    process: subprocess.Popen[str]
    base: str
    key: str

    def say(self, message: str, **more: object) -> httpx.Response:
        return httpx.post(
            f"{self.base}/chat",
            json={"message": message, **more},
            headers={"authorization": f"Bearer {self.key}"},
            timeout=60,
            trust_env=False,
        )

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def serving(qingtuan: CommandLine) -> Iterator[Serving]:
    process = qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        base = None
        while base is None:
            line = process.stderr.readline()
            assert line, "it ended"
            base = re.search(r"http://[0-9.:]+", line)
        key = qingtuan("key", "add", "laptop", "--person", "owner")
        if key.code:
            qingtuan("key", "revoke", "laptop")
            key = qingtuan("key", "add", "laptop", "--person", "owner")
        yield Serving(process, base[0], key.out.strip())
    finally:
        process.kill()
        process.communicate()


def soon(serve: Serving, message: str) -> Future[httpx.Response]:
    return ThreadPoolExecutor(1).submit(serve.say, message)


def test_it_runs_answers_and_ends(qingtuan: CommandLine) -> None:
    with serving(qingtuan) as serve:
        assert httpx.get(f"{serve.base}/health", trust_env=False).json() == {"status": "up"}
        assert serve.say("你好").json()["reply"] == "你好，**阿青**。"
        serve.end()
        assert serve.process.wait(30) == 0
    log = qingtuan.home / "logs" / "qingtuan.log"
    text = log.read_text("utf-8")
    assert "listening on 127.0.0.1" in text
    assert "POST /chat 200" in text
    assert "你好" not in text
    assert serve.key not in text
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_turn_that_runs_comes_to_its_end_first(qingtuan: CommandLine) -> None:
    with serving(qingtuan) as serve:
        answer = soon(serve, "等等")
        qingtuan.wait_for_event("model.requested", serve.process)
        serve.end()
        assert answer.result(30).json()["reply"] == "想好了。"
        assert serve.process.wait(30) == 0
    assert "delivery.sent" in qingtuan("events", "-n", "3").out


def test_asked_twice_it_ends_at_once_and_goes_on_at_the_next_start(qingtuan: CommandLine) -> None:
    with serving(qingtuan) as serve:
        answer = soon(serve, "慢")
        qingtuan.wait_for_event("model.requested", serve.process)
        serve.end()
        assert serve.process.stderr is not None
        assert "正在停下" in serve.process.stderr.readline()
        serve.end()
        stopped = answer.result(30)
        assert (stopped.status_code, stopped.json()["error"]["code"]) == (503, "stopping")
        assert stopped.headers["x-should-retry"] == "false"
        assert serve.process.wait(30) == 0
    assert "turn.finished" not in qingtuan("events", "-n", "50").out
    with serving(qingtuan) as serve:
        # Taken up again: the same turn asks the model once more.
        for _ in range(100):
            if qingtuan("events", "-n", "50").out.count("model.requested") == 2:
                break
            time.sleep(0.1)
        else:
            pytest.fail("it is not taken up")
        serve.process.kill()


def test_nothing_new_is_taken_in_while_it_ends(qingtuan: CommandLine) -> None:
    with serving(qingtuan) as serve:
        answer = soon(serve, "等等")
        qingtuan.wait_for_event("model.requested", serve.process)
        serve.end()
        assert serve.process.stderr is not None
        assert "正在停下" in serve.process.stderr.readline()
        late = serve.say("还有")
        assert (late.status_code, late.json()["error"]["code"]) == (503, "stopping")
        assert answer.result(30).status_code == 200


def test_a_reply_goes_out_before_the_line_to_qq_is_cut(qingtuan: CommandLine) -> None:
    """A server that is told to stop closes WebSockets at once (platforms.md, 0.8)."""
    there = qingtuan.with_(QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN=TOKEN, QINGTUAN_OWNER__ACCOUNTS='["qq:10000"]')

    async def talk(serve: Serving) -> str:
        async with NapCat() as napcat:
            await napcat.connect(f"{serve.base.replace('http', 'ws')}/onebot/v11/ws", TOKEN)
            await napcat.says(10000, "等等")
            await asyncio.to_thread(there.wait_for_event, "model.requested", serve.process)
            serve.end()
            (reply,) = await napcat.sent()
            return reply.text

    with serving(there) as serve:
        assert asyncio.run(talk(serve)) == "想好了。"
        assert serve.process.wait(30) == 0
    assert "delivery.sent" in there("events", "-n", "3").out


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"QINGTUAN_SERVER__HOST": "192.0.2.1"}, "不是这台机器的地址"),
        ({"QINGTUAN_SERVER__HOST": "no.such.host.invalid"}, "不是这台机器的地址"),
        ({"QINGTUAN_SERVER__PORT": "taken"}, "被别的程序占着"),
    ],
)
def test_what_is_in_the_way_is_said_and_the_rest_works(
    qingtuan: CommandLine, environ: dict[str, str], said: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        there = qingtuan.with_(**{name: port if value == "taken" else value for name, value in environ.items()})
        process = there.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            assert process.stderr is not None
            assert "在运行" in process.stderr.readline()
            lines = [process.stderr.readline()]
            while lines[-1] and said not in lines[-1]:
                lines.append(process.stderr.readline())
            assert said in lines[-1], lines
            assert there("ask", "你好").out.strip()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.communicate()


def test_it_says_which_chat_apps_it_has(qingtuan: CommandLine) -> None:
    there = qingtuan.with_(QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN="long-and-random-enough-0123456789")
    process = there.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert "在运行" in process.stderr.readline()
        assert process.stderr.readline().startswith("没有开：Telegram（")
        assert process.stderr.readline().startswith("聊天软件：QQ；")
        assert process.stderr.readline().startswith("程序从 http://127.0.0.1:")
    finally:
        process.kill()
        process.communicate()


def test_systemd_is_told(qingtuan: CommandLine, tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        systemd.settimeout(30)
        there = qingtuan.with_(NOTIFY_SOCKET=address, WATCHDOG_USEC="200000")
        with serving(there) as serve:
            heard = [systemd.recv(100) for _ in range(4)]
            assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
            serve.end()
            assert serve.process.wait(30) == 0
            while heard[-1] != b"STOPPING=1":
                heard.append(systemd.recv(100))


def test_it_starts_as_a_module_too(qingtuan: CommandLine) -> None:
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "qingtuan", "--version"],
        env=qingtuan.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.startswith("qingtuan ")) == (0, True)
