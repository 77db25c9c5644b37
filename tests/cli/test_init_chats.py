"""`qingtuan init` and `login`: the chat apps, from nothing to a code that the owner sends."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from qingtuan.settings.dotenv import read_dotenv
from tests.cli.conftest import CommandLine
from tests.fakes.json_server import json_server
from tests.fakes.napcat_pages import NapCatPages

TOKEN = "6660001:AAHtest-token_of-somebody-0123"
CODE = re.compile(r"[2-9A-Z]{4}-[2-9A-Z]{4}")


def telegram(path: str, _: object, __: object) -> Any:
    if path == f"/bot{TOKEN}/getMe":
        bot = {"id": 666, "is_bot": True, "first_name": "T", "username": "tuan_bot", "can_join_groups": True}
        return {"ok": True, "result": bot}
    return {"ok": False, "error_code": 401, "description": "Unauthorized"}


def secrets(qingtuan: CommandLine) -> dict[str, str]:
    path = qingtuan.home / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return read_dotenv(path)


def test_qq_is_set_up_on_both_sides(qingtuan: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "napcat" / "config"
    ran = qingtuan.with_(QINGTUAN_SERVER__PORT="8099")("init", stdin=f"1\n\n1\n{folder}\n")
    assert ran.code == 0, ran.err
    kept = secrets(qingtuan)
    token = kept["QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN"]
    assert len(token) >= 32
    one_bot = json.loads((folder / "onebot11.json").read_text("utf-8"))
    (connection,) = one_bot["network"]["websocketClients"]
    assert (connection["url"], connection["token"]) == ("ws://127.0.0.1:8099/onebot/v11/ws", token)
    assert connection["enable"] is True
    assert connection["messagePostFormat"] == "array"
    web = json.loads((folder / "webui.json").read_text("utf-8"))
    assert web["token"] == kept["QINGTUAN_CHANNELS__ONEBOT__NAPCAT_TOKEN"]
    assert token not in ran.out + ran.err
    code = CODE.search(ran.out)
    assert code
    assert f"QQ：用你自己的号私聊小号，发 {code[0]}" in ran.out
    assert "认得了：qq:10001 是主人的账号。" in qingtuan("ask", "--as", "qq:10001", code[0]).out
    again = qingtuan("init", stdin=f"1\n\nqq\n{folder}\n")
    assert again.code == 0
    assert secrets(qingtuan)["QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN"] == token


def test_where_napcat_runs_already_its_pages_keep_their_token_and_give_the_code(
    qingtuan: CommandLine, tmp_path: Path
) -> None:
    pages = NapCatPages("q1-their-own")
    (tmp_path / "webui.json").write_text(json.dumps({"host": "::", "port": 6099, "token": "q1-their-own"}))
    with json_server(pages.answer) as url:
        there = qingtuan.with_(QINGTUAN_CHANNELS__ONEBOT__NAPCAT_URL=url)
        ran = there("init", stdin=f"1\n\n1\n{tmp_path}\n")
    assert ran.code == 0
    assert "小号）扫" in ran.err
    assert "QQ 登录好了" in ran.out
    assert secrets(qingtuan)["QINGTUAN_CHANNELS__ONEBOT__NAPCAT_TOKEN"] == "q1-their-own"
    assert json.loads((tmp_path / "webui.json").read_text())["token"] == "q1-their-own"
    (tmp_path / "webui.json").write_text("{broken")
    assert qingtuan("init", stdin=f"1\n\n1\n{tmp_path}\n").code == 0
    assert json.loads((tmp_path / "webui.json").read_text())["token"] == "q1-their-own"


def test_qq_without_napcats_folder_says_what_to_fill_in_where(qingtuan: CommandLine) -> None:
    elsewhere = qingtuan.with_(QINGTUAN_CHANNELS__ONEBOT__ADDRESS="ws://box:9000/onebot/v11/ws")
    ran = elsewhere("init", stdin="1\n\nQQ\n\n")
    assert ran.code == 0
    assert "ws://box:9000/onebot/v11/ws" in ran.err
    assert str(qingtuan.home / ".env") in ran.err
    assert secrets(qingtuan)["QINGTUAN_CHANNELS__ONEBOT__ACCESS_TOKEN"] not in ran.out + ran.err


def test_a_folder_that_cannot_be_written_to_is_told_and_nothing_is_set(qingtuan: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = qingtuan("init", stdin=f"1\n\n1\n{tmp_path / 'file' / 'config'}\n")
    assert ran.code == 0  # the model is set all the same
    assert not any("CHANNELS" in name for name in secrets(qingtuan))
    assert "QQ：用你" not in ran.out


def test_telegram_is_tried_and_gives_a_link_with_the_code(qingtuan: CommandLine) -> None:
    with json_server(telegram) as url:
        there = qingtuan.with_(QINGTUAN_CHANNELS__TELEGRAM__API_SERVER=url)
        ran = there("init", stdin=f"1\n\n3\nnonsense\n{TOKEN[:-1]}x\n{TOKEN}\n")
    assert ran.code == 0
    assert "这不像 BotFather 给的 token" in ran.err
    assert "Telegram 不认这个 token。" in ran.err
    assert "认得了：@tuan_bot。" in ran.err
    assert secrets(qingtuan)["QINGTUAN_CHANNELS__TELEGRAM__TOKEN"] == TOKEN
    assert TOKEN not in ran.out + ran.err
    code = CODE.search(ran.out)
    assert code
    assert f"https://t.me/tuan_bot?start={code[0]}" in ran.out


def test_telegram_out_of_reach_is_told_and_nothing_is_kept(qingtuan: CommandLine) -> None:
    nowhere = qingtuan.with_(QINGTUAN_CHANNELS__TELEGRAM__API_SERVER="http://127.0.0.1:9", QINGTUAN_LANGUAGE="en")
    ran = nowhere("init", stdin=f"2\n\ntelegram\n{TOKEN}\n\n")
    assert ran.code == 0
    assert "Telegram cannot be reached." in ran.err
    assert TOKEN not in ran.out + ran.err
    assert not any("CHANNELS" in name for name in secrets(qingtuan))


@pytest.mark.parametrize("typed", ["", "5", "weixin qq2"])
def test_no_chat_app_is_an_answer_too(qingtuan: CommandLine, typed: str) -> None:
    ran = qingtuan("init", stdin=f"1\n\n{typed}\n")
    assert ran.code == 0
    assert not any("CHANNELS" in name for name in secrets(qingtuan))
    assert CODE.search(ran.out)


def test_the_code_to_log_in_to_qq_is_drawn_until_somebody_scans(qingtuan: CommandLine) -> None:
    pages = NapCatPages("q1-secret")
    with json_server(pages.answer) as url:
        there = qingtuan.with_(
            QINGTUAN_CHANNELS__ONEBOT__NAPCAT_URL=url, QINGTUAN_CHANNELS__ONEBOT__NAPCAT_TOKEN="q1-secret"
        )
        ran = there("login", "qq")
        wrong = there.with_(QINGTUAN_CHANNELS__ONEBOT__NAPCAT_TOKEN="other")("login", "qq")
    assert ran.code == 0
    assert "QQ 登录好了" in ran.out
    assert ran.err.count("小号）扫") == 1
    assert len([line for line in ran.err.splitlines() if "█" in line or "▀" in line or "▄" in line]) > 10
    assert wrong.code == 1
    assert "核对 channels.onebot.napcat_token" in wrong.err
    assert "secret" not in ran.err + wrong.err


def test_napcat_that_is_away_or_is_something_else_is_told(qingtuan: CommandLine) -> None:
    unknown = qingtuan("login", "qq")
    assert unknown.code == 1
    assert "运行 qingtuan init" in unknown.err
    set_up = qingtuan.with_(QINGTUAN_CHANNELS__ONEBOT__NAPCAT_TOKEN="t", QINGTUAN_LANGUAGE="en")
    away = set_up.with_(QINGTUAN_CHANNELS__ONEBOT__NAPCAT_URL="http://127.0.0.1:9")("login", "qq")
    assert away.code == 1
    assert "NapCat (http://127.0.0.1:9) cannot be reached" in away.err
    with json_server(lambda *_: b"<html>") as url:
        other = set_up.with_(QINGTUAN_CHANNELS__ONEBOT__NAPCAT_URL=url)("login", "qq")
    assert other.code == 1
    assert "is not NapCat" in other.err
