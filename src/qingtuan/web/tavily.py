"""Searching with Tavily (its API, `POST /search`)."""

from __future__ import annotations

import json

from qingtuan.errors import FetchFailed
from qingtuan.language import Language
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.web.search import LIMITS, Hit, hits_of, json_of, refused, unreachable

ADDRESS = "https://api.tavily.com"


class Tavily:
    """The service behind a key."""

    def __init__(self, fetcher: SafeFetcher, key: str, url: str | None = None) -> None:
        """`url` is given by tests alone, for a service that stands in for it: the settings name none."""
        self._url = (url or ADDRESS).rstrip("/")
        self._pages = fetcher
        self._fetcher = fetcher.allow_private_of(self._url) if url else fetcher
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    async def search(self, query: str, limit: int, language: Language) -> tuple[Hit, ...]:  # noqa: ARG002 (as of all)
        """See `Backend.search`. Tavily goes by the language of the query."""
        body = json.dumps({"query": query, "max_results": limit, "search_depth": "basic"}).encode()
        try:
            answer = await self._fetcher.request(
                "POST", f"{self._url}/search", headers=self._headers, body=body, limits=LIMITS
            )
        except FetchFailed as error:
            raise unreachable(error) from None
        if answer.status != 200:
            raise refused(answer.status, "Tavily", keys=(401, 403), spent=(432, 433))
        return hits_of(json_of(answer).get("results"), limit, "published_date", self._pages)
