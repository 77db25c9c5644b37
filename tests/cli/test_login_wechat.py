"""`qingtuan login wechat`, as somebody with a phone sees it."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import time
from collections.abc import Iterator

import pytest

from qingtuan.storage.sqlite import Database
from tests.cli.conftest import CommandLine
from tests.fakes.ilink import BOT, USER, ilink_process

CODE = re.compile(r"[2-9A-Z]{4}-[2-9A-Z]{4}")


@pytest.fixture
def wechat(qingtuan: CommandLine) -> Iterator[CommandLine]:
    with ilink_process("--verify", "42", "--hold", "0.3") as (url, cdn):
        yield qingtuan.with_(QINGTUAN_CHANNELS__WXCLAW__BASE_URL=url, QINGTUAN_CHANNELS__WXCLAW__CDN_URL=cdn)


def test_a_phone_scans_and_its_owner_is_told_what_to_do(wechat: CommandLine) -> None:
    ran = wechat("login", "wechat", stdin="41\n42\n")
    assert ran.code == 0, ran.err
    assert "▀" in ran.err  # the code is drawn
    assert "https://liteapp.weixin.qq.com/q/qr-" in ran.err
    assert ran.err.index("手机上显示的数字") < ran.err.index("不对，再看一眼")
    assert f"登录好了：{BOT}，和它聊天的是 wx:{USER}。" in ran.out
    assert CODE.search(ran.out)
    assert "qingtuan serve 就能聊了" in ran.err
    path = wechat.home / "wechat.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (login,) = json.loads(path.read_text("utf-8"))["accounts"]
    assert (login["account"], login["user"]) == (BOT, USER)
    assert login["token"] not in ran.out + ran.err
    assert login["token"] not in wechat("settings").out
    assert login["token"] not in wechat("events").out


def test_the_owners_own_account_needs_no_code(wechat: CommandLine) -> None:
    ran = wechat.with_(QINGTUAN_OWNER__ACCOUNTS=f'["wx:{USER}"]')("login", "wechat", stdin="42\n")
    assert ran.code == 0, ran.err
    assert "这是主人的账号" in ran.err
    assert not CODE.search(ran.out)


def test_whoever_gives_up_leaves_nothing_behind(wechat: CommandLine) -> None:
    ran = wechat("login", "wechat", stdin="")
    assert ran.code == 1
    assert "没有输入手机上的数字" in ran.err
    assert not (wechat.home / "wechat.json").exists()


def test_a_server_that_cannot_be_reached_is_said(qingtuan: CommandLine) -> None:
    ran = qingtuan.with_(QINGTUAN_CHANNELS__WXCLAW__BASE_URL="http://127.0.0.1:9")("login", "wechat")
    assert ran.code == 1
    assert "连不上微信的服务器" in ran.err


def test_what_runs_takes_it_up_at_once(wechat: CommandLine) -> None:
    with wechat.start("serve", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        try:
            assert serving.stderr is not None
            assert "在运行" in serving.stderr.readline()
            ran = wechat("login", "wechat", stdin="42\n")
            assert ran.code == 0, ran.err
            assert "马上就用上" in ran.err
            assert CODE.search(ran.out)  # given by the one that runs
            _until_it_polls(wechat)
        finally:
            serving.terminate()


def _until_it_polls(wechat: CommandLine) -> None:
    """Its cursor is written down with the first poll that brings one."""
    for _ in range(300):
        database = Database(wechat.home / "state.sqlite", read_only=True)
        try:
            if database.row("SELECT 1 FROM wxclaw_accounts WHERE cursor <> ''") is not None:
                return
        finally:
            database.close()
        time.sleep(0.1)
    raise AssertionError("it does not poll")
