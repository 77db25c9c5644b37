"""The front desk: every inbound message comes here once, and becomes a turn, a command, an answer, or silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from qingtuan.confirmations.responses import Response
from qingtuan.errors import NotAllowed, UsageWrong
from qingtuan.events.inbox import Inbox, Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import notice
from qingtuan.events.sessions import Session
from qingtuan.events.turns import messages_in, open_turns
from qingtuan.identity.access import Admitted, Arrival, Reason, Refused
from qingtuan.identity.accounts import Person, is_agent
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.messages import Inbound, Origin, Space, heard, whole
from qingtuan.turn import doubtful
from qingtuan.turn.answering import Answer, Answering
from qingtuan.turn.beside import Beside
from qingtuan.turn.bursts import Albums, Burst, gathers, is_news
from qingtuan.turn.commands.own import said_with
from qingtuan.turn.commands.registry import Command, CommandReply, Commands, Invocation, Unknown
from qingtuan.turn.commands.running import BEGUN_BEFORE, run
from qingtuan.turn.inquiring import Inquiring
from qingtuan.turn.lapsing import Lapsing
from qingtuan.turn.linking import Linking, Proof
from qingtuan.turn.membership import Membership
from qingtuan.turn.restored import lay_down
from qingtuan.turn.roll import Roll
from qingtuan.turn.silence import Silence
from qingtuan.turn.turn import Turn, has_acted, is_open
from qingtuan.turn.work import Work

Admission = Callable[[Arrival], Admitted | Refused]
"""Whether a message is answered, with the counters as they are at this moment."""


StandsFor = Callable[[Inbound | Received, Reader], str | None]
"""The command that a short reply stands for, if it answers something that code has asked."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an inbound message."""

    kind: Literal["turn", "command", "answer", "ignored", "known"]
    session: str | None = None
    turn: str | None = None
    """The turn that was queued for it, if any."""


Meant = Answer | Response | tuple[Command, str] | Unknown | None
"""What a message is: an answer to a question of ours or of a program, a command with its argument, what looks like one,
or talk."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A message that stands in the inbox, and of which nothing was made yet."""

    received: Received
    meant: Meant | Proof
    session: Session
    reader: Reader
    wait: float = 0.0
    """Seconds of cool-down before its turn."""


