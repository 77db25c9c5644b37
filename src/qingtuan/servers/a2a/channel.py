"""The way out to other agents: an answer stands in its task, and is asked for there."""

from __future__ import annotations

from qingtuan.channels.base import Delivery, Part, Waits
from qingtuan.channels.pace import UNPACED, Pace
from qingtuan.messages import Outbound

CHANNEL = "a2a"


class TaskChannel:
    """Takes every message at once: it is kept, and whoever asked reads it in its task."""

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def pace(self) -> Pace:
        return UNPACED

    def waits(self, message: Outbound) -> Waits | None:  # noqa: ARG002 (as channels have it)
        return None

    def parts(self, message: Outbound) -> list[Part]:
        return [Part(message.text)]

    async def send(self, message: Outbound, part: Part) -> Delivery:  # noqa: ARG002 (as channels have it)
        return Delivery("sent")
