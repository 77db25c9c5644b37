"""The row of `qingtuan doctor` about searching the web: tried once, for one result."""

from __future__ import annotations

from qingtuan.app.web import backend_of
from qingtuan.cli.checkups import Check, Finding
from qingtuan.cli.shell import Shell
from qingtuan.errors import ToolFailed
from qingtuan.language import Words
from qingtuan.net.fetcher import SafeFetcher

HOW_TO_SEARCH = Words(
    '在 qingtuan.toml 的 [web] 里写：自己的 SearXNG 用 search = "searxng" 和 url；Tavily 用 search = "tavily"，'
    "密钥写进 .env 的 QINGTUAN_WEB__KEY。",
    'In [web] of qingtuan.toml: for a SearXNG of your own, search = "searxng" and url; for Tavily, search = '
    '"tavily", with its key as QINGTUAN_WEB__KEY in .env.',
)


async def _search(shell: Shell) -> Finding:
    settings = shell.settings.web
    if settings.search == "none":
        return Finding("ok", _OFF, HOW_TO_SEARCH)
    backend = backend_of(settings, SafeFetcher())
    if backend is None:
        return Finding("wrong", _INCOMPLETE.filled(name=settings.search), HOW_TO_SEARCH)
    try:
        found = await backend.search(_WORD, 1, shell.language)
    except ToolFailed as error:
        return Finding("wrong", error.words, _LOOK_AT_IT)
    if not found:
        return Finding("note", _NOTHING, _LOOK_AT_IT)
    return Finding("ok", Words(settings.search, settings.search))


SEARCH_CHECK = Check("search", Words("网上搜索", "web search"), _search)

_WORD = "weather"
_OFF = Words("没有设；链接照样能读", "not set; links can be read all the same")
_INCOMPLETE = Words(
    "web.search 是 {name}，但没写它要的地址或密钥。", "web.search is {name}, without its address or key."
)
_LOOK_AT_IT = Words(
    "看 web.url、web.key 对不对，那边开着没有", "See whether web.url and web.key are right, and it runs"
)
_NOTHING = Words("能连上，但什么也没搜到。", "It answers, but finds nothing.")
