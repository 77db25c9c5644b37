"""`qingtuan forget` and `qingtuan memory purge` as a person uses them: on a terminal, in a script, beside `serve`."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.conftest import CommandLine
from tests.cli.test_chat import terminal
from tests.fakes.holding import holding

PEOPLE = """\
# 我认识的人

# 同学
[persons.xiaofang]
accounts = ["qq:20002"]
name = "小芳"
member = true
"""
MARK = "榴莲千层"


@pytest.fixture
def known(qingtuan: CommandLine) -> CommandLine:
    """A folder in which something is remembered of the owner and of somebody else."""
    qingtuan("memory", "add", "不吃香菜")
    (qingtuan.home / "people.toml").write_text(PEOPLE, "utf-8")
    assert qingtuan("memory", "add", f"爱吃{MARK}", "--person", "xiaofang").code == 0
    return qingtuan


@pytest.fixture
def served(known: CommandLine) -> Iterator[CommandLine]:
    with known.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        assert "在运行" in serving.stderr.readline()
        yield known
        serving.terminate()
        assert serving.wait(30) == 0


def test_a_person_is_forgotten(known: CommandLine) -> None:
    (known.home / "backups" / "a.tar.gz").write_bytes(b"x")
    subprocess.run(["git", "remote", "add", "mine", "https://example.com/w.git"], cwd=known.home / "wiki", check=True)
    typed = known.home / "chat.history"
    typed.write_text(f"\n# 2026-11-29\n+记住我爱吃{MARK}\n+谢谢\n\n# 2026-11-30\n+你好\n", "utf-8")
    typed.chmod(0o600)
    listed = known.with_(QINGTUAN_ACCESS__MEMBERS='["qq:20002"]')
    ran = listed("forget", "qq:20002", "--yes")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "抹掉了 xiaofang（小芳、qq:20002）：",
        "  说过的话 1 条，收到的回答 1 条；连同抄了它们的，记录里共 9 处",
        "  存下的请求片段和旧页面 1 份，文件和图片 0 个",
        "  自己的记忆 1 页，会话摘要 0 份",
        "抹不到的：聊天软件里的记录，别人自己说的、转发的话。",
        "  wiki 的 git 远端：mine (https://example.com/w.git)",
        "  备份，在 backups/：a.tar.gz",
        "设置 access.members 里还写着 qq:20002，要删就自己改。",
    ]
    assert ran.err.splitlines() == [
        "翻记录 0/1", "翻记录 1/5", "改写 git 历史 2/5", "清索引 3/5", "清文件 4/5", "整理数据库 5/5"
    ]  # fmt: skip
    assert holding(known.home_of(), MARK) == []
    assert typed.read_text("utf-8") == "\n# 2026-11-29\n+谢谢\n\n# 2026-11-30\n+你好\n"
    assert stat.S_IMODE(typed.stat().st_mode) == 0o600
    assert (known.home / "people.toml").read_text("utf-8") == "# 我认识的人\n\n"
    assert "不吃香菜" in known("memory", "list").out
    assert known("forget", "xiaofang", "--yes").err == "没有 xiaofang 这个人。\n"


def test_it_is_done_by_the_instance_that_runs(served: CommandLine) -> None:
    ran = served("forget", "xiaofang", "--yes", "--json")
    assert (ran.code, ran.json["counts"]["pages"], ran.json["left_out"]) == (0, 1, [])
    assert holding(served.home_of(), MARK) == []
    assert served("forget", "owner", "--yes").code == 4
    assert served("memory", "purge", "1", "--yes").out == "#1 彻底清除了。\n"
    assert holding(served.home_of(), "不吃香菜") == []


def test_without_a_terminal_it_takes_a_word(known: CommandLine) -> None:
    for asked in (("forget", "xiaofang"), ("memory", "purge", "1")):
        ran = known(*asked)
        assert (ran.code, ran.out) == (2, "")
        assert "--yes" in ran.err
    assert known("forget", "nobody", "--yes").code == 1
    ran = known("forget", "owner", "--yes")
    assert (ran.code, ran.out) == (4, "")
    assert "--even-the-owner" in ran.err
    assert "不吃香菜" in known("memory", "list").out
    assert known("memory", "purge", "7", "--yes").code == 1
    assert known("forget", "cli:local", "--yes", "--even-the-owner").code == 0
    assert holding(known.home_of(), "不吃香菜") == []
    assert MARK in known("memory", "list", "--person", "xiaofang").out


def test_on_a_terminal_it_says_what_goes_and_asks(known: CommandLine) -> None:
    with terminal(known, "forget", "xiaofang") as (shown, asked):
        shown.wait_for("会抹掉 xiaofang（小芳、qq:20002）：")
        shown.wait_for("自己的记忆 1 页")
        shown.wait_for("撤销不了。要抹掉吗？[y/N]")
        shown.type("n\r")
        shown.wait_for_end()
        assert asked.wait(20) == 0
    assert holding(known.home_of(), MARK) != []
    with terminal(known, "memory", "purge", "1") as (shown, asked):
        shown.wait_for("要彻底清除 #1「不吃香菜」吗？")
        shown.wait_for("彻底清除吗？[y/N]")
        shown.type("y\r")
        shown.wait_for("#1 彻底清除了。")
        shown.wait_for_end()
        assert asked.wait(20) == 0
    assert holding(known.home_of(), "不吃香菜") == []
    with terminal(known, "forget", "xiaofang") as (shown, asked):
        shown.wait_for("要抹掉吗？[y/N]")
        shown.type("y\r")
        shown.wait_for("抹掉了 xiaofang")
        shown.wait_for_end()
        assert asked.wait(20) == 0
    assert holding(known.home_of(), MARK) == []
