"""How messages look on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType

from qingtuan.channels.connected import CaughtUp
from qingtuan.cli.growing import Growing
from qingtuan.cli.table import table
from qingtuan.cli.view import as_ansi, last_lines, markdown, markdown_source, printable, put, shown
from qingtuan.messages import Attachment, Outbound, Space
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.progress import ToolRuns


def drawn(renderable: RenderableType, width: int = 40) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=True)
    put(console, renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_line_breaks_of_a_chat_stay_line_breaks() -> None:
    assert drawn(markdown("第一行\n第二行\n\n- 一\n- 二")) == "第一行\n第二行\n\n • 一\n • 二\n"


def test_tags_are_text_and_code_is_code() -> None:
    assert "用 <div> 和 <b>" in drawn(markdown("用 <div> 和 `<b>`"))
    assert "<x>  y" in drawn(markdown("```html\n<x>  y\n```\n之后"))
    assert markdown_source("~~~\n```\n<a>\n~~~\n<b>").endswith("<a>\n~~~\n\\<b>  ")


def test_nothing_in_a_message_steers_the_terminal() -> None:
    assert printable("a\x1b[2Jb\x07\x9b31m\r\nc\td") == "a[2Jb31m\nc\td"
    message = Outbound("evt_1", Space("private", "cli:local"), "好\x1b]0;x\x07的")
    for kind in ("reply", "question", "notice"):
        text = drawn(shown(Outbound(message.id, message.space, message.text, kind), "zh"))
        assert "\x1b" not in text
        assert "\x07" not in text


def test_a_question_stands_apart_as_it_was_written() -> None:
    text = drawn(shown(Outbound("e", Space("private", "cli:local"), "要预约 *A12*？", "question"), "zh"))
    assert "等你回答" in text
    assert "要预约 *A12*？" in text
    assert "等你回答" not in drawn(shown(Outbound("e", Space("private", "cli:local"), "要预约？"), "zh"))


def test_what_is_printed_has_no_blanks_at_its_ends() -> None:
    text = drawn(markdown("# 题\n\n字 🎉\n\n| 甲 | 乙 |\n|---|---|\n| 一 | 二 |\n\n\n"))
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert not text.endswith("\n\n")


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=20, color_system=None, force_terminal=True)


def test_growing_text_shows_its_end_and_goes_when_it_is_taken_back(console: Console) -> None:
    growing = Growing("zh")

    def now() -> list[str]:
        return as_ansi(console, growing.drawn(console, width=20, height=3, tick=0)).splitlines()

    assert now() == ["⠋ 在想"]
    growing.take(TextDelta("一\n\n二\n\n三"))
    growing.take(TextDelta("四"))
    assert now() == ["二", "", "三四"]
    growing.take(TakenBack())
    assert now() == ["⠋ 在想"]
    growing.take(ToolRuns("look\x1b"))
    assert now() == ["⠋ 在用 look"]
    growing.take(ToolRuns("look", "\n1 of 2\x07"))
    assert now() == ["⠋ 在用 look：1 of 2"]
    growing.take(CaughtUp())
    growing.take(TextDelta("好"))
    growing.take(Outbound("e", Space("private", "cli:local"), "好"))
    assert now() == ["⠋ 在想"]


def test_wide_letters_are_counted_as_wide(console: Console) -> None:
    assert as_ansi(console, last_lines(console, markdown("汉字" * 8), width=20, height=9)).splitlines() == [
        "汉字" * 5,
        "汉字" * 3,
    ]
    assert table([("名", "数"), ("图书馆", "7")], right=frozenset({1})) == "名      数\n图书馆   7"
    assert table([]) == ""


def test_what_came_with_a_reply_is_named_with_its_place() -> None:
    picture = Attachment("image", "座位\x1b图.png", "image/png", "ab" * 32, 12_345)
    message = Outbound("e", Space("private", "cli:local"), "看图", attachments=(picture,))
    assert drawn(shown(message, "zh"), width=200).splitlines() == [
        "看图", f"附件 座位图.png（12 KB）：数据目录里的 media/{'ab' * 32}",
    ]  # fmt: skip


def test_the_last_column_of_a_table_fits_into_the_terminal() -> None:
    rows = [("a", "读者座位预约预约"), ("bb", "short")]
    assert table(rows, fit=15).splitlines() == ["a   读者座位预…", "bb  short"]
    assert table(rows, fit=20) == table(rows)
    assert table(rows, fit=1).splitlines() == ["a   读者座位…", "bb  short"]
