"""Answers to open questions: a yes carries the call out, a no closes it, a late yes is asked anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from qingtuan.confirmations import answers
from qingtuan.confirmations.confirmation import Confirmation, Stopped
from qingtuan.confirmations.question import Wanted
from qingtuan.errors import ForModel
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.identity.scopes import Reader
from qingtuan.identity.trust import Piece
from qingtuan.language import Language, Words
from qingtuan.messages import Origin
from qingtuan.turn.turn import Turn
from qingtuan.turn.viewing import local_time
from qingtuan.turn.work import Work

_NO_LONGER = Words("这件事现在做不了了。", "This can no longer be done.")


@dataclass(frozen=True, slots=True)
class Answering:
    """Recognises answers and does what they say. Answers are commands: they never enter the history."""

    work: Work

    def recognise(self, received: Received, reader: Reader) -> answers.Answer:
        """Whether a message answers a question, and which."""
        book = self.work.kit.book
        quoted = book.of_message(reader.space, received.quotes) if received.quotes else None
        forward = any(material.origin is Origin.FORWARD for material in received.materials)
        said = answers.Said(
            text=received.text,
            reader=reader,
            said_at=received.said_at,
            received_at=received.event.time,
            # A quote of something else than a question of ours is an ordinary message.
            quotes=quoted or received.quotes,
            edited=bool(received.event.payload.get("edited")),
            forwarded=forward and received.quotes is None,
        )
        return answers.recognise(said, book.standing(reader, message=received.event.id))

    def take(self, answer: answers.Answer, received: Received, place: Place, reader: Reader) -> str | None:
        """Do what an answer says; the id of the turn that a yes set off, if any."""
        language = self._language(reader)
        asked = answer.question
        if answer.verdict == "needs_code" or asked is None:
            standing = self.work.kit.book.standing(reader, message=received.event.id)
            self._say(answers.say_needs_code([asked] if asked else standing.open, language), received, place)
            return None
        if answer.verdict == "late":
            self._late(asked, received, place, language)
            return None
        return self._close(asked, "yes" if answer.verdict == "yes" else "no", received, place, language)

    def carry_out(self, asked: Confirmation) -> str:
        """Queue the turn that runs a confirmed call, before whatever waits in its session; its id."""
        earlier = self.work.read_back(self.work.beginning_of(asked.place.turn or ""))
        turn = replace(
            earlier,
            id=self.work.kit.record.ids.turn(),
            messages=(),
            cause=asked.answer or asked.event,
            confirmed=asked.event,
        )
        self.work.queue(turn, first=True)
        return turn.id

    def _close(
        self, asked: Confirmation, verdict: Literal["yes", "no"], received: Received, place: Place, language: Language
    ) -> str | None:
        log = self.work.kit.record.log
        with log.transaction(durable=True):
            taken = self.work.kit.book.take(asked.event, verdict, by=place.person or "", cause=received.event.id)
            if taken is None or verdict == "no":
                self._say(answers.CANCELLED.say(language), received, place)
                return None
            # The answer and the end of its message land together: after a crash the yes is taken up, once.
            log.append(Kind.COMMAND_RUN, place, {"command": "confirm"}, cause=received.event.id)
        return self.carry_out(taken)

    def _late(self, asked: Confirmation, received: Received, place: Place, language: Language) -> None:
        """Ask anew. The fresh question is a small turn of its own, which ends in waiting."""
        work = self.work
        earlier = work.read_back(work.beginning_of(asked.place.turn or ""))
        turn = replace(earlier, id=work.kit.record.ids.turn(), messages=(), cause=received.event.id)
        try:
            stopped = self._stopped_again(asked, turn, language)
        except ForModel:
            self._say(_NO_LONGER.say(language), received, place)
            return
        log = work.kit.record.log
        with log.transaction(durable=True):
            self._say(answers.LATE.say(language), received, place)
            log.append(Kind.TURN_STARTED, turn.place, turn.started_payload(), cause=turn.cause)
            renewed = work.kit.book.ask(stopped, renews=asked)
            draft = Draft(turn.channel, renewed.text, "question", Origin.SYSTEM, by_code=True)
            work.say(draft, turn.place, cause=renewed.event)
            log.append(Kind.TURN_FINISHED, turn.place, {"outcome": "waiting"}, cause=turn.cause)

    def _stopped_again(self, asked: Confirmation, turn: Turn, language: Language) -> Stopped:
        kit = self.work.kit
        tool = kit.registry.get(asked.tool, turn.reader)
        event = kit.record.log.get(asked.event)
        origin = event.origin if event else Origin.SYSTEM
        wanted = Wanted(
            tool=tool,
            arguments=asked.arguments,
            now=local_time(kit, turn, kit.record.clock.now()),
            language=language,
            material=(Piece(origin),) if origin.foreign else (),
        )
        return Stopped(
            wanted=wanted,
            reader=turn.reader,
            session=turn.session.id,
            turn=turn.id,
            call=asked.event,
            risk=asked.facts.risk,
            roles=asked.facts.roles,
        )

    def _say(self, text: str, received: Received, place: Place) -> None:
        log = self.work.kit.record.log
        with log.transaction():
            log.append(Kind.COMMAND_RUN, place, {"command": "answer"}, cause=received.event.id)
            draft = Draft(received.event.payload["channel"], text, "notice", Origin.SYSTEM, by_code=True)
            self.work.say(draft, place, cause=received.event.id)

    def _language(self, reader: Reader) -> Language:
        return self.work.kit.speaks_to(reader)
