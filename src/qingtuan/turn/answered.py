"""An answer of a model as `model.answered` keeps it."""

from __future__ import annotations

from typing import Any

from qingtuan.models.chat import Answer
from qingtuan.models.service import Models
from qingtuan.models.usage import cost


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
