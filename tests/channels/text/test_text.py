"""What a message looks like in the chat apps: nothing lost, nothing too long, nothing that the platform refuses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.base import Part
from qingtuan.channels.text import plain, telegram, wechat
from qingtuan.channels.text.letters import between, clean, utf16
from qingtuan.messages import Attachment, Outbound, Space
from qingtuan.settings.channels import Manners

CHAT = Space("private", "qq:1")
Renderer = Callable[[Outbound, Manners], list[Part]]
RENDERERS: dict[str, Renderer] = {"telegram": telegram.parts, "plain": plain.parts, "wechat": wechat.parts}
LENGTHS: dict[str, Callable[[str], int]] = {
    "telegram": lambda part: utf16(read_html(part)),
    "plain": len,
    "wechat": len,
}
LIMITS = {"telegram": telegram.LIMIT, "plain": plain.LIMIT, "wechat": wechat.LIMIT}
INSIDE = {"pre": {"blockquote"}, "code": {"blockquote", "pre"}, "blockquote": set[str]()}
"""What may stand around a tag; the others may stand in each other, but not twice in themselves."""


def read_html(html: str) -> str:
    return Html(html).text


class Html(HTMLParser):
    """Reads HTML as Telegram does, and raises for what it would refuse."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text: str = ""
        self.entities = 0
        self._open: list[str] = []
        assert re.fullmatch(r"(?:[^&<>]|&(?:lt|gt|amp|quot|#x27);|</?[^<>]+>)*", html), html
        self.feed(html)
        self.close()
        assert not self._open, html

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("b", "i", "s", "a", "code", "pre", "blockquote"), tag
        assert tag not in self._open
        around = set(self._open)
        assert around <= INSIDE.get(tag, {"b", "i", "s", "a", "blockquote"}), (tag, self._open)
        if tag == "a":
            address = dict(attrs)["href"]
            assert address
            assert re.match("https?:|tg:|mailto:|tel:", address)
        self._open.append(tag)
        self.entities += tag != "code" or "pre" not in around

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def sent(platform: str, text: str, *, kind: str = "reply", bubbles: int = 3) -> list[str]:
    message = Outbound("msg", CHAT, text, kind)  # type: ignore[arg-type]
    return [part.text for part in RENDERERS[platform](message, Manners(bubbles=bubbles))]


def shown(platform: str, text: str) -> str:
    parts = sent(platform, text, bubbles=1)
    return "\n".join(Html(part).text for part in parts) if platform == "telegram" else "\n".join(parts)


def letters(text: str) -> str:
    return "".join(re.findall("[\u4e00-\u9fff]", text))


every = pytest.mark.parametrize("platform", list(RENDERERS))
SIGNS = r"""
春 夏 秋 冬 风花雪月，山高水长。 a_b ** * _ ` ``` ~~ - + 1. > # ###### | --- |---| [ ]( ](https://a.cn/b_c) ) !
\\ < <b> </b> & &lt; : https://a.cn/甲 [CQ:at,qq=all] 😀 👨‍👩‍👧
"""
LINES = [" ", "    ", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n```\n", "\n|甲|乙|\n|-|-|\n|丙|丁|\n"]
WRITTEN = st.lists(st.sampled_from([*SIGNS.split(), *LINES]), max_size=60).map("".join)
ODD = st.text(
    st.one_of(
        st.sampled_from("\u202e\u200d\u0301\ufe0f\x00\x1b\ud800\U0001f1e8\U0001f1f3\u1100\uac00 \n`*[]()|"),
        st.characters(),
    ),
    max_size=200,
)
TIMES = st.sampled_from([1, 1, 1, 100])
"""How often a text is said: seldom so often that it fills several messages, which takes long to cut."""


@every
@given(text=WRITTEN, times=TIMES)
def test_nothing_is_lost(platform: str, text: str, times: int) -> None:
    found, said = letters(shown(platform, text * times)), letters(text * times)
    if "|甲|乙|" in text:
        # A table may become a list, in which the head stands with each row, or be parted into several.
        assert Counter(said) <= Counter(found)
    else:
        assert found == said


@every
@given(text=st.one_of(WRITTEN, ODD), times=TIMES)
def test_every_part_is_one_that_the_platform_takes(platform: str, text: str, times: int) -> None:
    parts = sent(platform, text * times)
    for part in parts:
        assert part.strip()
        assert LENGTHS[platform](part) <= LIMITS[platform]
        part.encode("utf-16")  # no half characters
        if platform == "telegram":
            assert Html(part).entities <= telegram.MOST_ENTITIES
    assert sent(platform, text * times) == parts


