"""A request in the making: what the adapters of the pipeline pass on to each other."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.models.chat import Params, ToolSpec
from qingtuan.models.routing import Route
from qingtuan.prompt.history import Said
from qingtuan.prompt.view import Layer


@dataclass(frozen=True, slots=True)
class Draft:
    """A request in the making."""

    head: tuple[Layer, ...] = ()
    """Layers that stay the same from turn to turn, in the order of the request."""
    before: tuple[Said, ...] = ()
    tail: tuple[Layer, ...] = ()
    """Layers that change each turn: they stand behind the history, so that the prefix before it is kept."""
    current: tuple[Said, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    route: Route = "reason"
    params: Params = Params(model="")  # noqa: RUF009 (frozen)
