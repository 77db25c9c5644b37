"""An embedding model that gives noise at once: a search takes as long over any vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qingtuan.indexes.embedding import UseEmbedder


class Noise:
    """Vectors of the size of USE's, at once."""

    name = "noise"
    weights = UseEmbedder.weights
    batch = 1000

    def embed(self, texts: Sequence[str], kind: str) -> Any:  # noqa: ARG002 (noise is noise)
        import numpy as np

        from qingtuan.indexes import vectors

        return vectors.unit(np.random.default_rng(len(texts)).standard_normal((len(texts), 512)).astype(np.float32))

    def release(self) -> None:
        """Hold nothing."""
