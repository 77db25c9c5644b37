"""`qingtuan mcp check`, and what the doctor says of servers."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.conftest import CommandLine
from tests.mcp_client.bench import hostile


def written(qingtuan: CommandLine, entries: dict[str, Any]) -> CommandLine:
    qingtuan("settings")
    qingtuan.home.mkdir(exist_ok=True)
    (qingtuan.home / "logs").mkdir(exist_ok=True)
    (qingtuan.home / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    return qingtuan


def test_check_lists_tools_with_their_risks(qingtuan: CommandLine) -> None:
    written(qingtuan, {"a": hostile("Plain", trusted=True), "b": hostile("Exits"), "c": hostile("Schemas")})
    ran = qingtuan("mcp", "check")
    assert ran.code == 1
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["✓", "a：hostile", "0，2", "个工具"]
    assert lines[1] == ["echo", "act", "A", "tool."]
    assert lines[2] == ["read", "read", "A", "tool."]
    assert lines[3][:1] == ["✗"]
    assert "no database configured" in ran.out
    assert "没有用 outside" in ran.out
    assert qingtuan("mcp", "check", "a").code == 0
    missing = qingtuan("mcp", "check", "zzz")
    assert (missing.code, "zzz" in missing.err) == (1, True)


def test_it_says_what_there_is(qingtuan: CommandLine) -> None:
    ran = qingtuan("mcp", "--help")
    assert ran.code == 0
    for name in ("serve", "list", "approve", "reload", "restart", "check"):
        assert name in ran.out
    assert qingtuan("mcp", "approve").code == 2


def test_a_check_says_what_is_wrong_and_nothing_that_is_not_so(qingtuan: CommandLine) -> None:
    none = qingtuan("mcp", "check").out
    assert none.strip().endswith("/mcp.json 里没有服务器。")
    written(qingtuan, {"a": {"command": 5}})
    ran = qingtuan("mcp", "check")
    assert (ran.code, ran.out) == (1, "")
    assert "command 要是一段文字" in ran.err
    written(qingtuan, {"a": {"command": "npx -y some-server"}})
    assert "写在 args 里" in qingtuan("mcp", "check").out
    written(qingtuan, {"a": hostile("Plain")})
    assert "2 个工具" in qingtuan("mcp", "restart", "a").out
    written(qingtuan, {"a": {"command": "another-program"}})
    moved = qingtuan("mcp", "check")
    assert moved.out.splitlines()[0] == "! a：等认可"
    assert "没有启动" in moved.out


def test_an_edit_reaches_the_instance_that_runs(qingtuan: CommandLine) -> None:
    with qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        assert "在运行" in serving.stderr.readline()
        written(qingtuan, {"a": hostile("Plain")})
        assert "改过了" in qingtuan("mcp", "list").out
        assert qingtuan("mcp", "reload").out.splitlines() == ["加上了 a。", "a：正常，2 个工具"]
        serving.terminate()


def test_the_doctor_names_each_server_and_how_to_mend_it(qingtuan: CommandLine) -> None:
    entries = {"a": hostile("Plain"), "b": {"command": "no-such-program"}, "c": {"url": "sse", "type": "sse"}}
    written(qingtuan, entries)
    found = {row["name"]: row for row in qingtuan("doctor", "--json").json}
    assert found["mcp.a"] == {"name": "mcp.a", "state": "ok", "found": "2 个工具"}
    assert found["mcp.b"]["state"] == "wrong"
    assert "找不到命令 no-such-program" in found["mcp.b"]["found"]
    assert "mcp check b" in found["mcp.b"]["mend"]
    assert found["mcp.json.1"]["state"] == "wrong"
    assert "sse" in found["mcp.json.1"]["found"]


def test_servers_can_be_switched_off_at_once(qingtuan: CommandLine, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.touch()
    written(qingtuan, {"a": hostile("RugPull", env={"STATE": str(state)})})
    ran = qingtuan.with_(QINGTUAN_MCP__SERVERS="false")("mcp", "check")
    assert (ran.code, state.read_text()) == (0, "")


def test_a_change_is_listed_and_approved_from_the_command_line(qingtuan: CommandLine, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.touch()
    written(qingtuan, {"a": hostile("RugPull", env={"STATE": str(state)})})
    ran = qingtuan("mcp", "restart", "a")
    assert (ran.code, ran.out) == (0, "a 正常，2 个工具。\n")
    again = qingtuan("mcp", "restart", "a")  # another process, in which the server shows other tools
    assert again.out.splitlines()[0] == "a 正常，1 个工具。"
    listed = qingtuan("mcp", "list")
    (code,) = re.findall(r"/mcp approve a (\w+)", listed.out)
    assert "owner's keys" in listed.out
    checked = qingtuan("mcp", "check", "a")
    assert "等认可" in checked.out
    rows = {row["name"]: row for row in qingtuan("doctor", "--json").json}
    assert rows["mcp.a"]["state"] == "note"
    assert "qingtuan mcp approve a" in rows["mcp.a"]["mend"]
    assert f"approve a {code}" in qingtuan("mcp", "approve", "a").out  # shown once more, and nothing is taken
    assert qingtuan("mcp", "approve", "a", code).out == "认可了 a 的 echo、extra。\n"
    assert "认可" not in qingtuan("mcp", "list").out
    nothing = qingtuan("mcp", "approve", "a")
    assert (nothing.code, nothing.out) == (1, "")


def test_an_approval_reaches_the_instance_that_runs(qingtuan: CommandLine, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.touch()
    written(qingtuan, {"a": hostile("RugPull", env={"STATE": str(state)})})
    assert qingtuan("mcp", "restart", "a").code == 0
    with qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        assert "在运行" in serving.stderr.readline()
        assert qingtuan("mcp", "restart", "a").out.splitlines()[0] == "a 正常，1 个工具。"
        listed = qingtuan("mcp", "list").out
        assert listed.splitlines()[0] == "a：正常，1 个工具"
        (code,) = re.findall(r"/mcp approve a (\w+)", listed)
        assert qingtuan("mcp", "approve", "a", code).code == 0
        assert qingtuan("mcp", "list").out.splitlines()[0] == "a：正常，3 个工具"
        serving.terminate()
    assert state.read_text().split().count("start") == 2
