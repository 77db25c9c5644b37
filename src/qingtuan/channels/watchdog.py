"""Channels that do not work: the owner is told through another one, once for each trouble, and once when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from qingtuan.channels.entry import EntryHealth, titled
from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.language import Words
from qingtuan.turn.kit import Kit
from qingtuan.turn.troubles import tell_owner

_LOOK_SECONDS = 15.0


@dataclass(slots=True)
class Watchdog:
    """Looks after all channels of an instance."""

    kit: Kit
    health: Callable[[], Sequence[EntryHealth]]
    _down: dict[str, float] = field(default_factory=dict)
    """Since when a channel does not work; of a monotonic clock."""
    _well: set[str] = field(default_factory=set)
    """Channels of which the owner knows nothing bad."""
    _task: asyncio.Task[None] | None = None
    _unlisten: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._unlisten = self.kit.record.log.listen(self._heard)
        self._task = asyncio.create_task(self._run(), name="watchdog of the channels")

    async def close(self) -> None:
        """Look no more."""
        if self._unlisten is not None:
            self._unlisten()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            # What cannot be written down now is found again at the next look.
            with suppress(StorageFailed):
                self.look()
            await self.kit.record.clock.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Compare how the channels are with what the owner knows. Raises `StorageFailed`."""
        now, found = self.kit.record.clock.monotonic(), self.health()
        broken = {one.name for one in found if one.broken}
        for one in found:
            if one.name in broken:
                since = self._down.setdefault(one.name, now)
                if one.limit is not None and now - since >= one.limit:
                    self._well.discard(one.name)
                    tell_owner(self.kit, _key(one.name), _down(one), but=broken)
            elif one.state == "connected":
                self._down.pop(one.name, None)
                if one.name not in self._well:
                    back = _BACK.filled(name=titled(one.name))
                    tell_owner(self.kit, _key(one.name), None, but=broken | {one.name}, over=back)
                    self._well.add(one.name)

    def _heard(self, event: Event) -> None:
        if event.kind not in (Kind.DELIVERY_PAUSED, Kind.DELIVERY_RESUMED) or event.forgotten:
            return
        name, space = event.payload["channel"], event.place.space
        words = None
        if event.kind is Kind.DELIVERY_PAUSED:
            minutes = max(1, round(event.payload["seconds"] / 60))
            where = Words(f"发往 {space.id} 的", f"to {space.id}") if space else Words("", "")
            words = _PAUSED.filled(name=titled(name), where=where, minutes=minutes)
        with suppress(StorageFailed):
            tell_owner(self.kit, f"paused {name} {space or ''}".strip(), words, but={name})


def _key(name: str) -> str:
    return f"channel {name}"


def _down(health: EntryHealth) -> Words:
    minutes = max(1, round((health.limit or 0) / 60))
    head = _DOWN.filled(name=titled(health.name), minutes=minutes)
    if health.words is None:
        return head
    return Words(head.zh + health.words.zh, f"{head.en} {health.words.en}")


_DOWN = Words("{name} 有 {minutes} 分钟没连上了。", "{name} has not been connected for {minutes} min.")
_BACK = Words("{name} 又连上了。", "{name} is connected again.")
_PAUSED = Words(
    "{name} {where}消息连着几次不知道送到没有，先停 {minutes} 分钟再试，免得被限制。",
    "{name}: several messages {where} ended unknown; nothing is sent for {minutes} min, so as not to be restricted.",
)
