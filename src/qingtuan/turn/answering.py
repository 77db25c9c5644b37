"""Answers to open questions: a yes carries the call out, a no closes it, a late yes is asked anew."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from qingtuan.a2a_client.talks import asking_back
from qingtuan.confirmations import answers
from qingtuan.confirmations.answers import Answer
from qingtuan.confirmations.confirmation import Chat, Confirmation, StoppedCall
from qingtuan.confirmations.question import Wanted, wording
from qingtuan.errors import ForModel, NotAllowed, ToolFailed
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import notice
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Reader
from qingtuan.identity.trust import Piece, may_answer
from qingtuan.language import Language, Words
from qingtuan.messages import Inbound, Origin
from qingtuan.turn.questions import addressed, question_of, word_to_asker
from qingtuan.turn.turn import Turn
from qingtuan.turn.viewing import local_time
from qingtuan.turn.work import Say, Work

__all__ = ["Answer", "Answering"]


@dataclass(frozen=True, slots=True)
class Answering:
    """Recognises answers and does what they say. Answers are commands: they never enter the history."""

    work: Work

    def recognise(self, message: Inbound | Received, reader: Reader) -> Answer | None:
        """The answer that a message is, stored or not; None if it is no answer."""
        if not answers.may_be_answer(message.text):
            return None
        stored = message.event if isinstance(message, Received) else None
        if isinstance(message, Inbound):
            said_at, addressed = message.time, message.addressed
        else:
            said_at, addressed = message.said_at, True
        if not (addressed or answers.is_explicit(message.text)):
            return None  # in a group 好 and 不 are said to somebody else, unless they are said to us
        book = self.work.kit.book
        quoted = book.of_message(reader.space, message.quotes) if message.quotes else None
        forward = any(material.origin is Origin.FORWARD for material in message.materials)
        said = answers.Said(
            text=message.text,
            reader=reader,
            said_at=said_at,
            received_at=stored.time if stored else self.work.kit.record.clock.now(),
            # A quote of something else than a question of ours is an ordinary message.
            quotes=quoted or message.quotes,
            edited=message.edited,
            forwarded=forward and message.quotes is None,
        )
        # Questions of programs count as open: a bare yes may be meant for one of them.
        record = self.work.kit.record
        others = len(record.inquiries.open_of(reader.ids)) + asking_back(record.log, reader.space, record.clock.now())
        found = answers.recognise(said, book.answerable(reader, message=stored.id if stored else "", others=others))
        if found.verdict != "not_an_answer":
            return found
        if said.edited or said.forwarded:
            return None
        # Words said to a question that has its answer are no talk, either: a model would take them for something
        # else, and see the code.
        code = answers.code_in(message.text)
        over = book.asked_in(quoted) if quoted else book.coded(code) if code and not message.quotes else None
        return Answer("closed", over) if over is not None and may_answer(over.facts, reader) else None

    def take(self, answer: Answer, received: Received, place: Place, reader: Reader) -> str | None:
        """Do what an answer says; the id of the turn that a yes set off, if any."""
        language = self._language(reader)
        asked = answer.question
        if answer.verdict == "needs_code" or asked is None:
            answerable = self.work.kit.book.answerable(reader, message=received.event.id)
            questions = [asked] if asked else answerable.open
            self._say(answers.say_needs_code(questions, reader, language), received, place)
            return None
        if answer.verdict == "closed":
            self._say(_TOO_LATE.say(language), received, place)
            return None
        if answer.verdict == "late":
            self._late(asked, received, place, language)
            return None
        return self._close(asked, "yes" if answer.verdict == "yes" else "no", received, place, language)

    def carry_out(self, asked: Confirmation) -> str | None:
        """Queue the turn that runs a confirmed call, before whatever waits in its session; its id. None if whoever
        asked for it is nobody any more: then it never runs."""
        try:
            earlier = self.work.asking_turn(asked)
        except (KeyError, NotAllowed) as error:
            self.work.leave_undone(asked, str(error))
            return None
        turn = earlier.going_on(
            self.work.kit.record.ids.turn(), cause=asked.answer or asked.event, confirmed=asked.event
        )
        self.work.queue(self.work.burst(turn), first=True)
        return turn.id

    def _close(
        self, asked: Confirmation, verdict: Literal["yes", "no"], received: Received, place: Place, language: Language
    ) -> str | None:
        log, elsewhere = self.work.kit.record.log, asked.space != place.space
        with self.work.saying() as say, log.transaction(durable=True):
            # The answer and the end of its message land together: after a crash the yes is taken up, once.
            command = {"command": "confirm" if verdict == "yes" else "cancel"}
            log.append(Kind.COMMAND_RUN, place, command, cause=received.event.id)
            taken = self.work.kit.book.take(asked.event, verdict, by=place.person or "", cause=received.event.id)
            if taken is None:
                words: Words | None = _TOO_LATE
            elif verdict == "no":
                words = answers.CANCELLED
            else:
                words = _GOES_ON_THERE if elsewhere else None
            if words is not None:
                say(notice(received.channel, words.say(language)), place, received.event.id)
            if taken is not None and verdict == "no" and elsewhere:
                self._tell_asker(taken, say)
        return self.carry_out(taken) if taken is not None and verdict == "yes" else None

    def _tell_asker(self, asked: Confirmation, say: Say) -> None:
        """Whoever waits for it learns, where they asked, that it will not be done."""
        try:
            turn = self.work.asking_turn(asked)
        except (KeyError, NotAllowed):
            return
        language = self._language(turn.reader)
        text = _DECLINED.say(language)
        if not turn.reader.space.is_group:
            with suppress(ForModel):  # the tool is gone
                text = f"{text}\n{wording(self._stopped_again(asked, turn, language).wanted).summary}"
        draft = notice(turn.channel, text)
        say(draft, replace(asked.place, turn=None), asked.event)

    def _late(self, asked: Confirmation, received: Received, place: Place, language: Language) -> None:
        """Ask anew. The fresh question is a small turn of its own, which ends in waiting."""
        work, log = self.work, self.work.kit.record.log
        try:
            turn = self.work.asking_turn(asked).going_on(work.kit.record.ids.turn(), cause=received.event.id)
            by_owner = place.person == OWNER
            here = None
            if by_owner and place.space is not None and not place.space.is_group:
                here = Chat(received.channel, place.space)
            stopped = addressed(work.kit, self._stopped_again(asked, turn, language), here)
            with work.saying() as say, log.transaction(durable=True):
                log.append(Kind.COMMAND_RUN, place, {"command": "confirm"}, cause=received.event.id)
                say(notice(received.channel, answers.LATE.say(language)), place, received.event.id)
                log.append(Kind.TURN_STARTED, turn.place, turn.started_payload(), cause=turn.cause)
                renewed = work.kit.book.ask(stopped, renews=asked)
                draft, where = question_of(work.kit, renewed, turn)
                say(draft, replace(where, turn=turn.id), renewed.event)
                if not by_owner and (word := word_to_asker(work.kit, renewed, turn)) is not None:
                    say(word, turn.place, turn.cause)
                log.append(Kind.TURN_FINISHED, turn.place, {"outcome": "waiting"}, cause=turn.cause)
        except ToolFailed:
            self._say(_TOO_MANY.say(language), received, place)
        except (ForModel, KeyError, NotAllowed):
            self._say(_NO_LONGER.say(language), received, place)

    def _stopped_again(self, asked: Confirmation, turn: Turn, language: Language) -> StoppedCall:
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
            heard=turn.heard,
            beside=asked.beside,
        )
        return StoppedCall(
            wanted=wanted,
            reader=turn.reader,
            session=turn.session.id,
            turn=turn.id,
            call=asked.event,
            # Tool and settings may be others by now. What only counted as an act, because of an address, still does.
            risk=tool.risk if tool.risk.acts else asked.facts.risk,
            roles=kit.registry.granted(tool.name),
            account=turn.account,
        )

    def _say(self, text: str, received: Received, place: Place) -> None:
        log = self.work.kit.record.log
        with self.work.saying() as say, log.transaction():
            log.append(Kind.COMMAND_RUN, place, {"command": "answer"}, cause=received.event.id)
            say(notice(received.channel, text), place, received.event.id)

    def _language(self, reader: Reader) -> Language:
        return self.work.kit.speaks_to(reader)


_NO_LONGER = Words("这件事现在做不了了。", "This can no longer be done.")
_TOO_LATE = Words("这件事已经有了答复，或者过期了。", "This was answered already, or has expired.")
_TOO_MANY = Words(
    "还有几件事在等你答复，先答了再说。", "Several questions are waiting for your answer; please answer them first."
)
_GOES_ON_THERE = Words("好，结果在那边说。", "All right; the result will be told over there.")
_DECLINED = Words("主人没有同意，没有做。", "The owner did not agree, so it was not done.")
