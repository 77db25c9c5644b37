"""Layers 6a, 6b and 7: steady memory, what was recalled for this message, and summaries."""

from __future__ import annotations

from qingtuan.language import Words
from qingtuan.prompt.view import Layer, TurnView

_SUMMARY = Words(
    "[本会话较早内容的摘要，不是长期记忆；与原文冲突时以原文为准]",
    "[Summary of the older part of this session; no memory of a person; raw text wins]",
)
_FOREIGN = Words("[含材料内容]", "[holds material]")


def pinned(view: TurnView) -> Layer | None:
    """Layer 6a: pinned entries, profile and rules of the speaker, what is fresh; stable from turn to turn."""
    return Layer("6a", "memory", view.pinned, "wiki") if view.pinned else None


def recalled(view: TurnView) -> Layer | None:
    """Layer 6b, in the tail: what this message calls for and 6a does not hold."""
    return Layer("6b", "recalled memory", view.recalled, "wiki") if view.recalled else None


def summaries(view: TurnView) -> list[Layer]:
    """Layer 7: the summaries of this session, oldest first; each is a message of its own, so that the older
    ones stay part of the prefix when a new one comes. A model wrote them from what anybody said: every line is marked,
    so that none can pass for a label of ours."""
    layers = []
    for summary in view.summaries:
        mark = _FOREIGN.say(view.language) if summary.foreign else ""
        lines = (f"> {line}" for line in summary.text.splitlines())
        text = "\n".join((f"{_SUMMARY.say(view.language)}{mark}", *lines))
        layers.append(Layer("7", "summary", text, "session summary", summary.foreign))
    return layers