class Desk:
    """Takes messages in, and takes interrupted work up again."""

    def __init__(
        self,
        work: Work,
        commands: Commands,
        admission: Admission,
        stands_for: StandsFor = lambda *_: None,
        linking: Linking | None = None,
        inquiring: Inquiring | None = None,
    ) -> None:
        """`linking`: what takes codes and their answers; without it a code is a message like any other. `inquiring`:
        what puts questions of programs; without it there are none."""
        self._work = work
        self._kit = work.kit
        self._commands = commands
        self._admission = admission
        self._stands_for = stands_for
        self._linking = linking
        self._answering = Answering(work)
        self.inquiring = inquiring or Inquiring(work.kit)
        self.beside = Beside(work.kit)
        """Hears what is said in groups to others; lets go of it in time, run by whoever runs the instance."""
        self._inbox = Inbox(work.kit.record.log, self.beside.bring)
        self._silence = Silence(work)
        self._roll = Roll(work)
        self.membership = Membership(work)
        """Told by the channels who comes to a group and leaves it."""
        self._albums = Albums(work.kit.record.clock)
        self._pending: Counter[Space] = Counter()
        """By space: messages that are stored, and that nothing was made of yet."""
        self._at_work: set[str] = set()
        """Messages whose command is being carried out."""
        self.lapsing = Lapsing(work)
        """Ends questions at their time; run by whoever runs the instance."""

    async def receive(self, inbound: Inbound) -> Taken:
        """Store a message and set off what it calls for. Returns as soon as that is queued or answered.

        Raises:
            NotAllowed: the private chat is somebody else's.
            StorageFailed: the message could not be stored: it must not be acknowledged.
        """
        stored = await self.store(inbound)
        return stored if isinstance(stored, Taken) else await self.set_off(stored)

    async def store(self, inbound: Inbound) -> Stored | Taken:
        """Store a message, without doing anything about it: then it may be acknowledged. What needs no more than that,
        such as what joins a turn that waits or has just begun, is `Taken`. To be called in the order of arrival.

        Raises: as `receive`.
        """
        inbound = heard(whole(inbound))
        if not inbound.signed:
            # It is nobody's, whatever it says of itself: nothing follows from it.
            self.ignore(inbound, Reason.UNSIGNED)
            return Taken("ignored")
        before = self._inbox.find(inbound.channel, inbound.space, inbound.message_id)
        if before is not None and not (inbound.edited and is_news(inbound, self._inbox.versions(before))):
            return Taken("known")
        if self._roll.look() and self._linking is not None:
            await self._linking.unions.adopt()
        if inbound.space.is_group:
            self.membership.joined(inbound.channel, inbound.space, inbound.account)
        person = self._kit.people.find(inbound.account)
        reader = self._kit.people.reader(inbound.account, inbound.space) if person else None
        proof = self._proof(inbound, inbound.space) if reader else None
        if before is not None:
            return self._edited(inbound, before, reader if proof is None else None)
        if reader and proof:
            # From whomever it comes, admitted or not.
            return self._stored(inbound, proof, reader, Origin.PERSON)
        if self._albums.holds(inbound):
            inbound = replace(inbound, addressed=True)
        inbound, meant = self._understood(inbound, reader)
        burst = self._joinable(inbound, reader) if meant is None else None
        admitted = self._admit(inbound, person, meant, burst)
        if burst is not None and isinstance(admitted, Refused):
            # Together they are more than somebody may say at once: it stands alone.
            burst, inbound = None, replace(inbound, gathers=False)
            admitted = self._admit(inbound, person, meant)
        if isinstance(admitted, Refused) or reader is None:
            refused = admitted if isinstance(admitted, Refused) else Refused(Reason.SHARED_ID)
            self._silence.keep(inbound, refused, person.id if person else None)
            if refused.reason in (Reason.NOT_ADDRESSED, Reason.LATE):
                self.beside.overhear(inbound, reader)
            return Taken("ignored")
        self._albums.keep(inbound)
        if burst is not None:
            return self._joined(inbound, reader, burst)
        stored = self._stored(inbound, meant, reader, _origin(inbound, reader), admitted.wait)
        if isinstance(stored, Stored) and isinstance(meant, tuple) and meant[0].overtakes:
            return await self.set_off(stored)
        return stored

    def ignore(self, inbound: Inbound, reason: Reason) -> None:
        """Write down that a message was not taken in, for a reason that its channel knows. Raises `StorageFailed`."""
        self._silence.keep(whole(inbound), Refused(reason), None)

    def broken(self, inbound: Inbound, error: Exception) -> Taken:
        """A message that cannot be handled, whatever it is, is ignored: given in once more it would break again.
        Raises `StorageFailed`."""
        self.ignore(inbound, Reason.BROKEN)
        self._kit.record.log.append(Kind.CHORE_FAILED, Place(None, inbound.space), {"detail": repr(error)})
        return Taken("ignored")

    async def set_off(self, stored: Stored, *, later: bool = False) -> Taken:
        """Do what a stored message calls for. With `later`, others were dealt with since it was stored: whose it is and
        what it means is looked at again, and nothing is done about what was recalled."""
        received, reader, meant = stored.received, stored.reader, stored.meant
        self._pending -= Counter([stored.session.space])
        if later:
            if not self._inbox.is_open(received.event.id):
                return Taken("known")
            return await self._take_again(received.event, begun=False, wait=stored.wait)
        if not isinstance(meant, Proof):
            return await self._take(received, meant, stored.session, reader, wait=stored.wait)
        place = Place(stored.session.id, stored.session.space, None, reader.person)
        if self._linking is not None:
            await self._linking.take(meant, received, place, reader)
        return Taken("answer", stored.session.id)

    def recalled(self, channel: str, space: Space, message_id: str) -> None:
        """Whoever sent a message took it back: what was not yet done about it is not. What was answered, or led to
        something that was done, stands. Raises `StorageFailed`."""
        self.beside.recalled(channel, space, message_id)
        event = self._inbox.find(channel, space, message_id)
        if event is not None and self._may_change(event):
            self._lose(event)

    def let_go(self) -> None:
        """The process is about to end: no command waits for a turn any more."""
        self._work.queues.let_go()

    def lay_down(self, own: Callable[[], None]) -> None:
        """After a restore, before anything else: end what was open then, and call `own`. Raises `StorageFailed`."""
        lay_down(self._work, own)

    async def recover(self) -> int:
        """Take up what an earlier process left: turns that did not end, answers that nothing followed, messages
        that nobody looked at. Gives their number. Called once, before any channel opens."""
        record = self._kit.record
        doubtful.tell(self._work, record.outbox.settle())
        self.lapsing.tell()
        self.inquiring.close_left()
        begun = open_turns(record.log)
        for started in begun:
            self._work.resume(started)
        resuming = {started.payload.get("confirmed") for started in begun}
        unresumed = [asked for asked in self._kit.book.unresumed() if asked.event not in resuming]
        for asked in unresumed:
            self._answering.carry_out(asked)
        taken = {name for started in begun for name in messages_in(record.log.of_turn(started.place.turn or ""))}
        waiting = [event for event in self._inbox.open() if event.id not in taken]
        for event in waiting:
            await self._take_again(event)
        self._work.bursts.begin()  # whoever was still saying something has said it by now
        return len(begun) + len(unresumed) + len(waiting)

    async def settle(self) -> None:
        """At start: let the file and the memory follow what was decided about persons."""
        if self._linking is not None:
            await self._linking.unions.settle()

    def _stored(
        self, inbound: Inbound, meant: Meant | Proof, reader: Reader, origin: Origin, wait: float = 0.0
    ) -> Stored | Taken:
        session = self._session(inbound, reader)
        event = self._inbox.receive(inbound, session=session.id, person=reader.person, origin=origin)
        return Taken("known") if event is None else self._to_do(event, meant, session, reader, wait)

    def _to_do(self, event: Event, meant: Meant | Proof, session: Session, reader: Reader, wait: float = 0.0) -> Stored:
        self._pending[session.space] += 1
        return Stored(Received.of(event), meant, session, reader, wait)

    # What belongs together

    def _joinable(self, inbound: Inbound, reader: Reader | None) -> Burst | None:
        """The turn that a message may join as it arrives. It overtakes nothing that was stored before it."""
        bursts = self._work.bursts
        if reader is None or self._pending[inbound.space] or not bursts.any_of(inbound.account, inbound.space):
            return None
        last = bursts.last(self._session(inbound, reader).id)
        return last if last is not None and last.takes(inbound, reader.person) else None

    def _joined(self, inbound: Inbound, reader: Reader, burst: Burst) -> Taken:
        session = burst.turn.session
        with self._kit.record.log.transaction(durable=True):
            origin = _origin(inbound, reader)
            event = self._inbox.receive(inbound, session=session.id, person=reader.person, origin=origin)
            if event is None:
                return Taken("known")
            burst.note(event)
        burst.take_in(Received.of(event))
        return Taken("turn", session.id, burst.turn.id)

    def _edited(self, inbound: Inbound, before: Event, reader: Reader | None) -> Stored | Taken:
        """Let an edited message take the place of what it was, if that still waits for its answer. An edit proves and
        confirms nothing."""
        if reader is None or not reader.is_(before.place.person) or not self._may_change(before, edited=True):
            return self._unheard(inbound, before, Refused(Reason.ANSWERED))
        inbound, meant = self._understood(replace(inbound, addressed=True), reader)
        burst = self._work.bursts.holding(before)
        admitted = self._admit(inbound, self._kit.people.find(inbound.account), meant, burst, edited=before)
        if isinstance(admitted, Refused):
            return self._unheard(inbound, before, admitted)
        session = self._kit.record.sessions.get(before.place.session or "")
        instead = before if burst is None or not burst.has_acted() else None
        if burst is not None and meant is not None and instead is not None:
            self._lose(before)
            burst = None
        with self._kit.record.log.transaction(durable=True):
            origin = _origin(inbound, reader)
            event = self._inbox.receive(
                inbound, session=session.id, person=reader.person, origin=origin, replaces=before
            )
            if event is not None and burst is not None and meant is None:
                burst.note(event, instead)
        if event is None:
            return Taken("known")
        if burst is None or meant is not None:
            return self._to_do(event, meant, session, reader, admitted.wait)
        burst.take_in(Received.of(event), instead)
        return Taken("turn", session.id, burst.turn.id)

    def _unheard(self, inbound: Inbound, before: Event, refused: Refused) -> Taken:
        self._silence.keep(inbound, refused, before.place.person)
        return Taken("ignored")

    def _may_change(self, event: Event, *, edited: bool = False) -> bool:
        """Whether a stored message can still be taken back, or `edited`: it is not answered, and no command of it is
        being carried out."""
        if event.id in self._at_work or not self._inbox.is_open(event.id):
            return False
        burst = self._work.bursts.holding(event)
        if burst is not None:
            return burst.is_silent() and (edited or not burst.has_acted())
        turn = self._inbox.turn_of(event.id)  # of a process that is about to end, or of one before
        if turn is None:
            return True
        events = self._kit.record.log.of_turn(turn)
        return not edited and is_open(events) and not has_acted(events)

    def _lose(self, event: Event) -> None:
        burst = self._work.bursts.holding(event)
        self._inbox.recall(event)
        if burst is not None:
            burst.lose(event)

    # What it is

    def _proof(self, message: Inbound | Received, space: Space) -> Proof | None:
        """The code that a message shows, if it is one. No other agent links or claims anything."""
        return self._linking.recognise(message, space) if self._linking and not is_agent(message.account) else None

    def _meant(self, message: Inbound | Received, reader: Reader) -> Meant:
        if message.spoken or is_agent(message.account):
            return None  # a machine may have heard it wrong, or said it: neither a yes nor a command
        if named := self.inquiring.recognise(message, reader, named=True):
            return named
        if answer := self._answering.recognise(message, reader):
            return answer
        stands = self._stands_for(message, reader)
        if stands is None and (response := self.inquiring.recognise(message, reader)):
            return response
        return self._commands.match(stands or message.text, reader)

    def _understood(self, inbound: Inbound, reader: Reader | None) -> tuple[Inbound, Meant]:
        """What a message is. A command of the owner's own is the text that it stands for, said at once."""
        meant = self._meant(inbound, reader) if reader else None
        if isinstance(meant, tuple) and meant[0].says:
            text = said_with(meant[0].says, meant[1])
            return replace(inbound, text=text, addressed=True, gathers=False), None
        return inbound, meant

    def _admit(
        self,
        inbound: Inbound,
        person: Person | None,
        meant: Meant,
        burst: Burst | None = None,
        edited: Event | None = None,
    ) -> Admitted | Refused:
        role = self._kit.people.role(person) if person else Role.GUEST
        # Who answers a question, or gives a command that we have, means us, whether a mention stands there or not.
        addressed = inbound.addressed or isinstance(meant, (Answer, Response, tuple))
        own, material = burst.extent(but=edited) if burst is not None else (0, 0)
        admitted = self._admission(
            Arrival(
                person,
                role,
                inbound.space,
                own + len(inbound.text),
                material + sum(len(one.text) for one in inbound.materials),
                addressed,
                temporary=inbound.temporary,
                late=inbound.late,
                asks_model=meant is None,
                joins=burst is not None or edited is not None,
            )
        )
        if isinstance(admitted, Admitted) and admitted.only_enabling:
            enabling = isinstance(meant, tuple) and meant[0].opens
            return admitted if enabling else Refused(Reason.GROUP_CLOSED, _CLOSED_GROUP if admitted.hint else None)
        return admitted

    def _session(self, inbound: Inbound, reader: Reader) -> Session:
        sessions = self._kit.record.sessions
        if inbound.session is not None:
            return sessions.named(inbound.space, inbound.session, reader.person)
        return sessions.running(inbound.space, reader.person)

    # What is done about it

    async def _take(
        self, received: Received, meant: Meant, session: Session, reader: Reader, *, wait: float = 0.0
    ) -> Taken:
        place = Place(session.id, session.space, None, reader.person)
        match meant:
            case None:
                return self._talk(received, session, reader, wait)
            case Answer():
                self._work.bursts.begin(session.id)
                return Taken("answer", session.id, self._answering.take(meant, received, place, reader))
            case Response():
                self.inquiring.take(meant, received, place)
                return Taken("answer", session.id)
            case Unknown():
                words = _unknown(meant, self._kit.speaks_to(reader))
                self._reply(CommandReply(words, UsageWrong.__name__), received, place)
            case command, argument:
                invocation = Invocation(
                    reader=reader,
                    account=received.account,
                    channel=received.channel,
                    session=session,
                    message=received.event,
                    argument=argument,
                    language=self._kit.speaks_to(reader),
                )
                if not command.overtakes:
                    self._work.bursts.begin(session.id)
                self._at_work.add(received.event.id)
                try:
                    self._reply(await run(command, invocation, self._kit.record.log), received, place, command.name)
                finally:
                    self._at_work.discard(received.event.id)
        return Taken("command", session.id)

    def _talk(self, received: Received, session: Session, reader: Reader, wait: float) -> Taken:
        """Let what somebody says join the turn before it, or be one of its own."""
        last = self._work.bursts.last(session.id)
        if last is not None and last.takes(received, reader.person):
            with self._kit.record.log.transaction(durable=True):
                last.note(received.event)
            last.take_in(received)
            return Taken("turn", session.id, last.turn.id)
        burst = self._work.burst(self._turn(received, session, reader), gathers=gathers(received))
        self._work.queue(burst, wait=wait)
        return Taken("turn", session.id, burst.turn.id)

    async def _take_again(self, event: Event, *, begun: bool = True, wait: float = 0.0) -> Taken:
        """Take up a message that was stored earlier and that nothing was done about. `begun`: something may have been,
        by a process that ended in the middle."""
        received, record = Received.of(event), self._kit.record
        try:
            session = record.sessions.get(event.place.session or "")
            reader = self._work.speaking(event, received.account, session.space)
        except (KeyError, NotAllowed) as error:
            self._work.give_up(event, str(error))
            return Taken("ignored")
        place = Place(session.id, session.space, None, reader.person)
        if self._linking and (proof := self._proof(received, session.space)):
            await self._linking.take(proof, received, place, reader)
            return Taken("answer", session.id)
        meant = self._meant(received, reader)
        if begun and isinstance(meant, tuple) and (meant[0].waits or record.log.caused_by(event.id)):
            # It was begun, and what it had done by then stands: doing it again might do it twice.
            self._reply(CommandReply(BEGUN_BEFORE.say(self._kit.speaks_to(reader))), received, place, meant[0].name)
            return Taken("command", session.id)
        return await self._take(received, meant, session, reader, wait=wait)

    def _turn(self, received: Received, session: Session, reader: Reader) -> Turn:
        return Turn(
            id=self._kit.record.ids.turn(),
            session=session,
            reader=reader,
            account=received.account,
            channel=received.channel,
            messages=(received,),
            cause=received.event.id,
        )

    def _reply(self, reply: CommandReply, received: Received, place: Place, command: str = "") -> None:
        """Answer a command. The words are code's, and no part of the conversation."""
        payload = {"command": command, **({"error": reply.refusal} if reply.refusal else {})}
        draft = notice(received.channel, reply.text)
        with self._work.saying() as say, self._kit.record.log.transaction():
            self._kit.record.log.append(Kind.COMMAND_RUN, place, payload, cause=received.event.id)
            say(draft, place, received.event.id)


def _origin(inbound: Inbound, reader: Reader) -> Origin:
    if is_agent(inbound.account):
        return Origin.AGENT
    return Origin.OWNER if reader.role is Role.OWNER else Origin.PERSON


def _unknown(found: Unknown, language: Language) -> str:
    if found.near:
        return _NEAR.say(language).format(name=found.name[:40], near=" ".join(f"/{name}" for name in found.near))
    return _NO_SUCH.say(language).format(name=found.name[:40])


_CLOSED_GROUP = Words("这个群没有启用。发 /启用 就行。", "This group is not enabled. Send /enable to change that.")
_NEAR = Words("没有 /{name} 这个命令。是不是 {near}？", "There is no command /{name}. Did you mean {near}?")
_NO_SUCH = Words("没有 /{name} 这个命令。发 /help 看有哪些。", "There is no command /{name}. /help lists them.")
