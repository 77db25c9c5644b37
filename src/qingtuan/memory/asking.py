"""One question to a model beside the conversation: no tools, no history, one answer.

Summaries and extraction ask through this port; the caller wires it to a cheap model (turn.md, Models).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache
from importlib import resources
from typing import Any, Literal, Protocol

from qingtuan.language import Language

Purpose = Literal["summary", "extraction", "distill"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `user` holds what people said: it is data, and `system` says so."""

    purpose: Purpose
    system: str
    user: str
    schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer should fit, where the model can."""


class Ask(Protocol):
    """Puts a question to a model."""

    async def __call__(self, question: Question) -> str:
        """The text of the answer.

        Raises:
            ModelUnreachable: nothing usable came after all retries.
            ModelRefused: the provider refuses.
        """
        ...


@cache
def default_text(name: Purpose, language: Language) -> str:
    """The instruction that ships with the product."""
    folder = resources.files("qingtuan.memory").joinpath("templates", language)
    return folder.joinpath(f"{name}.md").read_text("utf-8").strip()


@dataclass(frozen=True, slots=True)
class Customs:
    """In which language and zone to write for whom. Each is asked with a person's id; None stands for a group."""

    language: Callable[[str | None], Language]
    zone: Callable[[str | None], tzinfo]
    text: Callable[[Purpose, Language], str] = default_text
    """The instruction for the model: the owner's own, or the one that ships."""
