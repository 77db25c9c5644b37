"""Web pages as text: what they say, in whatever they are written in, and nothing that a person would not see."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.media.reading.pages import decoded, page_of
from qingtuan.media.reading.process import Children, Job
from qingtuan.media.reading.told import Broken, Read

LONG = "这是正文里的一句话。" * 40


def read(
    html: str | bytes, url: str = "https://news.example.com/a/b.html", charset: str = "", chars: int = 50_000
) -> Read:
    data = html.encode() if isinstance(html, str) else html
    return page_of(json.dumps({"url": url, "charset": charset}).encode() + b"\n" + data, chars)


def test_the_matter_stays_and_what_stands_around_it_goes() -> None:
    page = read(
        f"""<!doctype html><html><head><title> 图书馆
        开放时间 </title><meta property="article:published_time" content="2026-11-30T08:00:00+08:00">
        <link rel="canonical" href="/a/canonical"><style>p {{color: red}}</style></head><body>
        <nav><a href="/">首页</a></nav><div role="banner">横幅</div><header><h1>开放时间</h1></header>
        <main><h2>平日</h2><p>{LONG} <a href="../hours?q=1#top">时刻表</a> 和 <a href="javascript:alert(1)">按钮</a></p>
        <ul><li>一层</li><li>二层<ol><li>安静区</li></ol></li></ul>
        <table><tr><th>日</th><th>时间</th></tr><tr><td>周一</td><td>8:00</td></tr></table>
        <pre><code>x = 1</code></pre><img src="/p.png" alt="平面图"><img src="/spy.gif">
        <form><input name=q><button>搜</button></form><script>alert("remember this")</script></main>
        <aside>推荐</aside><footer>版权</footer></body></html>"""
    )
    assert page.about == {
        "title": "图书馆 开放时间",
        "published": "2026-11-30T08:00:00+08:00",
        "canonical": "https://news.example.com/a/canonical",
    }
    for kept in (
        "## 平日", LONG, "[时刻表](<https://news.example.com/hours?q=1#top>)", "和 按钮", "- 一层", "安静区",
        "| 日 | 时间 |", "| 周一 | 8:00 |", "x = 1", "[平面图]",
    ):  # fmt: skip
        assert kept in page.text
    for gone in ("首页", "横幅", "推荐", "版权", "alert", "spy", "搜", "color", "javascript", "p.png"):
        assert gone not in page.text


@pytest.mark.parametrize(
    "hidden",
    [
        "<div hidden>{}</div>",
        "<div style='display: none'>{}</div>",
        "<p style='color:red;VISIBILITY:hidden'>{}</p>",
        "<span style='font-size:0px'>{}</span>",
        "<span style='opacity:0'>{}</span>",
        "<div style='position:absolute;left:-9999px'>{}</div>",
        "<div aria-hidden='true'>{}</div>",
        "<!-- {} -->",
        "<script>{}</script>",
        "<style>{}</style>",
        "<template>{}</template>",
        "<noscript>{}</noscript>",
        "<iframe>{}</iframe>",
        "<textarea>{}</textarea>",
        "<svg><text>{}</text></svg>",
        "<dialog>{}</dialog>",
        "<p>x<img alt='' title='{}'></p>",
        "<p data-note='{}'>x</p>",
    ],
)
def test_what_a_person_would_not_see_is_not_read(hidden: str) -> None:
    assert "给我记住" not in read(f"<body><p>{LONG}</p>{hidden.format('给我记住')}</body>").text


def test_invisible_characters_are_taken_out() -> None:
    page = read(f"<body><p>{LONG}a\u200bb\u202ec\U000e0041d\ufeff</p></body>")
    assert page.text.endswith("abcd")


def test_a_page_most_of_which_is_hidden_or_a_form_is_read_all_the_same() -> None:
    for around in ("<div style='visibility: hidden; opacity: 0'>{}</div>", "<form>{}</form>", "<aside>{}</aside>"):
        assert LONG in read(f"<body>{around.format(LONG)}<p>短</p></body>").text


def test_of_many_articles_none_is_the_matter() -> None:
    page = read(f"<body><article>{LONG}甲</article><article>{LONG}乙</article></body>")
    assert "甲" in page.text
    assert "乙" in page.text


@pytest.mark.parametrize(
    ("encoding", "charset", "meta"),
    [
        ("utf-8", "", ""), ("utf-8-sig", "gbk", ""), ("utf-16", "", ""), ("gb18030", "GB2312", ""),
        ("gbk", "", "gb2312"), ("gbk", "", ""), ("gbk", "utf-8", "gbk"), ("big5", "Big5", ""), ("big5", "", "big5"),
        ("shift_jis", "Shift_JIS", ""), ("shift_jis", "", "x-sjis"), ("utf-8", "no-such-charset", ""),
        ("utf-8", "rot13", ""), ("utf-8", "utf-7", ""),
    ],
)  # fmt: skip
def test_every_way_of_writing_is_read(encoding: str, charset: str, meta: str) -> None:
    words = (
        "図書館の開館時間" if encoding == "shift_jis" else "圖書館開放時間" if encoding == "big5" else "图书馆开放时间"
    )
    head = f"<meta charset={meta}>" if meta else ""
    page = read(f"<html><head>{head}</head><body><p>{words * 30}</p>".encode(encoding), charset=charset)
    assert words in page.text


@given(
    st.binary(max_size=400),
    st.sampled_from(["", "utf-8", "gbk", "hex", "idna", "undefined", "unicode_escape", "iso-8859-2", "a" * 40]),
)
def test_any_bytes_become_text(data: bytes, charset: str) -> None:
    assert isinstance(decoded(data, charset), str)


_MARKUP = (
    "<p>", "</p>", "<table>", "<td colspan=9>", "<li>", "<a href='x'>", "<![CDATA[", "<!--", "-->", "</body>",
    "<script>", "</script>", "&#x0;", "&amp", "<b", "图", "\x00", "<ul>", "<pre>", "<base href='//[bad'>", "<a href='http://[x'>y</a>",
)  # fmt: skip


@given(st.lists(st.sampled_from(_MARKUP), max_size=40))
def test_any_markup_is_read_or_refused(pieces: list[str]) -> None:
    refused = ""
    try:
        text = read("".join(pieces)).text
    except Broken as error:
        text, refused = "", error.why
    assert refused in ("", "empty", "scripted")
    assert "\x00" not in text


def test_what_scripts_would_show_is_told() -> None:
    for empty in (
        "<div id=root></div><script src=app.js></script>",
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=app></div>",
    ):
        with pytest.raises(Broken) as caught:
            read(empty)
        assert caught.value.why == "scripted"
    page = read("<meta name=description content='一句 简介'><div>加载中</div><script>run()</script>")
    assert (page.text, page.about) == ("加载中", {"description": "一句 简介", "scripted": "yes"})
    assert "scripted" not in read(f"<p>{LONG}</p><script>count()</script>").about
    with pytest.raises(Broken) as caught:
        read("<body></body>")
    assert caught.value.why == "empty"


def test_a_long_page_is_cut_and_says_so() -> None:
    page = read(f"<p>{LONG * 10}</p>", chars=1000)
    assert (len(page.text), page.cut) == (1000, True)


def test_programs_in_front_do_not_push_the_matter_out() -> None:
    page = read(f"<script>{'x = 1;' * 500_000}</script><p>{LONG}</p>")
    assert LONG in page.text


def test_plain_text_stays_as_it_is() -> None:
    given_ = json.dumps({"url": "https://e.com/a.txt", "charset": "big5", "plain": True}).encode() + b"\n"
    assert page_of(given_ + "<b>臺北</b>\r\n\r\n\r\n\r\n完".encode("big5"), 100).text == "<b>臺北</b>\n\n完"


@pytest.mark.parametrize(
    "page",
    [
        b"<div>" * 200_000 + LONG.encode(),
        b"<div hidden>" * 30_000 + LONG.encode(),
        b"<ul><li>" * 20_000 + LONG.encode(),
        b"<table><tr><td colspan=1000>x" * 20_000,
        b"<a href=x>" * 100_000,
        b"<!--" * 500_000,
        b"<![CDATA[" * 300_000,
        b"<script" * 500_000,
        b"<meta charset=" * 200_000,
        b"&" * 2_000_000,
        b"<" * 2_000_000,
        b"<p a=" * 400_000,
        b"<style>" + b"</st" * 500_000,
    ],
)
async def test_a_page_that_means_harm_ends_the_child_at_worst(page: bytes) -> None:
    job = Job("page", "text/html", 10_000, seconds=2, memory=600)
    text, refused = "", ""
    try:
        text = (await Children().read(job, b'{"url": "https://e.com/"}\n' + page)).text
    except Broken as error:
        refused = error.why
    assert refused in ("", "slow", "large", "empty", "scripted", "broken")
    assert len(text) <= 10_000


@pytest.mark.parametrize(
    "html",
    [
        "<title>What is <script>?</title><p>{}</p>",
        "<!-- never a <script> here --><p>{}</p>",
        "<p>x</p><textarea><script></textarea><p>{}</p>",
        '<script type=\'application/ld+json\'>{{"a": "<style>"}}</script><p>{}</p>',
        "<script>a = '<!--'</script><p>{}</p>",
        "<!-- <p>{}</p>--><script>x</script><p>{}</p>",
    ],
)
def test_the_name_of_a_program_is_none(html: str) -> None:
    assert LONG in read(html.format(LONG, LONG)).text


def test_links_start_from_where_the_page_says() -> None:
    page = read(f'<head><base href="https://base.example.com/d/"></head><p>{LONG}<a href="e">这里</a></p>')
    assert "<https://base.example.com/d/e>" in page.text


@pytest.mark.parametrize(
    ("style", "seen"),
    [
        ("opacity:.0", False), ("opacity: 0.00", False), ("opacity:0.", False), ("font-size:.0em", False),
        ("opacity:.05", True), ("opacity: 0.5", True), ("opacity: 1", True), ("opacity: inherit", True),
        ("font-size:.8em", True),
    ],
)  # fmt: skip
def test_what_is_too_faint_to_be_seen(style: str, seen: bool) -> None:
    page = read(f"<p>{LONG}</p><p style='{style}'>记住这个</p>")
    assert ("记住这个" in page.text) == seen
