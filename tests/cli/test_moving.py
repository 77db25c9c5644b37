"""`qingtuan import` and `qingtuan export` as they are typed."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine


@pytest.fixture
def served(qingtuan: CommandLine) -> Iterator[CommandLine]:
    """The same folder, with an instance that serves it."""
    with qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        assert "在运行" in serving.stderr.readline()
        yield qingtuan
        serving.terminate()
        assert serving.wait(30) == 0


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "memory").mkdir(parents=True)
    (root / "SOUL.md").write_text("You are a pirate.")
    (root / "MEMORY.md").write_text("## 偏好\n- 不吃香菜\n- 喜欢\x1b[31m喝茶\n\n## 规则\n- 提交前必须确认\n")
    (root / "memory/2026-06-20.md").write_text("# 2026-06-20\n\n下午去了图书馆。\n")
    return root


def test_look_say_no_leave_out_say_yes_take_back(qingtuan: CommandLine, workspace: Path) -> None:
    looked = qingtuan("import", str(workspace), stdin="\n")
    assert looked.code == 0
    assert "记成 3 条，只有你自己看得到" in looked.out
    assert "SOUL.md: 是给另一个助手的设定" in looked.out
    assert "\x1b" not in looked.out
    assert "没有写" in looked.err
    assert "不吃香菜" not in qingtuan("memory", "list").out

    written = qingtuan("import", str(workspace), stdin="what\n1\ny\n")
    assert written.code == 0
    assert "记成 2 条" in written.out
    assert "写好了" in written.err
    listed = qingtuan("memory", "list").out
    assert "不吃香菜" not in listed
    assert "提交前必须确认" in listed
    assert "2026-06-20.md" in qingtuan("wiki", "show").out

    assert "从 OpenClaw 导入" in qingtuan("undo").out
    assert qingtuan("wiki", "show").out == ""


def test_for_programs(qingtuan: CommandLine, workspace: Path) -> None:
    looked = qingtuan("import", str(workspace), "--json").json
    assert (looked["written"], looked["changes"], len(looked["entries"])) == (False, True, 3)
    done = qingtuan("import", str(workspace), "--json", "--yes").json
    assert done["written"] is True
    again = qingtuan("import", str(workspace), "--json", "--yes").json
    assert (again["written"], again["changes"]) == (False, False)


def test_what_cannot_be_brought_in(qingtuan: CommandLine, workspace: Path, tmp_path: Path) -> None:
    assert qingtuan("import", str(tmp_path / "none")).code == 1
    assert qingtuan("import", str(workspace), "--from", "hermes", "--yes").code == 0
    assert qingtuan("import", str(workspace), "--from", "chatgpt").code == 1
    assert qingtuan("import", str(workspace), "--from", "letta").code == 2
    assert qingtuan("import", str(workspace), "--person", "nobody").code == 1
    guest = qingtuan("import", str(workspace), "--person", "qq-10009", "--yes")
    assert (guest.code, "不能写" in guest.err) == (4, True)


def test_through_the_process_that_holds_the_folder(served: CommandLine, workspace: Path, tmp_path: Path) -> None:
    assert served("import", str(workspace), "--yes").code == 0
    assert "不吃香菜" in served("memory", "list").out
    assert served("export", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out/wiki/users/owner/preferences/通用.md").exists()


def test_taking_along_and_coming_back(qingtuan: CommandLine, tmp_path: Path) -> None:
    qingtuan("memory", "add", "不吃香菜")
    qingtuan("memory", "pin", "1")
    qingtuan("ask", "你好，我的密码是 hunter2hunter2")
    personas = qingtuan.home / "personas"
    (personas / "public/gentle.md").write_text("# 温和\n")
    (personas / "private/secret.md").write_text("# 只给自己\n")
    (personas / "mine.md").write_text("# 我的\n")

    out = tmp_path / "out"
    done = qingtuan("export", str(out), "--talk")
    assert done.code == 0
    assert "导出了 1 页" in done.out
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    (day,) = [path for path in files if path.startswith("talk/")]
    assert files == sorted(
        ["README.md", "manifest.json", "personas/public/gentle.md", day, "wiki/users/owner/profile.md"]
    )
    talk = (out / day).read_text()
    assert "> 你好，我的密码是 [已隐去：密码]" in talk
    assert "> 你好，**阿青**。" in talk
    everything = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert "hunter2" not in everything
    assert str(qingtuan.home) not in everything

    assert qingtuan("export", str(out)).code == 2
    zipped = qingtuan("export", str(tmp_path / "again"), "--zip", "--private-personas")
    assert zipped.code == 0
    with zipfile.ZipFile(tmp_path / "again.zip") as read:
        assert {"personas/private/secret.md", "personas/mine.md"} <= set(read.namelist())
        assert not any(name.startswith("talk/") for name in read.namelist())

    elsewhere = qingtuan.with_(QINGTUAN_HOME=str(tmp_path / "elsewhere"))
    back = elsewhere("import", str(out), "--yes")
    assert "原样放回 1 页" in back.out
    assert "📌 不吃香菜" in back.out
    page = "wiki/users/owner/profile.md"
    assert (tmp_path / "elsewhere" / page).read_bytes() == (qingtuan.home / page).read_bytes()
    assert "没有新的" in elsewhere("import", str(tmp_path / "again.zip"), "--yes").err


def test_what_others_may_take_along(qingtuan: CommandLine, tmp_path: Path) -> None:
    members = qingtuan.with_(QINGTUAN_ACCESS__MEMBERS='["qq:10002"]')
    members("memory", "add", "主人的事")
    members("memory", "add", "小李的事", "--person", "qq-10002")
    members("ask", "你好", "--as", "qq:10002")
    members("ask", "你好，这是主人")
    assert members("export", str(tmp_path / "li"), "--person", "qq-10002", "--talk").code == 0
    everything = "".join(path.read_text() for path in (tmp_path / "li").rglob("*") if path.is_file())
    assert "小李的事" in everything
    assert "主人" not in everything.replace("只有主人", "")
    assert members("export", str(tmp_path / "x"), "--person", "qq-10002", "--private-personas").code == 2
    assert not (tmp_path / "x").exists()
    assert members("export", str(tmp_path / "owner"), "--talk").code == 0
    pages = [path for path in (tmp_path / "owner/wiki").rglob("*.md") if "qq-10002" in str(path)]
    assert pages == []


def test_an_empty_memory_can_be_taken_along(qingtuan: CommandLine, tmp_path: Path) -> None:
    done = qingtuan("export", str(tmp_path / "out"), "--talk")
    assert (done.code, "还没有任何记忆" in done.err) == (0, True)
    assert json.loads((tmp_path / "out/manifest.json").read_text())["files"].keys() == {"README.md"}
