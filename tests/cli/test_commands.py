"""The other commands, as processes: looking, changing, setting up."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator

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
    assert not (qingtuan.home / "run.sock").exists()


def test_help_names_every_command_and_makes_nothing(qingtuan: CommandLine) -> None:
    ran = qingtuan("--help")
    assert ran.code == 0
    for name in ("chat", "ask", "serve", "init", "doctor", "memory", "wiki", "undo", "index", "trace", "model"):
        assert f"  {name} " in ran.out
        said = qingtuan(name, "--help")
        assert (said.code, said.out.startswith(f"用法：qingtuan {name}")) == (0, True)
    assert not qingtuan.home.exists()
    assert "usage: qingtuan COMMAND" in qingtuan.with_(QINGTUAN_LANGUAGE="en")("--help").out


def test_memory_by_hand_and_back(qingtuan: CommandLine) -> None:
    assert qingtuan("memory", "add", "我喜欢", "喝茶").code == 0
    assert "我喜欢 喝茶" in qingtuan("memory", "list").out
    assert "我喜欢 喝茶" in qingtuan("memory", "preview", "--message", "喝什么").out
    assert qingtuan("memory", "pin", "1").code == 0
    assert "cli:local" in qingtuan("memory", "why", "1").out
    assert "置顶" in qingtuan("undo").out
    wrong = qingtuan("memory", "delete", "77")
    assert (wrong.code, wrong.out) == (1, "")
    assert qingtuan("memory", "clear").code == 2
    assert qingtuan("memory", "clear", "--yes").code == 0
    assert qingtuan("memory", "list", "--person", "nobody").code == 1


def test_what_waits_for_a_word_is_decided_from_the_command_line(qingtuan: CommandLine) -> None:
    assert qingtuan("review", "list").out == "没有等你点头的事。\n"
    assert qingtuan("review", "list", "--json").json == []
    qingtuan("ask", "最近总去吃川菜，真香")
    assert "1. 口味：总去吃川菜" in qingtuan("review", "list").out
    (item,) = qingtuan("review", "list", "--json").json
    assert (item["number"], item["state"], item["what"], item["scope"]) == (1, "open", "entry", "user:owner")
    assert qingtuan("review", "accept", "one").code == 2
    accepted = qingtuan("review", "accept", "1", "--json")
    assert (accepted.code, [one["state"] for one in accepted.json]) == (0, ["accepted"])
    qingtuan("undo")
    assert qingtuan("review", "edit", "1", "喜欢", "川菜").out.startswith("1. 记住了：#")
    assert "喜欢 川菜" in qingtuan("memory", "list").out
    assert qingtuan("review", "reject", "7").out == "没有 7 这一条。\n"
    assert qingtuan("review", "list", "--person", "nobody").code == 1


def test_past_talk_is_gone_through_from_the_command_line(qingtuan: CommandLine) -> None:
    quiet = qingtuan.with_(QINGTUAN_MEMORY__POLICY_PRIVATE="manual")
    assert quiet("distill").code == 1
    quiet("ask", "最近总去吃川菜，真香")
    done = quiet("distill", "--period", "今天")
    assert done.code == 0
    assert "1 条话，分 1 段问模型" in done.out
    assert "找出 1 条可能要记的" in done.out
    assert "问模型 1/1" in done.err
    again = quiet("distill", "--json")
    assert (again.json["proposed"], again.json["known"], again.json["messages"]) == (0, 1, 1)
    assert again.json["tokens"] > 0
    assert "1. 口味：总去吃川菜" in quiet("review", "list").out
    assert quiet("distill", "--period", "随便").code == 2


def test_the_wiki_shows_its_past_and_goes_back(qingtuan: CommandLine) -> None:
    page = "users/owner/profile.md"
    assert qingtuan("wiki", "show").code == 1
    qingtuan("memory", "add", "第一件")
    qingtuan("memory", "add", "第二件")
    assert qingtuan("wiki", "show").out == f"{page}\n"
    newest, oldest = qingtuan("wiki", "history").out.splitlines()
    assert "第二件" in newest
    assert "+- 第二件" in qingtuan("wiki", "diff", page).out
    assert "第二件" not in qingtuan("wiki", "show", page, "--at", oldest.split()[0]).out
    assert qingtuan("wiki", "rollback", page, "--to", oldest.split()[0]).code == 0
    assert "第二件" not in qingtuan("wiki", "show", page).out
    assert qingtuan("memory", "why", "1").out.count("写成：第一件") == 1
    assert "回到" in qingtuan("undo").out
    assert "第二件" in qingtuan("wiki", "show", page).out
    story = qingtuan("memory", "why", "2").out.splitlines()[-3:]
    assert [line.split(" ", 3)[-1] for line in story] == ["写成：第二件", "拿掉了", "写成：第二件"]
    assert qingtuan("wiki", "rollback").code == 2
    assert qingtuan("wiki", "show", "../../etc/passwd").code == 1


def test_the_index_is_verified_and_rebuilt(qingtuan: CommandLine) -> None:
    qingtuan("memory", "add", "我喜欢喝茶")
    assert qingtuan("index", "verify").code == 0
    (current,) = (qingtuan.home / "index/beliefs").glob("current")
    shutil.rmtree(current.parent / current.read_text())
    assert qingtuan("index", "rebuild").code == 0
    assert qingtuan("index", "verify").code == 0


def test_what_happened_can_be_read_at_any_time(served: CommandLine) -> None:
    assert served("ask", "我不吃香菜").code == 0
    shown = served("trace", "last").out
    assert all(word in shown for word in ("收到 cli:local", "层和字数", "工具 remember", "回复", "送到了", "回复了："))
    found = served("trace", "last", "--json").json
    requests = [event["request"] for event in found["events"] if event["kind"] == "model.requested"]
    assert len(requests) == 2
    assert requests[0]["messages"][-1] == {"role": "user", "content": "我不吃香菜"}
    assert served("trace", "turn_none").code == 1
    lines = served("events", "--json", "-n", "5").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines][-1]
    assert served("cost", "--json").json[0]["requests"] >= 2


def test_commands_go_through_the_process_that_holds_the_folder(served: CommandLine) -> None:
    assert served("memory", "add", "我喜欢喝茶").code == 0
    assert "我喜欢喝茶" in served("memory", "list").out
    assert served("index", "rebuild").code == 0
    second = served("serve")
    assert (second.code, "已经有一个" in second.err) == (6, True)


def test_settings_say_where_they_come_from(qingtuan: CommandLine) -> None:
    ran = qingtuan("settings", "llm.model")
    assert ran.out.splitlines()[0] == 'llm.model = "scripted"  ← 环境变量 QINGTUAN_LLM__MODEL'
    assert qingtuan("settings", "nothing").code == 1
    assert qingtuan.with_(QINGTUAN_LLM__MODLE="x")("settings").code == 1


def test_the_doctor_finds_what_is_wrong_and_how_to_mend_it(qingtuan: CommandLine) -> None:
    qingtuan("memory", "add", "我喜欢喝茶")
    found = {one["name"]: one for one in qingtuan("doctor", "--json").json}
    assert {one["state"] for one in found.values()} == {"ok", "note"}
    assert qingtuan("doctor").out.splitlines()[-1] == "没有坏的；带 ! 的看一眼。"
    (qingtuan.home / ".env").chmod(0o644)
    (qingtuan.home / "wiki/users/owner/notes").mkdir()
    (qingtuan.home / "wiki/users/owner/notes/坏.md").write_bytes(b"---\nid: [\n---\n")
    ran = qingtuan("doctor", "--json")
    found = {one["name"]: one for one in ran.json}
    assert ran.code == 1
    assert found["folder"]["state"] == found["pages"]["state"] == "wrong"
    assert "chmod" in found["folder"]["mend"]
    assert "坏.md" in found["pages"]["found"]
    broken = {one["name"]: one for one in qingtuan.with_(QINGTUAN_LLM__MODLE="x")("doctor", "--json").json}
    assert broken["settings"]["state"] == "wrong"
    (qingtuan.home / "wiki/users/nobody").mkdir()
    (qingtuan.home / "wiki/users/nobody/profile.md").write_text("# 谁的\n", "utf-8")
    found = {one["name"]: one for one in qingtuan("doctor", "--json").json}
    assert found["people"]["state"] == "note"
    assert "没有人的记忆：users/nobody" in found["people"]["found"]
    (qingtuan.home / "people.toml").write_text("[persons.li]\nacounts = []\n", "utf-8")
    found = {one["name"]: one for one in qingtuan("doctor", "--json").json}
    assert found["people"]["state"] == "wrong"
    assert "第 2 行" in found["people"]["found"]


def test_init_tries_what_it_is_told_and_writes_it(qingtuan: CommandLine, model_url: str) -> None:
    fresh = qingtuan.without("QINGTUAN_LLM")
    ran = fresh("init", stdin=f"2\nsk-{'0' * 20}\n{model_url}\nscripted\n")
    assert ran.code == 0
    assert "It answers" in ran.err
    assert "Ready" in ran.out
    code = re.search(r"[2-9A-Z]{4}-[2-9A-Z]{4}", ran.out)
    assert code
    secrets = fresh.home / ".env"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert f"QINGTUAN_LLM__API_KEY=sk-{'0' * 20}\n" in secrets.read_text()
    assert '\nlanguage = "en"\n' in (fresh.home / "qingtuan.toml").read_text()
    assert fresh("ask", "你好").code == 0
    assert "认得了：tg:42 是主人的账号。" in fresh("ask", "--as", "tg:42", code[0]).out
    assert "你是主人（owner）" in fresh("ask", "--as", "tg:42", "/whoami").out
    assert fresh("ask", "--as", "tg:43", code[0]).code == 4
    nothing = fresh("init", stdin="2\nhttp://127.0.0.1:9/v1\n\nscripted\nn\n")
    assert nothing.code == 0  # the input ends, and Enter keeps what there is
    assert model_url in secrets.read_text()


def test_models_are_listed_and_tried(qingtuan: CommandLine) -> None:
    assert "scripted" in qingtuan("model", "list").out
    ran = qingtuan("model", "check")
    assert ran.code == 0
    assert "连得上" in ran.out
    nowhere = qingtuan.with_(QINGTUAN_LLM__BASE_URL="http://127.0.0.1:9/v1", QINGTUAN_LANGUAGE="en")
    assert nowhere("model", "check").code == 3


def test_events_are_followed(qingtuan: CommandLine) -> None:
    qingtuan("memory", "add", "一")
    with qingtuan.start("events", "--follow", "-n", "1", stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        assert following.stdout.readline()
        qingtuan("memory", "add", "二")
        assert "message.received" in following.stdout.readline()
        following.kill()


def test_a_reader_that_has_enough_is_no_error(qingtuan: CommandLine) -> None:
    qingtuan("ask", "你好")
    with qingtuan.start("events", "-n", "1000", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.close()
        assert listing.stderr.read() == ""
