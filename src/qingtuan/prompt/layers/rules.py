"""Layers 1 and 2: what the assistant is and how it works, then the chat protocol."""

from __future__ import annotations

from qingtuan.prompt.view import Layer, TurnView


def system_rules(view: TurnView) -> Layer:
    """Layer 1: what it is (`system`) and how to work (`instructions`, shared by all instances)."""
    text = "\n".join([view.templates["system"], view.templates["instructions"]])
    return Layer("1", "system rules", text, "prompts/system.md, prompts/instructions.md")


def protocol(view: TurnView) -> Layer:
    """Layer 2: identity, permission, privacy, prompt security, memory and quality rules, the card's limits."""
    return Layer("2", "chat protocol", view.templates["protocol"], "prompts/protocol.md")
