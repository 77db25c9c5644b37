"""An answer of a model: as it comes, and as `model.answered` keeps it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from qingtuan.models.chat import Answer, ChatEvent, Recorder, Request
from qingtuan.models.service import Models
from qingtuan.models.usage import cost


def streaming(models: Models, request: Request, recorder: Recorder) -> aclosing[AsyncGenerator[ChatEvent]]:
    """What a model yields, for an `async with`. It is let go at the end of the block: a connection must not wait for
    the garbage collector."""
    # It is a generator, though its type does not say so.
    return aclosing(cast("AsyncGenerator[ChatEvent]", models.stream(request, recorder)))


def answer_payload(answer: Answer, models: Models) -> dict[str, Any]:
    """The payload: text, calls, thinking, tokens, and what it cost if the price is known."""
    usage = answer.usage
    payload: dict[str, Any] = {
        "text": answer.text,
        "finish": answer.finish,
        "model": answer.model,
        "usage": {
            "prompt": usage.prompt,
            "completion": usage.completion,
            "cached": usage.cached,
            "estimated": usage.estimated,
        },
    }
    if answer.calls:
        payload["calls"] = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in answer.calls]
    for name in ("reasoning", "incomplete"):
        if value := getattr(answer, name):
            payload[name] = value
    price = models.profile(answer.model).price
    if price is not None:
        payload |= {"cost": str(cost(usage, price)), "currency": price.currency}
    return payload