@given(text=st.one_of(WRITTEN, ODD), times=TIMES)
def test_telegram_has_the_same_as_plain_text(text: str, times: int) -> None:
    for part in telegram.parts(Outbound("msg", CHAT, text * times), Manners()):
        assert part.plain.strip()
        assert utf16(part.plain) <= telegram.LIMIT
        assert letters(part.plain) == letters(Html(part.text).text)


@every
def test_a_hundred_thousand_characters_of_anything_come_through(platform: str) -> None:
    for text in (
        "字" * 100_000,
        "这是一句话。" * 15_000,
        "**粗** " * 15_000,
        "[" * 100_000,
        "![" * 3000,
        "a|" * 6000 + "\n" + "-|" * 6000,
        "`" * 99_999,
        "> " * 50_000,
        "# 题\n" * 25_000,
        "|a|b|\n|-|-|\n" + "|x|y|\n" * 15_000,
        "https://a.cn/" + "x" * 100_000,
        "😀" * 50_000,
        "字" + "\u0301" * 100_000,
        "\n".join("  " * depth + "- x" for depth in range(300)),
    ):
        assert sent(platform, text)


@every
def test_a_long_answer_is_laid_out_like_any_other(platform: str) -> None:
    piece = "## 题\n\n**粗**的`code`，[链](https://a.cn/x)。\n\n- 一\n- 二\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    text = (piece * 2000)[:80_000]
    parts = sent(platform, text)
    assert not any("|---|" in part for part in parts)


# One by one


@every
def test_a_long_answer_with_a_long_piece_of_code(platform: str) -> None:
    code = "\n".join(f"print({line:04}, 'x' * 20)" for line in range(100))
    text = f"{'前面说的话，还挺长的。' * 270}\n\n```python\n{code}\n```\n\n{'后面说的话。' * 500}"
    parts = sent(platform, text)
    together = shown(platform, text)
    assert letters(together) == letters(text)
    assert re.findall(r"print\((\d+)", together) == [f"{line:04}" for line in range(100)]
    if platform == "wechat":
        assert all(part.count("```") % 2 == 0 for part in parts)
        assert sum("```python\n" in part for part in parts) == 2
    coded = [part for part in parts if "print" in part]
    assert all(
        line.split("<")[0].endswith(")") for part in coded for line in part.split("\n") if line.startswith("print")
    )


def test_a_character_of_two_units_at_the_limit_of_telegram() -> None:
    parts = telegram.parts(Outbound("msg", CHAT, "a" * 4095 + "😀" + "b" * 903), Manners())
    assert [part.text for part in parts] == ["a" * 4095, "😀" + "b" * 903]
    family = "👨‍👩‍👧"
    parts = telegram.parts(Outbound("msg", CHAT, "a" * 4093 + family), Manners())
    assert [part.text for part in parts] == ["a" * 4093, family]


@every
def test_cut_at_paragraphs_then_lines_then_sentences(platform: str) -> None:
    limit = LIMITS[platform]
    for mark in ("\n\n", "\n", "。"):
        text = "字" * (limit - 300) + mark + "词" * (limit - 300)
        assert [part.strip("。") for part in sent(platform, text)] == ["字" * (limit - 300), "词" * (limit - 300)]


@every
def test_no_link_is_cut(platform: str) -> None:
    address = "https://example.com/" + "path/" * 20
    for text in (f"看 {address} 吧。", f"看[这里]({address})吧。"):
        for part in sent(platform, "字" * (LIMITS[platform] - 60) + text):
            assert ("https" in part) == (address in part)


def test_telegram_gets_html() -> None:
    text = "# 题\n**粗** *斜* ~~删~~ `a<b` [链](https://a.cn/?x=1&y=2)\n> 引\n\n```py\n1 < 2\n```"
    (html,) = sent("telegram", text)
    assert html == (
        "<b>题</b>\n<b>粗</b> <i>斜</i> <s>删</s> <code>a&lt;b</code> "
        '<a href="https://a.cn/?x=1&amp;y=2">链</a>\n<blockquote>引</blockquote>\n\n'
        '<pre><code class="language-py">1 &lt; 2</code></pre>'
    )


