from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.indexes.endpoint import EndpointEmbedder

Answer = tuple[int, Any]


class Service:
    """An embedding service on a free port that answers as it is told and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answer: Callable[[list[str]], Answer] = numbered
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(body | {"path": self.path})
                service.keys.append(self.headers["Authorization"])
                status, answer = service.answer(body["input"])
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1/"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def numbered(texts: list[str]) -> Answer:
    """A vector for each text, in the wrong order, as the protocol allows."""
    rows = [{"index": at, "embedding": [float(len(text)), 1.0]} for at, text in enumerate(texts)]
    return 200, {"data": rows[::-1]}


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


@pytest.fixture
def embedder(service: Service) -> Iterator[EndpointEmbedder]:
    embedder = EndpointEmbedder(service.url, "sk-1", "text-embedding", timeout=5)
    yield embedder
    embedder.release()


def test_rows_come_back_in_order_and_of_length_one(service: Service, embedder: EndpointEmbedder) -> None:
    rows = embedder.embed(["一", "二二", "三三三"], "passage")
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3))
    assert (rows[:, 0] / rows[:, 1]).round().tolist() == [1, 2, 3]
    assert service.asked == [{"model": "text-embedding", "input": ["一", "二二", "三三三"], "path": "/v1/embeddings"}]
    assert service.keys == ["Bearer sk-1"]


def test_many_texts_go_in_requests_that_every_maker_allows(service: Service, embedder: EndpointEmbedder) -> None:
    assert len(embedder.embed([str(number) for number in range(25)], "passage")) == 25
    assert [len(request["input"]) for request in service.asked] == [10, 10, 5]


def test_a_refused_key_is_said_as_that(service: Service, embedder: EndpointEmbedder) -> None:
    service.answer = lambda _: (401, {})
    with pytest.raises(ModelRefused) as refused:
        embedder.embed(["一"], "query")
    assert refused.value.reason == "key"


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}),
        (200, b"<html>"),
        (200, {"data": []}),
        (200, {"data": None}),
        (200, {"error": "no"}),
        (200, {"data": [{"index": 0, "embedding": []}]}),
        (200, {"data": [{"index": 0, "embedding": ["x"]}]}),
        (200, b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}'),
        (200, {"data": [{"index": 0, "embedding": 3.0}]}),
    ],
)
def test_what_is_no_answer_is_an_error_for_the_owner(
    service: Service, embedder: EndpointEmbedder, answer: Answer
) -> None:
    service.answer = lambda _: answer
    with pytest.raises(ModelUnreachable):
        embedder.embed(["一"], "query")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://[broken/v1"])
def test_nobody_there(url: str) -> None:
    embedder = EndpointEmbedder(url, "", "m", timeout=2)
    with pytest.raises(ModelUnreachable):
        embedder.embed(["一"], "query")
    embedder.release()
