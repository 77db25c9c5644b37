"""`qingtuan restore` as a person uses it: with nothing running, beside `serve` and `chat`, elsewhere, and cut off."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qingtuan.backups.swap import is_pending
from qingtuan.clock import SystemClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.ids import Ids
from qingtuan.storage.sqlite import Database
from tests.cli.conftest import CommandLine, Ran


@pytest.fixture
def archive(qingtuan: CommandLine, tmp_path: Path) -> Path:
    """A backup that knows of coriander; what is there now knows of leek, too."""
    assert qingtuan("memory", "add", "不吃香菜").code == 0
    path = tmp_path / "backup.tar.gz"
    assert qingtuan("backup", str(path)).code == 0
    assert qingtuan("memory", "add", "不吃葱").code == 0
    return path


@pytest.fixture
def serving(qingtuan: CommandLine) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    started = []

    def serve() -> subprocess.Popen[str]:
        process = qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert "在运行" in process.stderr.readline()
        started.append(process)
        return process

    yield serve
    for process in started:
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr is not None
        process.stderr.close()


def aside(home: Path) -> list[Path]:
    return sorted((home / "backups").glob("before-restore-*"))


def leftovers(home: Path) -> list[str]:
    names = [path.name for path in (home / "backups").iterdir()]
    return [name for name in names if name.startswith(".") and name != ".last.json"]


def test_the_present_state_makes_room_and_is_kept(qingtuan: CommandLine, archive: Path) -> None:
    ran = qingtuan("restore", str(archive), stdin="y\n")
    assert ran.code == 0, ran.err
    assert "1 页记忆" in ran.err
    assert "恢复吗" in ran.err
    assert "葱" not in (listed := qingtuan("memory", "list").out)
    assert "香菜" in listed
    # What was there is a data folder of its own.
    (before,) = aside(qingtuan.home)
    assert str(before) in ran.err
    assert "葱" in qingtuan.with_(QINGTUAN_HOME=str(before))("memory", "list").out
    assert leftovers(qingtuan.home) == []
    # Its history goes on, and it is found again without any help.
    assert "香菜" in qingtuan("wiki", "history").out
    assert qingtuan("index", "verify").code == 0
    assert "撤销" in qingtuan("undo").out
    assert "香菜" not in qingtuan("memory", "list").out


@pytest.mark.parametrize("answer", ["n\n", "", "\n"])
def test_without_a_yes_nothing_happens(qingtuan: CommandLine, archive: Path, answer: str) -> None:
    ran = qingtuan("restore", str(archive), stdin=answer)
    assert (ran.code, ran.out) == (1, "")
    assert "什么都没有动" in ran.err
    assert "葱" in qingtuan("memory", "list").out
    assert (aside(qingtuan.home), leftovers(qingtuan.home)) == ([], [])


def test_a_damaged_backup_changes_nothing(qingtuan: CommandLine, archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2] + b"x" + whole[len(whole) // 2 + 1 :])
    for path in (archive, tmp_path / "missing.tar.gz", tmp_path):
        ran = qingtuan("restore", str(path), "--yes")
        assert ran.code == 1
        assert len(ran.err.strip().splitlines()) == 1
    assert "葱" in qingtuan("memory", "list").out
    assert (aside(qingtuan.home), leftovers(qingtuan.home)) == ([], [])


def test_elsewhere(qingtuan: CommandLine, archive: Path, tmp_path: Path) -> None:
    there = tmp_path / "deep" / "elsewhere"
    ran = qingtuan("restore", str(archive), "--to", str(there), "--yes")
    assert ran.code == 0, ran.err
    assert f"QINGTUAN_HOME={there}" in ran.err
    assert there.stat().st_mode & 0o077 == 0
    other = qingtuan.with_(QINGTUAN_HOME=str(there))
    assert "葱" not in other("memory", "list").out
    assert "葱" in qingtuan("memory", "list").out
    assert aside(there) == []
    # A folder of ours is replaced like one's own; anything else is left alone.
    assert qingtuan("restore", str(archive), "--to", str(there), "--yes").code == 0
    assert len(aside(there)) == 1
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    assert qingtuan("restore", str(archive), "--to", str(tmp_path / "photos"), "--yes").code == 2
    archive.write_bytes(b"damaged")
    assert qingtuan("restore", str(archive), "--to", str(tmp_path / "fresh" / "one"), "--yes").code == 1
    assert not (tmp_path / "fresh" / "one").exists()


def test_without_secrets_and_media_those_stay(qingtuan: CommandLine, tmp_path: Path) -> None:
    qingtuan("memory", "add", "不吃香菜")
    path = str(tmp_path / "x.tar.gz")
    assert qingtuan("backup", path, "--without-secrets", "--no-media").code == 0
    (qingtuan.home / ".env").write_text("OTHER=1\n", "utf-8")
    (qingtuan.home / "wechat.json").write_text('{"accounts": []}', "utf-8")
    (qingtuan.home / "media" / "picture").write_text("x", "utf-8")
    ran = qingtuan("restore", path, "--yes")
    assert ".env 留着" in ran.err
    assert "media/ 留着" in ran.err
    assert (qingtuan.home / ".env").read_text() == "OTHER=1\n"
    assert (qingtuan.home / "wechat.json").exists()
    assert (qingtuan.home / "media" / "picture").exists()


def test_what_it_will_start_and_what_it_cannot_use_is_said_before(
    qingtuan: CommandLine, archive: Path, tmp_path: Path
) -> None:
    (qingtuan.home / "mcp.json").write_text('{"mcpServers": {"library": {"command": "evil"}}}', "utf-8")
    path = str(tmp_path / "servers.tar.gz")
    assert qingtuan("backup", path).code == 0
    assert "会启动" not in qingtuan("restore", path, stdin="n\n").err
    (qingtuan.home / "mcp.json").write_text("{}", "utf-8")
    assert "会启动这些服务器：library" in qingtuan("restore", path, stdin="n\n").err
    (qingtuan.home / "qingtuan.toml").write_text("nonsense = 1", "utf-8")
    path = str(tmp_path / "settings.tar.gz")
    assert qingtuan("backup", path).code == 0
    assert "nonsense" in qingtuan("restore", path, stdin="n\n").err
    # A database that nobody can read is no reason to have to keep it.
    (qingtuan.home / "state.sqlite").write_bytes(b"not a database, but long enough to look at " * 100)
    ran = qingtuan("restore", str(archive), "--yes")
    assert (ran.code, "读不了" in ran.err) == (0, True), ran.err
    assert "香菜" in qingtuan("memory", "list").out


def test_what_was_erased_since_is_said_to_come_back(qingtuan: CommandLine, archive: Path) -> None:
    assert "抹掉过" not in qingtuan("restore", str(archive), stdin="n\n").err
    database = Database(qingtuan.home / "state.sqlite")
    log = Log(database, SystemClock(), Ids(SystemClock()))
    log.append(Kind.BELIEF_PURGED, Place(person="owner"), {"events": []})
    database.close()
    assert "抹掉过 1 次" in qingtuan("restore", str(archive), stdin="n\n").err


class TestBesideServe:
    def test_it_goes_on_with_the_other_state(
        self, qingtuan: CommandLine, archive: Path, serving: Callable[[], subprocess.Popen[str]]
    ) -> None:
        process = serving()
        assert "葱" in qingtuan("memory", "list").out
        ran = qingtuan("restore", str(archive), "--yes")
        assert ran.code == 0, ran.err
        assert "已经换上" in ran.err
        assert str(aside(qingtuan.home)[0]) in ran.err
        listed = qingtuan("memory", "list").out
        assert ("香菜" in listed, "葱" in listed) == (True, False)
        assert process.poll() is None
        assert (qingtuan.home / "run.lock").read_text().splitlines() == [str(process.pid), "qingtuan serve"]
        assert process.stderr is not None
        while "backups/before-restore" not in (line := process.stderr.readline()):
            assert line  # what is said at the start
        assert "在运行" in process.stderr.readline()
        assert (is_pending(qingtuan.home_of()), leftovers(qingtuan.home)) == (False, [])
        # And again: it can be asked as often as one likes.
        assert qingtuan("restore", str(archive), "--yes").code == 0
        assert qingtuan("ask", "你好").code == 0

    def test_a_turn_that_runs_is_finished_first(
        self, qingtuan: CommandLine, archive: Path, serving: Callable[[], subprocess.Popen[str]]
    ) -> None:
        serving()
        asking = qingtuan.start("ask", "等等", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        qingtuan.wait_for_event("model.requested", asking)
        assert qingtuan("restore", str(archive), "--yes").code == 0
        out, err = asking.communicate(timeout=60)
        assert (asking.returncode, out.strip()) == (0, "想好了。"), err

    def test_another_terminal_comes_back_by_itself(
        self, qingtuan: CommandLine, archive: Path, serving: Callable[[], subprocess.Popen[str]]
    ) -> None:
        process = serving()
        chat = qingtuan.start("chat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write("/memory\n")
        chat.stdin.flush()
        assert "葱" in until(chat, "删除")
        assert qingtuan("restore", str(archive), "--yes").code == 0
        chat.stdin.write("/memory\n")
        chat.stdin.flush()
        assert "葱" not in until(chat, "删除")
        chat.communicate(timeout=60)
        assert chat.returncode == 0
        assert process.poll() is None

    def test_a_state_that_cannot_be_opened_is_put_back(
        self, qingtuan: CommandLine, archive: Path, tmp_path: Path, serving: Callable[[], subprocess.Popen[str]]
    ) -> None:
        (qingtuan.home / "people.toml").write_text("[[[", "utf-8")
        path = str(tmp_path / "unusable.tar.gz")
        assert qingtuan("backup", path).code == 0
        (qingtuan.home / "people.toml").write_text("", "utf-8")
        process = serving()
        ran = qingtuan("restore", path, "--yes")
        assert (ran.code, "people.toml" in ran.err) == (1, True)
        assert "葱" in qingtuan("memory", "list").out
        assert (aside(qingtuan.home), leftovers(qingtuan.home)) == ([], [])
        (qingtuan.home / "qingtuan.toml").write_text("nonsense = 1", "utf-8")
        path = str(tmp_path / "settings.tar.gz")
        assert qingtuan("backup", path).code == 0
        (qingtuan.home / "qingtuan.toml").write_text("", "utf-8")
        assert "nonsense" in qingtuan("restore", path, "--yes").err
        assert process.poll() is None
        assert "葱" in qingtuan("memory", "list").out


@pytest.mark.parametrize("instant", ["Swap.place", "Swap.finish"])
def test_serve_is_killed_in_the_middle(qingtuan: CommandLine, archive: Path, instant: str) -> None:
    code = (
        "import os, signal, sys; from qingtuan.backups.swap import Swap; from qingtuan.cli import main\n"
        f"{instant} = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "serve"]
    with subprocess.Popen(command, env=qingtuan.environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "在运行" in process.stderr.readline()
        ran = qingtuan("restore", str(archive), "--yes")
        assert process.wait(30) == -signal.SIGKILL
    assert (ran.code, "下一个 qingtuan 命令会把它做完" in ran.err) == (1, True), ran.err
    listed = qingtuan("memory", "list")
    assert "上次恢复做到一半断了" in listed.err
    assert ("香菜" in listed.out, "葱" in listed.out) == (True, False)
    assert (is_pending(qingtuan.home_of()), leftovers(qingtuan.home)) == (False, [])


@pytest.mark.parametrize("room", [20_000, 200_000])
def test_a_disk_that_takes_no_more(qingtuan: CommandLine, archive: Path, room: int) -> None:
    code = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
        "from qingtuan.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "restore", str(archive), "--yes"]
    done = subprocess.run(command, env=qingtuan.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "葱" in qingtuan("memory", "list").out
    assert (aside(qingtuan.home), leftovers(qingtuan.home)) == ([], [])


def test_a_chat_that_has_the_folder_is_named(qingtuan: CommandLine, archive: Path) -> None:
    chat = qingtuan.start("chat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert chat.stdin is not None
    chat.stdin.write("/memory\n")
    chat.stdin.flush()
    until(chat, "删除")
    ran = qingtuan("restore", str(archive), "--yes")
    assert (ran.code, "qingtuan chat" in ran.err, str(chat.pid) in ran.err) == (6, True, True)
    chat.communicate(timeout=60)
    assert qingtuan("restore", str(archive), "--yes").code == 0


def until(process: subprocess.Popen[str], mark: str) -> str:
    assert process.stdout is not None
    lines = []
    while mark not in (line := process.stdout.readline()):
        assert line, "it ended"
        lines.append(line)
    return "".join([*lines, line])


def killed(qingtuan: CommandLine, archive: Path, renames: int) -> Ran:
    """A restore that is killed right before one of the names moves; whether it came through otherwise."""
    code = (
        "import os, signal, sys; from qingtuan.cli import main\n"
        f"left = {renames}\n"
        "def hear(event, arguments):\n"
        "    global left\n"
        "    if event == 'os.rename' and 'before-restore' in f'{arguments[:2]}' or event == 'os.rename'"
        " and '.restoring' in f'{arguments[:2]}':\n"
        "        left -= 1\n"
        "        if left == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(hear)\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "restore", archive, "--yes"],
        env=qingtuan.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("step", [1, 2, 5, 12, 16])
def test_killed_while_names_move_the_next_command_finishes_it(qingtuan: CommandLine, archive: Path, step: int) -> None:
    ran = killed(qingtuan, archive, step)
    assert ran.code == -signal.SIGKILL
    begun = is_pending(qingtuan.home_of())
    assert begun == (step > 2)
    listed = qingtuan("memory", "list")
    assert ("上次恢复做到一半断了" in listed.err) == begun
    assert ("葱" in listed.out) != begun
    assert "香菜" in listed.out
    assert (is_pending(qingtuan.home_of()), leftovers(qingtuan.home)) == (False, [])
    assert len(aside(qingtuan.home)) == begun