def test_qq_gets_text_that_reads_well() -> None:
    text = (
        "## 价钱\n\n**贵**的不买，[看这里](https://a.cn/x)，![图](https://a.cn/1.png)\n\n"
        "| 东西 | 价 |\n|---|---|\n| 苹果 | 3 |\n\n```python\nif a:\n    b()\n```\n\n3. 三\n5. 五"
    )
    assert sent("plain", text, bubbles=1) == [
        "价钱\n\n贵的不买，看这里 (https://a.cn/x)，图 (https://a.cn/1.png)\n\n"
        "东西  价\n--------\n苹果  3\n\nif a:\n    b()\n\n3. 三\n5. 五"
    ]


def test_a_wide_table_becomes_a_list() -> None:
    text = f"| 名字 | 说明 |\n|---|---|\n| 甲 | {'很长' * 20} |\n| 乙 | **短** |"
    assert sent("plain", text) == [f"• 名字：甲\n  说明：{'很长' * 20}\n• 名字：乙\n  说明：短"]


def test_wechat_gets_the_markdown_that_it_shows() -> None:
    text = "##### 小题\n*斜体字* *slanted* **粗** ![图](https://a.cn/1.png) `x`\n\n|a|b|\n|-|-|\n|1|2\\|3|"
    assert sent("wechat", text) == [
        "**小题**\n斜体字 *slanted* **粗** 图 (https://a.cn/1.png) `x`\n\n| a | b |\n| --- | --- |\n| 1 | 2\\|3 |"
    ]
    rows = sent("wechat", "|a|b|\n|-|-|\n" + "|word|another|\n" * 300)
    assert len(rows) > 1
    assert all(part.startswith("| a | b |\n| --- | --- |\n| word") for part in rows)


def test_hostile_text_stays_text() -> None:
    text = "[CQ:at,qq=all] <a href='x'>y</a> \u202eevil\u202c \x1b[31m &#x202e; h" + "\u0336" * 50
    assert sent("plain", text) == ["[CQ:at,qq=all] <a href='x'>y</a> evil [31m  h" + "\u0336" * 8]
    assert "&lt;a href='x'&gt;" in sent("telegram", text)[0]
    assert "javascript" not in "".join(re.findall("href=.*?>", sent("telegram", "[x](javascript:alert(1))")[0]))


@every
def test_what_code_says_is_shown_as_it_is(platform: str) -> None:
    text = "要执行：记住「2*3*4 和 [安全](https://evil.cn) `x`」\n- <b>\n\n    回复「确认」或「取消」"
    for kind in ("question", "notice"):
        (said,) = sent(platform, text, kind=kind)
        seen = Html(said).text if platform == "telegram" else said
        assert seen == (text if platform != "wechat" else text.replace("](", "] ("))
        assert "href" not in said


# Bubbles


def test_a_short_answer_becomes_bubbles() -> None:
    assert sent("plain", "好的。\n\n明天见。") == ["好的。", "明天见。"]
    assert sent("plain", "一\n\n二\n\n三\n\n四\n\n五五五五") == ["一\n\n二", "三\n\n四", "五五五五"]
    assert sent("plain", "一\n\n二", bubbles=1) == ["一\n\n二"]


def test_what_belongs_together_stays_together() -> None:
    assert sent("plain", "要买：\n\n- 菜\n\n- 肉\n\n好了。") == ["要买：\n\n• 菜\n\n• 肉", "好了。"]
    assert len(sent("plain", "删掉它吗？\n\n回复 1 或 2", kind="question")) == 1
    assert len(sent("plain", "记下了：\n\n第一条", kind="notice")) == 1
    assert len(sent("wechat", "好的。\n\n明天见。")) == 1
    assert len(sent("plain", "一段\n\n" * 400)) == 1


@every
def test_files_stand_behind_the_text(platform: str) -> None:
    file = Attachment("file", "a.txt", "text/plain", "0" * 64, 3)
    parts = RENDERERS[platform](Outbound("msg", CHAT, "给你", attachments=(file,)), Manners())
    assert [(part.text, part.attachment) for part in parts] == [("给你", None), ("", file)]
    (alone,) = RENDERERS[platform](Outbound("msg", CHAT, "", attachments=(file,)), Manners())
    assert alone.attachment == file


def test_where_a_text_may_be_cut() -> None:
    for whole in ("é", "👨‍👩‍👧", "🇨🇳", "👍🏽", "각", "한", "❤️", "字\u0301"):
        assert not any(between(whole, at) for at in range(1, len(whole)))
    assert between("🇨🇳🇨🇳", 2)
    assert clean("a\r\nb\u2028c\ud800") == "a\nb\nc\ufffd"
