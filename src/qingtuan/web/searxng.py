"""Searching with a SearXNG, usually the owner's own (docs.searxng.org, Search API)."""

from __future__ import annotations

from urllib.parse import urlencode

from qingtuan.errors import FetchFailed, SettingsWrong
from qingtuan.language import Language, Words
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.web.search import LIMITS, Hit, hits_of, json_of, refused, unreachable


class SearXNG:
    """One that answers in JSON."""

    def __init__(self, fetcher: SafeFetcher, url: str, key: str | None = None) -> None:
        """`url` is from the settings, and may stand in the owner's own network. `key` goes along as a bearer token, for
        one that stands behind a door."""
        self._pages = fetcher
        self._fetcher = fetcher.allow_private_of(url)
        self._url = url.rstrip("/")
        self._headers = {"Accept": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    async def search(self, query: str, limit: int, language: Language) -> tuple[Hit, ...]:
        """See `Backend.search`."""
        asked = urlencode({"q": query, "format": "json", "language": _LANGUAGES[language], "safesearch": "1"})
        base = self._url if self._url.endswith("/search") else f"{self._url}/search"
        try:
            answer = await self._fetcher.request("GET", f"{base}?{asked}", headers=self._headers, limits=LIMITS)
        except FetchFailed as error:
            raise unreachable(error) from None
        if answer.status == 403:
            raise SettingsWrong(_NO_JSON, detail="HTTP 403")
        if answer.status in (301, 302, 303, 307, 308, 404):
            raise SettingsWrong(_NOT_THERE, detail=f"HTTP {answer.status}")
        if answer.status != 200:
            raise refused(answer.status, "SearXNG")
        return hits_of(json_of(answer).get("results"), limit, "publishedDate", self._pages)


_LANGUAGES: dict[Language, str] = {"zh": "zh-CN", "en": "en"}
_NO_JSON = Words(
    "SearXNG 没有开放 JSON：在它的 settings.yml 里给 search.formats 加上 json。",
    "This SearXNG answers no JSON: add json to search.formats in its settings.yml.",
)
_NOT_THERE = Words(
    "web.url 那里没有 SearXNG 的搜索。写它首页的最终地址，例如 http://127.0.0.1:8888。",
    "There is no search of SearXNG at web.url. Give the final address of its front page, such as http://127.0.0.1:8888.",
)
