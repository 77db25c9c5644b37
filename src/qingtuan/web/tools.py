"""The tools that read and search the web. What they give is material, whoever wrote it."""

from __future__ import annotations

import re
from typing import Annotated

from qingtuan.errors import ArgumentsRefused, ToolFailed
from qingtuan.identity.trust import Risk
from qingtuan.language import Language, Words
from qingtuan.messages import Origin
from qingtuan.tools.tool import MEMBERS, ToolContext, ToolResult, tool
from qingtuan.web.pages import Page, Pages
from qingtuan.web.parts import parts
from qingtuan.web.search import MOST, Backend, Hit

WEB_READ = "web_read"


class WebReading:
    """Reading an address."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    @tool(
        risk=Risk.READ,
        returns="foreign",
        roles=MEMBERS,
        core=False,
        sends_out=True,
        timeout=120.0,
        exempt=frozenset({"part"}),
        about=Words("打开一个网址，读里面的文字", "open an address and read its text"),
        examples=(
            "看看这个链接讲了什么", "打开 https:// 这个网页", "总结一下这篇文章", "这个网址里写了什么",
            "read this link", "summarize this page",
        ),
    )  # fmt: skip
    async def web_read(
        self,
        context: ToolContext,
        url: Annotated[str, "http(s) address, exactly as the person or a result gives it"],
        part: Annotated[int, {"minimum": 1, "maximum": 99}, "of a long page, as its first part says"] = 1,
    ) -> ToolResult:
        """Read a public web page, PDF or text file. Name the address in your answer."""
        page = await self._pages.read(_whole(url), context.reader.person)
        pieces = parts(page.text)
        if part > len(pieces):
            raise ToolFailed(_NO_PART.filled(count=len(pieces)))
        text = "\n".join([*_head(page, context.language), *_place(page, part, len(pieces), context.language)])
        data = {"url": page.url, "title": page.title, "part": part, "parts": len(pieces)}
        if part == 1 and len(pieces) > 1:
            data["text"] = page.text
        return ToolResult(f"{text}\n\n{pieces[part - 1]}".strip(), data=data, origin=Origin.WEB)


class WebSearching:
    """Searching, with what the settings name."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @tool(
        risk=Risk.READ,
        returns="foreign",
        roles=MEMBERS,
        core=False,
        sends_out=True,
        exempt=frozenset({"limit"}),
        about=Words("在网上搜索", "search the web"),
        examples=(
            "上网搜一下", "查一下最新的新闻", "今天有什么新闻", "网上怎么说", "帮我搜索", "search the web for",
            "what is the latest news about",
        ),
    )  # fmt: skip
    async def web_search(
        self,
        context: ToolContext,
        query: Annotated[str, {"minLength": 1, "maxLength": 400}, "search words, the person's own where possible"],
        limit: Annotated[int, {"minimum": 1, "maximum": MOST}] = 5,
    ) -> ToolResult:
        """Search the web for what is new or not known. Read what you rely on with web_read, and name the addresses."""
        if not query.strip():
            raise ArgumentsRefused(_NOTHING_ASKED)
        hits = await self._backend.search(" ".join(query.split()), limit, context.language)
        if not hits:
            return ToolResult(_NOTHING.say(context.language), data={"results": []}, origin=Origin.WEB)
        text = "\n\n".join(_shown(number, hit) for number, hit in enumerate(hits, 1))
        data = [{"title": hit.title, "url": hit.url, "published": hit.published} for hit in hits]
        return ToolResult(text, data={"results": data}, origin=Origin.WEB)


def _whole(url: str) -> str:
    """An address with the scheme that people leave out."""
    url = url.strip().strip("<>")
    return url if "://" in url or not _SCHEMELESS.match(url) else f"https://{url}"


def _head(page: Page, language: Language) -> list[str]:
    lines = [
        (_TITLE, page.title),
        (_URL, f"<{page.url}>"),
        (_CANONICAL, f"<{page.canonical}>" if page.canonical else ""),
        (_PUBLISHED, page.published),
        (_SUMMARY, page.description),
    ]
    return [f"{words.say(language)}{value}" for words, value in lines if value]


def _place(page: Page, part: int, count: int, language: Language) -> list[str]:
    """Which part this is of how much."""
    lines = []
    if count > 1:
        words = _PART if part < count else _LAST
        lines.append(words.say(language).format(part=part, count=count, chars=len(page.text), next=part + 1))
    if page.cut and part == count:
        lines.append(_CUT.say(language).format(chars=len(page.text)))
    if page.scripted:
        lines.append(_SCRIPTED.say(language))
    return lines


def _shown(number: int, hit: Hit) -> str:
    below = " · ".join(filter(None, (hit.published, hit.snippet)))
    return "\n".join(filter(None, (f"{number}. {hit.title}", f"<{hit.url}>", below)))


_SCHEMELESS = re.compile(r"[^\s/:@?#]+\.[^\s/:@?#]+(?:[/:?#]|$)")
_TITLE = Words("标题：", "Title: ")
_URL = Words("地址：", "Address: ")
_CANONICAL = Words("它自己的地址：", "Its own address: ")
_PUBLISHED = Words("发布：", "Published: ")
_SUMMARY = Words("简介：", "Description: ")
_PART = Words(
    "（全文 {chars} 字，这是第 {part} 部分，共 {count} 部分；接着读用 part={next}）",
    "(Part {part} of {count}, {chars} characters in all; go on with part={next})",
)
_LAST = Words(
    "（全文 {chars} 字，这是第 {part} 部分，共 {count} 部分）", "(Part {part} of {count}, {chars} characters in all)"
)
_CUT = Words("（太长，只取了前 {chars} 字）", "(Too long: only the first {chars} characters were taken)")
_SCRIPTED = Words(
    "（这个网页的内容要靠脚本才显示，可能没有读全）", "(What this page shows is made by scripts; there may be more)"
)
_NO_PART = Words("没有这一部分：一共 {count} 部分。", "There is no such part: there are {count}.")
_NOTHING_ASKED = Words("query 是空的。", "query is empty.")
_NOTHING = Words("没有搜到。", "Nothing was found.")
