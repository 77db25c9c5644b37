"""`qingtuan ask` as others rely on it: what stands on which output, and how it exits (contracts.md, Commands)."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine

FIELDS = {"reply", "session", "turn", "pending", "usage", "tools"}


def test_the_reply_is_all_that_stands_on_standard_output(qingtuan: CommandLine) -> None:
    ran = qingtuan.process("ask", "你好")
    assert (ran.code, ran.out, ran.err) == (0, "你好，**阿青**。\n", "")


def test_json_is_one_object(qingtuan: CommandLine) -> None:
    found = qingtuan("ask", "--json", "我不吃香菜").json
    assert found.keys() == FIELDS
    assert (found["reply"], found["tools"], found["pending"]) == ("办好了。", ["remember"], [])
    assert found["turn"].startswith("turn_")
    assert found["usage"]["prompt"] > 0
    assert "不吃香菜" in (qingtuan.home / "wiki/users/owner/profile.md").read_text()


def test_a_turn_that_waits_for_a_yes(qingtuan: CommandLine) -> None:
    asked = qingtuan("ask", "订座 A12")
    assert asked.code == 5
    assert "A12" in asked.out
    ran = qingtuan("ask", "--json", "你好")
    (pending,) = ran.json["pending"]
    assert pending.keys() == {"code", "summary", "expires"}
    carried = qingtuan("ask", "--json", "确认")
    assert (carried.code, carried.json["tools"], carried.json["pending"]) == (0, ["reserve"], [])


def test_what_somebody_else_wants_is_named_to_the_owner_with_its_code(qingtuan: CommandLine) -> None:
    qingtuan = qingtuan.with_(QINGTUAN_ACCESS__MEMBERS='["qq:10002"]')
    member = qingtuan("ask", "--json", "--as", "qq:10002", "订座 A12")
    assert member.code == 5
    assert member.json["reply"] == "这要主人同意，已经去问了，有结果就告诉你。"
    assert [asked["code"] for asked in member.json["pending"]] == [None]
    owner = qingtuan("ask", "你好")
    (line,) = owner.err.splitlines()
    assert line.startswith("还等你答复「确认 ")
    assert "qq:10002（私聊）：要执行" in line
    (pending,) = qingtuan("ask", "--json", "你好").json["pending"]
    assert f"「确认 {pending['code']}」" in line
    assert qingtuan("ask", f"确认 {pending['code']}").out == "好，结果在那边说。\n"
    assert qingtuan("ask", "你好").err == ""


def test_standard_input_is_the_words_or_material_beside_them(qingtuan: CommandLine) -> None:
    assert qingtuan("ask", "-", stdin="你好\n").out == "你好，**阿青**。\n"
    ran = qingtuan.process("ask", "总结", stdin="一、二、三")
    assert (ran.code, ran.out) == (0, "材料说了三件事。\n")
    events = qingtuan("trace", "last").out
    assert "标准输入" in events
    assert qingtuan("ask", "-", stdin="  \n").code == 2


def test_a_file_goes_along_and_is_material(qingtuan: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "说明.txt").write_text("借书证在一楼办。", "utf-8")
    ran = qingtuan("ask", "--image", str(tmp_path / "说明.txt"), "你好")
    assert (ran.code, ran.err) == (0, "")
    assert "media.read" in qingtuan("events").out
    assert len(list((qingtuan.home / "media").iterdir())) == 1
    assert qingtuan("ask", "--image", str(tmp_path / "missing.png"), "你好").code == 2
    (tmp_path / "empty.png").write_bytes(b"")
    assert "空的" in qingtuan("ask", "--image", str(tmp_path / "empty.png"), "你好").err


def test_nobody_answers(qingtuan: CommandLine) -> None:
    nowhere = qingtuan.with_(QINGTUAN_LLM__BASE_URL="http://127.0.0.1:9/v1")
    ran = nowhere("ask", "--json", "你好")
    assert ran.code == 3
    assert ran.json.keys() == FIELDS | {"error"}


def test_who_is_refused_is_told_why(qingtuan: CommandLine) -> None:
    group = qingtuan("ask", "--as", "qq:10001", "--space", "group:777", "你好")
    assert (group.code, group.out) == (4, "")
    assert "没有启用" in group.err
    stranger = qingtuan("ask", "--json", "--as", "qq:10001", "你好")
    assert stranger.code == 4
    assert "名单" in stranger.json["error"]
    enabled = qingtuan.with_(QINGTUAN_ACCESS__GROUPS='["qq:777"]')
    assert enabled("ask", "--as", "qq:10001", "--space", "group:777", "你好").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "要一个命令"),
        (("aks",), "是不是 ask？"),
        (("ask",), "还缺 TEXT|-"),
        (("ask", "x", "--picture", "a.png"), "不认识 --picture a.png"),
        (("ask", "x", "--as", "10001"), "不是账号"),
        (("ask", "x", "--space", "777"), "不是地方"),
    ],
)
def test_usage(qingtuan: CommandLine, arguments: tuple[str, ...], words: str) -> None:
    ran = qingtuan(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_ctrl_c_stops_the_turn(qingtuan: CommandLine) -> None:
    asking = qingtuan.start("ask", "慢", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    qingtuan.wait_for_event("model.requested", asking)
    asking.send_signal(signal.SIGINT)
    out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out) == (1, "")
    assert "停下" in err
