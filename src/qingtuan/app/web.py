"""What reads and searches the web, as the settings want it."""

from __future__ import annotations

from qingtuan.clock import Clock
from qingtuan.media.reading.process import Children
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.settings.web import Web
from qingtuan.tools.tool import Tool, tools_of
from qingtuan.web.pages import Pages
from qingtuan.web.search import Backend
from qingtuan.web.searxng import SearXNG
from qingtuan.web.tavily import Tavily
from qingtuan.web.tools import WebReading, WebSearching


def web_tools(settings: Web, children: Children, clock: Clock, fetcher: SafeFetcher | None = None) -> list[Tool]:
    """The tools. Without a service that searches, none of them does: a tool that always fails helps nobody."""
    fetcher = fetcher or SafeFetcher()
    backend = backend_of(settings, fetcher)
    searching = tools_of(WebSearching(backend)) if backend is not None else []
    return [*tools_of(WebReading(Pages(fetcher, children, clock))), *searching]


def backend_of(settings: Web, fetcher: SafeFetcher) -> Backend | None:
    """What searches, if the settings name it with all that it takes."""
    key = settings.key.get_secret_value().strip() if settings.key else None
    if settings.search == "searxng" and settings.url:
        return SearXNG(fetcher, settings.url, key or None)
    if settings.search == "tavily" and key:
        return Tavily(fetcher, key)  # web.url is that of a SearXNG: the key is not for it
    return None
