"""Carrying a `/distill` out: chunk by chunk, with what it found, what failed and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qingtuan.errors import ModelRefused, ModelUnreachable, NotThere
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.privacy import event_sight
from qingtuan.identity.scopes import Reader
from qingtuan.language import Language, Words
from qingtuan.memory.distilling import Distilling, Gained, Reading
from qingtuan.memory.stretches import stretch
from qingtuan.models.usage import Spent, spent
from qingtuan.turn.asking import Aside
from qingtuan.turn.costs import use_of
from qingtuan.turn.kit import Kit


@dataclass(frozen=True, slots=True)
class Distilled:
    """What came of it."""

    reading: Reading
    gained: Gained
    failed: int
    """Chunks that the model could not be asked about."""
    spent: Spent


@dataclass(frozen=True, slots=True)
class Distiller:
    """Does it for one person at a time."""

    kit: Kit
    distilling: Distilling

    def reading(self, reader: Reader, period: str) -> Reading:
        """What is to be read of the period that somebody names.

        Raises:
            UsageWrong: it names none.
            NotAllowed: guests write nothing.
            NotThere: they said nothing then that could be read.
        """
        named = stretch(period, self.kit.record.clock.now(), self.kit.zone_of(reader))
        person = self.kit.people.person(reader.person)
        view = event_sight(reader, person.accounts if person else (), left=self.kit.people.groups_left(reader.person))
        found = self.distilling.read(reader, view, named)
        if not found.chunks:
            raise NotThere(
                Words(f"{named} 没有可以整理的话。", f"Nothing was said in {named} that could be gone through.")
            )
        return found

    async def distil(self, reading: Reading, reader: Reader, told: Callable[[int], None] = lambda _: None) -> Distilled:
        """Go through it. `told` hears how many chunks are done. What could not be asked about is counted, and a model
        that cannot be reached ends it."""
        record, gained, failed = self.kit.record, Gained(), 0
        row = record.log.database.row("SELECT max(seq) AS seq FROM events")
        begun = (row["seq"] if row else None) or 0
        for number, chunk in enumerate(reading.chunks, 1):
            said = chunk[0].by.place  # what is asked about a session belongs to it: erased there, it is gone with it
            ask = Aside(self.kit, Place(said.session, said.space, None, reader.person))
            try:
                gained += await self.distilling.distil(chunk, reader, reading, ask)
            except ModelRefused:
                failed += 1
            except ModelUnreachable:
                failed += len(reading.chunks) - number + 1
                break
            told(number)
        return Distilled(reading, gained, failed, self._spent(reader.person, begun))

    def _spent(self, person: str, begun: int) -> Spent:
        answered = self.kit.record.log.where(
            "seq > ? AND kind = ? AND person = ? AND json_extract(payload, '$.purpose') = 'distill'",
            (begun, Kind.MODEL_ANSWERED, person),
        )
        zone = self.kit.texts.zone
        uses = [use_of(event, zone) for event in answered if "usage" in event.payload]
        return spent(uses, lambda model: self.kit.models.profile(model).price)


def planned(reading: Reading, language: Language) -> str:
    """What is about to be done, in a sentence."""
    words = _PLANNED.say(language).format(days=reading.stretch, messages=reading.messages, chunks=len(reading.chunks))
    more = _LEFT_OUT.say(language).format(count=reading.left_out) if reading.left_out else ""
    return words + more


def summed_up(done: Distilled, language: Language, *, in_group: bool = False) -> str:
    """What came of it, in a few lines. In a group only numbers: what they are is each one's own affair."""
    lines = [(_FOUND if done.gained.proposed else _NOTHING).say(language).format(count=done.gained.proposed)]
    if done.gained.known:
        lines.append(_KNOWN.say(language).format(count=done.gained.known))
    if done.failed:
        lines.append(_FAILED.say(language).format(count=done.failed))
    if done.gained.proposed:
        lines.append((_WHERE_THERE if in_group else _WHERE).say(language))
    comma = _COMMA.say(language)
    money = "".join(f"{comma}{amount:.4f} {currency}" for currency, amount in done.spent.cost.items())
    used = _USED.say(language).format(answers=done.spent.answers, tokens=done.spent.tokens, money=money)
    return "\n".join([*lines, used])


_PLANNED = Words(
    "在看 {days} 说过的 {messages} 条话，分 {chunks} 段问模型。",
    "Messages of {days} to go through: {messages}; questions to the model: {chunks}.",
)
_LEFT_OUT = Words("更早的 {count} 条这次不看。", " Older ones, left out this time: {count}.")
_FOUND = Words("看完了，找出 {count} 条可能要记的。", "Done. Perhaps worth remembering: {count}.")
_NOTHING = Words("看完了，没有新的要记。", "Done: there is nothing new to remember.")
_KNOWN = Words(
    "另有 {count} 条已经记着、在等你点头或者你说过不要，没有再提。",
    "Known, waiting already or not wanted, and not proposed again: {count}.",
)
_FAILED = Words(
    "有 {count} 段模型没看成，过一会儿可以再来一次。",
    "Parts that the model could not read: {count}; try again later.",
)
_WHERE = Words("看和定：/审核", "See and decide: /review")
_WHERE_THERE = Words("各自私聊里 /审核 看。", "See /review in private.")
_COMMA = Words("，", ", ")
_USED = Words(
    "问了 {answers} 次模型，{tokens} 词元{money}。", "Questions to the model: {answers}; tokens: {tokens}{money}."
)
