"""Models and embeddings as the settings name them. Nothing is connected, loaded or pulled here."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from pydantic import SecretStr

from qingtuan.clock import Clock
from qingtuan.errors import ModelUnreachable
from qingtuan.language import Words
from qingtuan.models.chat import ChatEvent, ChatModel, Recorder, Request, WireRequest
from qingtuan.models.client import Endpoint, Timeouts
from qingtuan.models.embedded import weights
from qingtuan.models.profiles import GENERIC
from qingtuan.models.retry import Patience, Persistent
from qingtuan.models.service import Lineup, ModelConfig, Models
from qingtuan.models.usage import Price
from qingtuan.models.wire import encode
from qingtuan.settings import Settings

NO_MODEL = Words(
    "还没有可用的模型：运行 qingtuan init 填一个密钥，或 qingtuan model pull 下载本机小模型。",
    "There is no model yet: run qingtuan init to enter a key, or qingtuan model pull for the small local one.",
)
_EMBEDDED = replace(GENERIC, name="embedded", context=4096, vision="none", json="schema", searches=False)


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers, and whether it is the small local model."""

    models: Models
    embedded: bool


def models_for(settings: Settings, clock: Clock, call_id: Callable[[], str]) -> Answering:
    """The models of the endpoint that is set, else the embedded default, else one that says what to do.

    Raises:
        SettingsWrong: an address, key or profile that cannot be used.
    """
    chance = random.Random()  # noqa: S311 (jitter of retries)
    if settings.llm.base_url is not None:
        return Answering(Models.of_endpoint(model_config(settings), clock, chance, call_id), embedded=False)
    model, name = _embedded(settings, clock)
    lineup = Lineup(name, lambda _: _EMBEDDED)
    return Answering(Models(model, lineup, Persistent(clock, chance, Patience())), embedded=True)


def secret(value: SecretStr | None) -> str:
    """The text of a secret setting; empty if it is not set."""
    return value.get_secret_value() if value else ""


def model_config(settings: Settings) -> ModelConfig:
    """The endpoint and its models, where one is set.

    Raises:
        SettingsWrong: an address or key that cannot be used.
    """
    llm = settings.llm
    prices = {
        name: Price(
            Decimal(str(price.input)),
            Decimal(str(price.output)),
            Decimal(str(price.cached)) if price.cached is not None else None,
            price.currency,
        )
        for name, price in llm.prices.items()
    }
    return ModelConfig(
        endpoint=Endpoint(llm.base_url or "", secret(llm.api_key), llm.proxy),
        model=llm.model or "",
        vision_model=llm.vision_model,
        code_model=llm.code_model,
        flash_model=llm.flash_model,
        fallback_model=llm.fallback_model,
        thinking=llm.thinking,
        timeouts=Timeouts(first_byte=llm.first_byte_seconds, between_chunks=llm.chunk_seconds),
        profiles=llm.profiles,
        prices=prices,
    )


def _embedded(settings: Settings, clock: Clock) -> tuple[ChatModel, str]:
    """The embedded model, if it may be used and its weights are there."""
    found = weights_in_use(settings)
    if found is None or not weights.engine_installed():
        return _NoModel(), "none"
    # Whoever has set an endpoint does without these.
    from qingtuan.models.embedded.model import EmbeddedModel
    from qingtuan.models.embedded.process import EngineProcess, Limits, engine_command

    which, path = found
    limits = Limits(idle=settings.embedded.idle_minutes * 60.0)
    return EmbeddedModel(
        EngineProcess(engine_command(path), clock, limits), which.name, clock, settings.zone
    ), which.name


def weights_in_use(settings: Settings) -> tuple[weights.Weights, Path] | None:
    """The weights that the settings call for and that lie on this machine."""
    folder = weights.models_folder(os.environ)
    match settings.embedded.size:
        case "off":
            return None
        case "auto":
            return weights.best_cached(folder, weights.free_memory())
        case size:
            which = weights.LARGER if size == "1.5b" else weights.SMALLER
            path = weights.cached(which, folder)
            return (which, path) if path else None


class _NoModel:
    """Stands where no model is: everything but free talk works, and the sentence says what to set."""

    def encode(self, request: Request) -> WireRequest:
        return encode(request, _EMBEDDED)

    async def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        recorder.requested(self.encode(request), "none")
        recorder.failed("none", "no model is set", again=False)
        raise ModelUnreachable(NO_MODEL)
        yield  # makes this a generator
