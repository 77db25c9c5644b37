"""An embedding model behind an OpenAI-compatible `/embeddings` endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from qingtuan.errors import ForOwner, ModelRefused, ModelUnreachable
from qingtuan.indexes.base import Weights
from qingtuan.language import Words

if TYPE_CHECKING:
    from qingtuan.indexes.base import Vectors

_TIMEOUT = 10.0
"""Seconds; a search waits for this, and goes on with words alone when it is over."""


class EndpointEmbedder:
    """Vectors from the endpoint that the settings name (`QINGTUAN_EMBEDDING__BASE_URL`, `API_KEY`, `MODEL`)."""

    weights = Weights(cjk=1.25, latin=1.0)
    """Of unknown models; those of e5, which is the weakest that people use."""
    batch = 10
    """The fewest that a maker allows in one request."""

    def __init__(self, base_url: str, api_key: str, model: str, *, timeout: float = _TIMEOUT) -> None:
        self._url = base_url.rstrip("/") + "/embeddings"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._model = model
        self._timeout = timeout
        self._client: Any = None

    @property
    def name(self) -> str:
        return f"{self._model}@{urlsplit(self._url).netloc}"

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:  # noqa: ARG002 - the protocol has no word for it
        import numpy as np

        from qingtuan.indexes import vectors

        rows: list[list[float]] = []
        for start in range(0, len(texts), self.batch):
            rows += self._request(list(texts[start : start + self.batch]))
        try:
            result = np.array(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._unusable(str(error)) from error
        if result.ndim != 2 or not result.size or not np.isfinite(result).all():
            raise self._unusable(f"shape {result.shape}")
        return vectors.unit(result)

    def release(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _request(self, texts: list[str]) -> list[list[float]]:
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(headers=self._headers, timeout=self._timeout)
        try:
            response = self._client.post(self._url, json={"model": self._model, "input": texts})
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(type(error).__name__) from error
        if response.status_code in (401, 403):
            raise ModelRefused(
                Words(
                    "向量服务不认这个密钥，请检查 QINGTUAN_EMBEDDING__API_KEY。",
                    "The embedding service refuses the key; please check QINGTUAN_EMBEDDING__API_KEY.",
                ),
                reason="key",
            )
        if response.status_code != 200:
            raise self._unreachable(f"status {response.status_code}")
        try:
            data = sorted(response.json()["data"], key=lambda item: item["index"])
            rows = [item["embedding"] for item in data]
        except (ValueError, KeyError, TypeError) as error:
            raise self._unusable(repr(error)) from error
        if len(rows) != len(texts):
            raise self._unusable(f"{len(rows)} rows for {len(texts)} texts")
        return rows

    def _unreachable(self, detail: str) -> ForOwner:
        return ModelUnreachable(
            Words(
                "连不上向量服务，记忆暂时只按字词查找。",
                "The embedding service does not answer; for now memory is searched by words only.",
            ),
            detail=detail,
        )

    def _unusable(self, detail: str) -> ForOwner:
        return ModelUnreachable(
            Words(
                "向量服务的回答看不懂，请检查 QINGTUAN_EMBEDDING__BASE_URL 和 MODEL。",
                "The embedding service answers with something else; "
                "please check QINGTUAN_EMBEDDING__BASE_URL and MODEL.",
            ),
            detail=detail,
        )
