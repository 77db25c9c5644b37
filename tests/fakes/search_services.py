"""The two services that search the web, each as its own API answers: SearXNG (`GET /search?format=json`) and Tavily
(`POST /search` with a bearer key)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "tvly-fake-key"


@dataclass
class Searched:
    """A service that runs."""

    results: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    raw: bytes | None = None
    """Answered as it is, instead of results."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Queries, with their parameters."""
    json_allowed: bool = True
    url: str = ""

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def found(self, title: str, url: str, content: str = "", date: str = "") -> None:
        """One more result, as either service words it."""
        one: dict[str, Any] = {"title": title, "url": url, "content": content, "score": 0.9, "engine": "fake"}
        self.results.append({**one, "publishedDate": date or None, "published_date": date or None})

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        parts = urlsplit(path)
        if parts.path != "/search":
            return 404, {}
        if method == "GET":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.asked.append(
                {**asked, **({"authorization": headers["authorization"]} if "authorization" in headers else {})}
            )
            if asked.get("format") != "json" or not self.json_allowed:
                return 403, {}
            return self.status, {
                "query": asked.get("q"),
                "number_of_results": 0,
                "results": self.results,
                "answers": [],
            }
        if headers.get("authorization") != f"Bearer {KEY}":
            return 401, {"detail": {"error": "Unauthorized: missing or invalid API key."}}
        asked = json.loads(body)
        self.asked.append(asked)
        if self.status != 200:
            return self.status, {"detail": {"error": "no"}}
        return 200, {"query": asked["query"], "results": self.results[: asked["max_results"]], "response_time": 0.1}


@contextmanager
def search_service() -> Iterator[Searched]:
    """One that answers as both, while the block lasts."""
    running = Searched()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, value = running.answer(self.command, self.path, headers, body)
            data = running.raw if running.raw is not None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            if status in (301, 302):
                self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    running.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield running
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
