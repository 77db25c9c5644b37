"""Model requests as references: each piece once, by hash, and each request as what it adds to the one before it.

A session's requests share nearly all of their messages. A request event names the earlier request that it
continues, how many messages it keeps of it, and the pieces that follow; the exact bytes can be put together again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from qingtuan.events.erasing import ERASING
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.models.chat import WireRequest

_DEPTH = 32
"""A request that would need more steps than this back to a full list is stored with its full list."""
_SESSIONS = 64
"""How many sessions' newest requests are kept in mind."""


@dataclass(frozen=True, slots=True)
class _Latest:
    """The newest request of a session."""

    event: str
    depth: int
    messages: tuple[bytes, ...]
    hashes: tuple[str, ...]
    beside: Mapping[bytes, str]
    """Tools and parameters with their hashes."""


class Requests:
    """Stores and reads the requests of one log."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._latest: OrderedDict[str, _Latest] = OrderedDict()
        """By session, the one used last at the end. A cache: what is missing costs one full list."""
        log.listen(self._heard)

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
        the request is no part of the conversation: it continues none, and the next one does not continue it."""
        session = place.session or ""
        latest = None if aside else self._usable(session)
        kept = common_prefix(latest.messages, wire.messages) if latest else 0
        with self._log.transaction():
            # What stood in the request before is stored already; hashing it again would cost more than all the rest.
            added = self._log.keep_parts(wire.messages[kept:])
            beside = self._beside(wire, latest)
            continues = latest is not None and kept > 0 and latest.depth < _DEPTH
            hashes = (*(latest.hashes[:kept] if latest else ()), *added)
            depth = latest.depth + 1 if latest and continues else 0
            references: dict[str, Any] = {"messages": added if continues else list(hashes), "depth": depth}
            if latest and continues:
                references |= {"base": latest.event, "kept": kept}
            tools = beside[wire.tools] if wire.tools else None
            payload = {**facts, "tools": tools, "params": beside[wire.params], **references}
            event = self._log.append(Kind.MODEL_REQUESTED, place, payload, cause=cause)
        if not aside:
            self._latest[session] = _Latest(event.id, depth, wire.messages, hashes, beside)
            if len(self._latest) > _SESSIONS:
                self._latest.popitem(last=False)
        return event

    def _beside(self, wire: WireRequest, latest: _Latest | None) -> Mapping[bytes, str]:
        """Tools and parameters, kept, with their hashes. Mostly they are those of the request before."""
        bodies = [body for body in (wire.tools, wire.params) if body]
        if latest and all(body in latest.beside for body in bodies):
            return latest.beside
        return dict(zip(bodies, self._log.keep_parts(bodies), strict=True))

    def _usable(self, session: str) -> _Latest | None:
        latest = self._latest.pop(session, None)
        # Whoever stored the latest one may have rolled it back since, with its parts.
        return latest if latest and self._log.get(latest.event) else None

    def _heard(self, event: Event) -> None:
        if event.kind in ERASING:
            self._latest.clear()  # pieces are gone, and must be stored anew where they are still said

    def load(self, event: Event) -> WireRequest:
        """The request of a `model.requested` event, byte for byte as it was sent.

        Raises:
            KeyError: a piece is gone, because it held something that was erased.
        """
        tools, params = event.payload["tools"], event.payload["params"]
        return WireRequest(
            messages=tuple(self._log.part(name) for name in self._messages(event)),
            tools=self._log.part(tools) if tools else None,
            params=self._log.part(params),
        )

    def _messages(self, event: Event) -> list[str]:
        """The hashes of the messages. Raises `KeyError` if the event, or one that it continues, was erased."""
        added: list[str] = list(event.payload["messages"])
        if (base := event.payload.get("base")) is None:
            return added
        earlier = self._log.get(base)
        if earlier is None:
            raise KeyError(base)
        return [*self._messages(earlier)[: event.payload["kept"]], *added]


Piece = TypeVar("Piece", str, bytes)


def common_prefix(one: Sequence[Piece], other: Sequence[Piece]) -> int:
    """How many pieces two requests share from the front."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared
