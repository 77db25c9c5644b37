"""`qingtuan chat`: line by line where there is no terminal, and on one."""

from __future__ import annotations

import os
import pty
import re
import select
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.conftest import CommandLine

_ESCAPES = re.compile(r"\x1b\[[0-9;?>=]*[a-zA-Z]|\x1b[=>()][A-Z0-9]?|\x1b\][^\x07]*\x07")


def test_without_a_terminal_each_line_is_a_message(qingtuan: CommandLine) -> None:
    ran = qingtuan("chat", stdin="你好\n\n我不吃香菜\n/nosuch\n")
    assert ran.code == 0
    assert ran.out.splitlines() == ["你好，**阿青**。", "办好了。", "没有 /nosuch 这个命令。发 /help 看有哪些。"]


def test_a_reply_that_nobody_waited_for_is_shown_at_the_next_chat(qingtuan: CommandLine) -> None:
    killed = qingtuan.start("ask", "等等", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    qingtuan.wait_for_event("model.requested", killed)
    killed.kill()
    killed.communicate()
    with qingtuan.start("chat", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as chat:
        assert chat.stdout is not None
        assert chat.stdout.readline() == "想好了。\n"
        chat.communicate()


def test_a_question_that_still_waits_is_shown_again_once_in_each_chat(qingtuan: CommandLine) -> None:
    asked = qingtuan("ask", "订座 A12").out.strip()
    assert "A12" in asked
    assert qingtuan("chat", stdin="").out.strip() == asked
    again = qingtuan("chat", stdin="确认\n").out
    assert again.split(asked) == ["", "\n办好了。\n"]
    assert qingtuan("chat", stdin="").out == ""
    qingtuan("ask", "订座 A12")
    assert qingtuan("chat", "--as", "qq:10001", "--space", "private:qq:10001", stdin="").out == ""


class Terminal:
    """A chat on a pseudo-terminal."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self._handle, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until a text has been drawn, behind what was waited for before."""
        while text not in self.seen:
            assert self._read(), f"ended without {text!r} in {self.seen!r}"
        self.seen = self.seen.partition(text)[2]

    def wait_for_end(self) -> None:
        """Read until the other end is gone: a terminal that nobody reads holds up whoever writes to it."""
        while self._read():
            pass

    def _read(self) -> bool:
        ready, _, _ = select.select([self._handle], [], [], 20)
        assert ready, f"nothing more came after {self.seen!r}"
        try:
            data = os.read(self._handle, 65536)
        except OSError:  # how Linux says that the other end is gone
            return False
        if b"\x1b[6n" in data:  # where is the cursor?
            os.write(self._handle, b"\x1b[1;1R")
        self.seen += _ESCAPES.sub("", data.decode(errors="replace"))
        return bool(data)


@contextmanager
def terminal(qingtuan: CommandLine, *arguments: str) -> Iterator[tuple[Terminal, subprocess.Popen[str]]]:
    ours, theirs = pty.openpty()
    chat = qingtuan.with_(TERM="xterm-256color").start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Terminal(ours), chat
    finally:
        chat.kill()
        chat.wait()
        os.close(ours)


def test_on_a_terminal(qingtuan: CommandLine) -> None:
    with terminal(qingtuan, "chat") as (shown, chat):
        shown.wait_for("Ctrl-D")
        shown.type("你好\r")
        shown.wait_for("你好，阿青。")
        shown.type("订座 A12\r")
        shown.wait_for("等你回答")
        shown.type("慢\r")
        shown.wait_for("› 慢")
        qingtuan.wait_for_event("model.requested", chat)
        shown.type("\x03")
        shown.wait_for("停下了")
        shown.wait_for("说点什么")
        assert chat.poll() is None
        shown.type("\x04")
        shown.wait_for_end()
        assert chat.wait(20) == 0
    history = qingtuan.home / "chat.history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "订座 A12" in history.read_text()


def test_a_second_window_speaks_through_the_first_and_goes_on_without_it(qingtuan: CommandLine) -> None:
    with terminal(qingtuan, "chat") as (first, one):
        first.wait_for("Ctrl-D")
        first.type("订座 A12\r")
        first.wait_for("等你回答")
        with terminal(qingtuan, "chat") as (second, _):
            second.wait_for("等你回答")
            second.type("你好\r")
            second.wait_for("你好，阿青。")
            first.type("\x04")
            first.wait_for_end()
            assert one.wait(20) == 0
            second.type("我不吃香菜\r")
            second.wait_for("办好了。")
