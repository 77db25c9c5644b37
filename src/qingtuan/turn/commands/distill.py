"""`/distill`: going through a stretch of past talk for what is worth remembering, beside the conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from qingtuan.errors import LimitReached
from qingtuan.events.log import Place
from qingtuan.events.outbox import notice
from qingtuan.language import Words
from qingtuan.memory.distilling import Reading
from qingtuan.turn.commands.registry import Command, CommandReply, Form, Invocation
from qingtuan.turn.commands.running import failed
from qingtuan.turn.distilling import Distiller, planned, summed_up
from qingtuan.turn.kit import Kit

Beside = Callable[[Awaitable[None]], None]
"""Does something beside the conversation."""


def distill_commands(kit: Kit, distiller: Distiller, beside: Beside) -> list[Command]:
    """The command over one instance."""
    hand = _Hand(kit, distiller, beside)
    return [
        Command(
            ("提炼", "distill"),
            Words("把以前说过的话整理一遍，找出该记的", "go through past talk for what is worth remembering"),
            hand.distill,
            steers=True,
            usage="[PERIOD]",
            forms=_FORMS,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Hand:
    kit: Kit
    distiller: Distiller
    beside: Beside
    busy: set[str] = field(default_factory=set)
    """Persons for whom it is being done."""

    async def distill(self, invocation: Invocation) -> CommandReply:
        reader, language = invocation.reader, invocation.language
        if reader.person in self.busy:
            raise LimitReached(_ALREADY)
        reading = self.distiller.reading(reader, invocation.argument)
        self.busy.add(reader.person)
        self.beside(self._do(invocation, reading))
        return CommandReply(f"{planned(reading, language)}{_WILL_TELL.say(language)}")

    async def _do(self, invocation: Invocation, reading: Reading) -> None:
        """Go through it, and tell in the chat where it was asked for what came of it."""
        reader, language = invocation.reader, invocation.language
        try:
            done = await self.distiller.distil(reading, reader)
            text = summed_up(done, language, in_group=not reader.is_alone)
        except Exception as error:  # noqa: BLE001 (whoever asked must hear that it ended)
            text = failed(error, invocation, self.kit.record.log).text
        finally:
            self.busy.discard(reader.person)
        place = Place(invocation.session.id, invocation.session.space, None, reader.person)
        self.kit.record.outbox.put(notice(invocation.channel, text), place, cause=invocation.message.id)


_FORMS = (
    Form(
        Words("", ""),
        Words("最近 7 天你说过的；在群里是那个群里的", "the last 7 days of what you said; in a group, there"),
    ),
    Form(
        Words("昨天|上周|2026-06|30d", "yesterday|last week|2026-06|30d"),
        Words("这段时间的；找出来的都等你点头（/审核）", "that time; all that is found waits for your word (/review)"),
    ),
)
_ALREADY = Words("上一次还没看完，等一下。", "The last one is not done yet; one moment.")
_WILL_TELL = Words("看完告诉你。", " You will hear when it is done.")
