"""Tool calls put together from streamed pieces, however a provider numbers, names or cuts them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from qingtuan.models.chat import Call


class _Growing:
    """A call under way."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        """The provider's own, used for nothing but telling pieces apart."""
        self.name = ""
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are a whole JSON object."""
        text = self.arguments
        if not text.rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False


class Calls:
    """Folds the deltas of tool calls.

    Providers should give each call its own index, and id and name once, in its first piece. They also: give
    every call index 0; leave ids out, make them empty, give two calls the same or each piece a new one; repeat
    the name in every piece; mix the pieces of several calls; send arguments as an object.
    """

    def __init__(self) -> None:
        self._calls: list[_Growing] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take one piece of one call."""
        function = delta.get("function")
        function = function if isinstance(function, Mapping) else {}
        index = delta.get("index")
        index = index if isinstance(index, int) else None
        id_, name = _text(delta.get("id")), _text(function.get("name"))
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        call = self._growing(index, id_, name, arguments or "")
        call.id = call.id or id_
        call.name = call.name or name
        if arguments:
            call.pieces.append(arguments)

    def _growing(self, index: int | None, id_: str, name: str, arguments: str) -> _Growing:
        call = self._same(index, id_, name)
        if call is None or self._begins_another(call, name, arguments):
            call = _Growing(index)
            self._calls.append(call)
        return call

    def _same(self, index: int | None, id_: str, name: str) -> _Growing | None:
        """The newest call that a piece with these marks can belong to."""
        here = [call for call in reversed(self._calls) if index is None or call.index in (None, index)]
        if id_ and (known := next((call for call in here if call.id == id_), None)):
            return known
        newest = here[0] if here else None
        if newest is None or not id_ or not newest.id:
            return newest
        # Another id: a call of its own if it has a name, else a provider that makes a new id for each piece.
        return None if name else newest

    @staticmethod
    def _begins_another(call: _Growing, name: str, arguments: str) -> bool:
        if not name or not call.name:
            return False
        return name != call.name or (bool(arguments.strip()) and call.complete)

    def finished(self, call_id: Callable[[], str]) -> tuple[Call, ...]:
        """The calls in the order in which they began, each with an id of ours.

        No arguments at all are an empty object: that is how some providers write a call without parameters.
        """
        return tuple(
            Call(call_id(), call.name, joined_halves(call.arguments)[0] if call.arguments.strip() else "{}")
            for call in self._calls
            if call.name or call.pieces
        )


def joined_halves(text: str) -> tuple[str, str]:
    """`text` with surrogate pairs joined that came in two pieces, and apart from it a first half at its end."""
    half = ""
    if text and "\ud800" <= text[-1] <= "\udbff":
        text, half = text[:-1], text[-1]
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text, half


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
