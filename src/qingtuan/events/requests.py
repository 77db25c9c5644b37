"""Model requests as references: each piece once, by hash, and each request as what it adds to the one before it.

A session's requests share nearly all of their messages. A request event names the earlier request that it
continues, how many messages it keeps of it, and the pieces that follow; the exact bytes can be put together again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.models.chat import WireRequest

_DEPTH = 32
"""A request that would need more steps than this back to a full list is stored with its full list."""


class Requests:
    """Stores and reads the requests of one log."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._latest: dict[str, tuple[str, int, tuple[str, ...]]] = {}
        """By session: event, depth and message hashes of the newest request. A cache: empty costs one full list."""

    def store(
        self,
        wire: WireRequest,
        place: Place,
        facts: Mapping[str, Any],
        *,
        cause: str | None = None,
        aside: bool = False,
    ) -> Event:
        """Write a `model.requested` event. `facts` (model, route, layers …) stand beside the references. With `aside`
        the request is no part of the conversation, and the next one does not continue it."""
        with self._log.transaction():
            messages = self._log.keep_parts(wire.messages)
            tools, params = (self._log.keep_parts([body])[0] if body else None for body in (wire.tools, wire.params))
            payload = {**facts, "tools": tools, "params": params, **self._references(place.session or "", messages)}
            event = self._log.append(Kind.MODEL_REQUESTED, place, payload, cause=cause)
        if not aside:
            self._latest[place.session or ""] = (event.id, payload["depth"], tuple(messages))
        return event

    def load(self, event: Event) -> WireRequest:
        """The request of a `model.requested` event, byte for byte as it was sent.

        Raises:
            KeyError: a piece is gone, because the person it belonged to was forgotten.
        """
        tools, params = event.payload["tools"], event.payload["params"]
        return WireRequest(
            messages=tuple(self._log.part(name) for name in self._messages(event)),
            tools=self._log.part(tools) if tools else None,
            params=self._log.part(params),
        )

    def _references(self, session: str, messages: Sequence[str]) -> dict[str, Any]:
        base, depth, earlier = self._latest.get(session, (None, _DEPTH, ()))
        kept = common_prefix(earlier, messages)
        if base is None or depth >= _DEPTH or not kept:
            return {"messages": list(messages), "depth": 0}
        return {"base": base, "kept": kept, "messages": list(messages[kept:]), "depth": depth + 1}

    def _messages(self, event: Event) -> list[str]:
        added: list[str] = list(event.payload["messages"])
        if (base := event.payload.get("base")) is None:
            return added
        earlier = self._log.get(base)
        if earlier is None:
            raise KeyError(base)
        return [*self._messages(earlier)[: event.payload["kept"]], *added]


def common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """How many pieces two requests share from the front."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared
