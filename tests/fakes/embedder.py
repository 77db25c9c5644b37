"""An embedding model for tests: near texts share characters, and every text that it is shown is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from qingtuan.errors import ModelUnreachable
from qingtuan.indexes.base import Weights
from qingtuan.language import Words

if TYPE_CHECKING:
    from qingtuan.indexes.base import Vectors


class CountingEmbedder:
    """Texts are alike by the characters, or by the hand-made senses, that they share."""

    weights = Weights(cjk=1.5, latin=1.0)
    batch = 8

    def __init__(self, *, name: str = "counting", dimension: int = 64, senses: dict[str, str] | None = None) -> None:
        """`senses`: words and what they stand for, so that a paraphrase can be near."""
        self.name = name
        self.dimension = dimension
        self.senses = senses or {}
        self.down = False
        self.passages: list[str] = []
        self.queries: list[str] = []
        self.released = 0

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        import numpy as np

        from qingtuan.indexes import vectors

        if self.down:
            raise ModelUnreachable(Words("连不上。", "It does not answer."))
        (self.queries if kind == "query" else self.passages).extend(texts)
        rows = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word, sense in self.senses.items():
                text = text.replace(word, sense)
            for char in text:
                row[crc32(char.encode()) % self.dimension] += 1
        return vectors.unit(rows)

    def release(self) -> None:
        self.released += 1
