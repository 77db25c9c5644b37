"""`qingtuan capability`: tools brought from the disk, looked at, called, approved and taken along."""

from __future__ import annotations

import json
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from qingtuan.capabilities import archive
from qingtuan.capabilities.definition import Case, Definition
from tests.architecture.source import REPOSITORY
from tests.cli.conftest import CommandLine

CODE = "export default ({ name }) => { console.log('greeting'); return `hello ${name}`; };\n"
MANIFEST = """
description = "Greet somebody."
tags = ["greeting"]

[parameters]
type = "object"
required = ["name"]
properties = {name = {type = "string"}, often = {type = "integer"}}
"""
CASES = '[{"arguments": {"name": "you"}, "expected": "hello you", "note": "as it is"}]'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tool as somebody writes it."""
    folder = tmp_path / "greet"
    folder.mkdir()
    (folder / "capability.toml").write_text(MANIFEST, "utf-8")
    (folder / "main.ts").write_text(CODE, "utf-8")
    (folder / "cases.json").write_text(CASES, "utf-8")
    return folder


def test_from_the_disk_to_a_call(qingtuan: CommandLine, folder: Path) -> None:
    assert qingtuan("capability", "deploy", str(folder)).out == "greet 第 1 版在用了。\n"
    assert "没有变" in qingtuan("capability", "deploy", str(folder / "main.ts")).out
    ran = qingtuan("capability", "run", "greet", "name=小青")
    assert (ran.out, ran.err) == ("hello 小青\n", "greeting\n")
    assert qingtuan("capability", "run", "greet", '{"name": "a=b"}').out == "hello a=b\n"
    missing = qingtuan("capability", "run", "greet", "often=two")
    assert missing.code == 1
    assert "name" in missing.err
    assert "often" in missing.err
    assert qingtuan("capability", "run", "greet", "name").code == 2
    card = qingtuan("capability", "show", "greet", "--json").json
    assert (card["use"]["calls"], card["version"], card["code"]) == (2, 1, CODE)
    shown = qingtuan("capability", "show", "greet").out
    assert all(part in shown for part in (CODE.strip(), "Greet somebody.", '"often"', "as it is", "用过 2 次"))


def test_everything_that_is_wrong_is_told(qingtuan: CommandLine, folder: Path) -> None:
    (folder / "main.ts").write_text("export default (input) => {\n  return input.;\n};\n", "utf-8")
    (folder / "cases.json").write_text("[", "utf-8")
    refused = qingtuan("capability", "deploy", str(folder))
    assert refused.code == 1
    assert "cases.json" in refused.err
    (folder / "cases.json").unlink()
    assert "第 2 行" in qingtuan("capability", "deploy", str(folder)).err
    assert qingtuan("capability", "deploy", str(folder.parent)).code == 2


def test_one_file_that_holds_all(qingtuan: CommandLine, tmp_path: Path) -> None:
    whole = {
        "name": "echo",
        "description": "Say it back.",
        "schema": {"type": "object"},
        "code": "export default (x) => x",
    }
    (tmp_path / "echo.json").write_text(json.dumps(whole), "utf-8")
    made = qingtuan("capability", "deploy", str(tmp_path / "echo.json"), "--json").json
    assert made == {"name": "echo", "version": 1, "waits": False, "same": False}


def test_taken_along_it_waits_to_be_looked_at(qingtuan: CommandLine, folder: Path, tmp_path: Path) -> None:
    qingtuan("capability", "deploy", str(folder))
    archive = tmp_path / "tools.zip"
    assert qingtuan("capability", "export", str(archive), "greet").code == 0
    assert qingtuan("capability", "export", str(archive)).code == 2  # nothing is written over
    assert qingtuan("capability", "delete", "greet").code == 0
    assert qingtuan("capability", "run", "greet", "name=you").code == 1
    assert "等主人看" in qingtuan("capability", "import", str(archive)).out
    assert qingtuan("capability", "run", "greet", "name=you").code == 1
    shown = qingtuan("capability", "approve", "greet")
    assert CODE.strip() in shown.out
    [waiting] = qingtuan("capability", "approve", "greet", "--json").json
    assert qingtuan("capability", "approve", "greet", "000000").code == 1
    assert qingtuan("capability", "approve", "greet", waiting["approve"]).code == 0
    assert qingtuan("capability", "run", "greet", "name=you").out == "hello you\n"
    (folder / "main.ts").write_text(CODE.replace("hello", "hi"), "utf-8")
    (folder / "cases.json").write_text("[]", "utf-8")
    qingtuan("capability", "deploy", str(folder))
    qingtuan("capability", "import", str(archive))
    [waiting] = qingtuan("capability", "approve", "greet", "--json").json
    assert qingtuan("capability", "reject", "greet", str(waiting["version"])).code == 0
    assert qingtuan("capability", "approve", "greet", "--json").json == []
    assert qingtuan("capability", "run", "greet", "name=you").out == "hi you\n"
    archive.write_bytes(b"PK nothing")
    assert qingtuan("capability", "import", str(archive)).code == 2


def test_what_is_approved_is_shown_whole(qingtuan: CommandLine, tmp_path: Path) -> None:
    long = "x" * 300 + "the end"
    code = "export default async () => (await fetch('https://api.example.com/')).status"
    hosts = ("api.example.com", "other.example.com")
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    made = Definition(
        "send_on", "Send it on.", schema, code, (Case({"text": long}),), hosts, kind="ephemeral", ttl=7200
    )
    (tmp_path / "tools.zip").write_bytes(archive.packed([made]))
    headers = json.dumps({"api.example.com": {"X-Key": "sk-secret-1"}})
    keyed = qingtuan.with_(QINGTUAN_CAPABILITIES__HEADERS=headers)
    assert "等主人看" in keyed("capability", "import", str(tmp_path / "tools.zip")).out
    shown = keyed("capability", "approve", "send_on").out
    wanted = (long, "ephemeral", "7200 秒", "会带上你给 api.example.com 设的密钥", "跑这些用例")
    assert [part for part in wanted if part not in shown] == []
    assert "sk-secret-1" not in shown


def test_back_to_an_earlier_version(qingtuan: CommandLine, folder: Path) -> None:
    qingtuan("capability", "deploy", str(folder))
    (folder / "main.ts").write_text(CODE.replace("hello", "hi"), "utf-8")
    (folder / "cases.json").write_text("[]", "utf-8")
    assert "第 2 版" in qingtuan("capability", "deploy", str(folder)).out
    assert qingtuan("capability", "run", "greet", "name=you").out == "hi you\n"
    assert "第 3 版" in qingtuan("capability", "rollback", "greet", "1").out
    assert qingtuan("capability", "run", "greet", "name=you").out == "hello you\n"
    assert qingtuan("capability", "rollback", "greet", "9").code == 1


def test_what_came_along_is_there_and_can_go(qingtuan: CommandLine) -> None:
    assert qingtuan("capability", "run", "unit_convert", "value=3", "from=斤", "to=公斤", "--json").json["result"] == {
        "value": 3, "from": "斤", "to": "kg", "result": 1.5, "kind": "mass"
    }  # fmt: skip
    rows = {item["name"]: item for item in qingtuan("capability", "list", "--json").json["items"]}
    assert rows["unit_convert"]["version"] == 0
    qingtuan("capability", "disable", "unit_convert")
    assert qingtuan("capability", "run", "unit_convert", "value=3", "from=斤", "to=公斤").code == 1
    qingtuan("capability", "enable", "unit_convert")
    assert qingtuan("capability", "run", "unit_convert", "value=3", "from=斤", "to=公斤").code == 0
    qingtuan("capability", "delete", "unit_convert")
    assert "unit_convert" not in qingtuan("capability", "list").out
    assert qingtuan("capability", "show", "unit_convert").code == 1
    qingtuan("capability", "enable", "unit_convert")
    assert "unit_convert" in qingtuan("capability", "list").out


def test_a_version_of_ones_own_stands_before_what_came_along(qingtuan: CommandLine, tmp_path: Path) -> None:
    own = tmp_path / "unit_convert"
    shutil.copytree(str(files("qingtuan.capabilities.starters").joinpath("unit_convert")), own)
    assert "没有变" in qingtuan("capability", "deploy", str(own)).out
    (own / "main.ts").write_text("export default () => 'mine';", "utf-8")
    (own / "cases.json").unlink()
    assert "第 1 版" in qingtuan("capability", "deploy", str(own)).out
    assert qingtuan("capability", "run", "unit_convert", "value=3", "from=斤", "to=公斤").out == "mine\n"
    assert "第 2 版" in qingtuan("capability", "rollback", "unit_convert", "0").out
    assert "1.5" in qingtuan("capability", "run", "unit_convert", "value=3", "from=斤", "to=公斤").out


def test_the_tool_of_the_guide_is_deployed_as_it_stands_there(qingtuan: CommandLine, tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "guide" / "capabilities.md").read_text("utf-8")
    folder = tmp_path / "greet"
    folder.mkdir()
    for file in ("capability.toml", "main.ts", "cases.json"):
        found = re.search(rf"`greet/{re.escape(file)}`.*?```\w+\n(.*?)```", page, re.DOTALL)
        assert found is not None
        (folder / file).write_text(found[1], "utf-8")
    assert qingtuan("capability", "deploy", str(folder)).code == 0
    assert qingtuan("capability", "run", "greet", "name=小李").out == "你好，小李！\n"


def test_nobody_else_decides(qingtuan: CommandLine, folder: Path) -> None:
    refused = qingtuan("capability", "deploy", str(folder), "--as", "qq:10002")
    assert refused.code == 4
    assert qingtuan("capability", "list", "--as", "nobody").code == 2
    seen = qingtuan("capability", "list", "--as", "qq:10002", "--json").json
    assert seen["waiting"] == []
    assert "currency_convert" not in [item["name"] for item in seen["items"]]  # it sends out
    assert qingtuan("capability", "delete", "unit_convert", "--as", "qq:10002").code == 4


def test_lists_fit_a_narrow_terminal(qingtuan: CommandLine) -> None:
    from rich.cells import cell_len

    narrow = qingtuan.with_(COLUMNS="80")
    lines = [line for way in (["list"], ["search", "convert"]) for line in narrow("capability", *way).out.splitlines()]
    assert len(lines) > 5
    assert max(map(cell_len, lines)) <= 80


def test_words_of_a_program_cannot_steer_the_terminal(qingtuan: CommandLine, folder: Path) -> None:
    (folder / "main.ts").write_text(r"export default () => '\u001b]0;owned\u0007\u001b[2Jx';", "utf-8")
    (folder / "cases.json").unlink()
    qingtuan("capability", "deploy", str(folder))
    assert "\x1b" not in qingtuan("capability", "run", "greet", "name=you").out
