"""The front desk: every inbound message comes here once, and becomes a turn, a command, an answer, or silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from qingtuan.errors import NotAllowed, QingtuanError, UsageWrong
from qingtuan.events.inbox import Inbox, Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import Draft
from qingtuan.events.sessions import Session
from qingtuan.events.turns import open_turns
from qingtuan.identity.access import Admitted, Arrival, Reason, Refused
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.messages import Inbound, Origin
from qingtuan.storage.files import content_hash
from qingtuan.turn.answering import Answering
from qingtuan.turn.commands.registry import Command, CommandReply, Commands, Invocation, Unknown
from qingtuan.turn.turn import Turn
from qingtuan.turn.work import Work

Admission = Callable[[Arrival], Admitted | Refused]
"""Whether a message is answered, with the counters as they are at this moment."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an inbound message."""

    kind: Literal["turn", "command", "answer", "ignored", "known"]
    session: str | None = None
    turn: str | None = None
    """The turn that was queued for it, if any."""


class Desk:
    """Takes messages in, and takes interrupted work up again."""

    def __init__(self, work: Work, commands: Commands, admission: Admission) -> None:
        self._work = work
        self._kit = work.kit
        self._commands = commands
        self._admission = admission
        self._answering = Answering(work)
        self._inbox = Inbox(work.kit.record.log)

    async def receive(self, inbound: Inbound) -> Taken:
        """Store a message and set off what it calls for. Returns as soon as that is queued or answered.

        Raises:
            NotAllowed: the private chat is somebody else's.
            StorageFailed: the message could not be stored: it must not be acknowledged.
        """
        if self._inbox.known(inbound.channel, inbound.space, inbound.message_id):
            return Taken("known")
        person = self._kit.people.find(inbound.account)
        role = self._kit.people.role(person) if person else Role.GUEST
        admitted = self._admission(Arrival(person, role, inbound.space, len(inbound.text), inbound.addressed))
        if isinstance(admitted, Admitted) and admitted.only_enabling:
            admitted = Refused(Reason.GROUP_CLOSED, _CLOSED_GROUP)
        if isinstance(admitted, Refused) or person is None:
            refused = admitted if isinstance(admitted, Refused) else Refused(Reason.SHARED_ID)
            return self._ignore(inbound, refused, person.id if person else None)
        reader = self._kit.people.reader(inbound.account, inbound.space)
        session = self._session(inbound, reader)
        origin = Origin.OWNER if role is Role.OWNER else Origin.PERSON
        event = self._inbox.receive(inbound, session=session.id, person=reader.person, origin=origin)
        if event is None:
            return Taken("known")
        return await self._take(Received.of(event), session, reader, wait=admitted.wait)

    async def recover(self) -> int:
        """Take up what an earlier process left: turns that did not end, answers that nothing followed, messages
        that nobody looked at. Gives their number. Called once, before any channel opens."""
        record = self._kit.record
        record.outbox.settle()
        begun = open_turns(record.log)
        for started in begun:
            self._work.queue(self._work.read_back(started))
        unresumed = self._kit.book.unresumed()
        resuming = {started.payload.get("confirmed") for started in begun}
        for asked in unresumed:
            if asked.event not in resuming:
                self._answering.carry_out(asked)
        taken = {message for started in begun for message in started.payload["messages"]}
        waiting = [event for event in self._inbox.open() if event.id not in taken]
        for event in waiting:
            received = Received.of(event)
            session = record.sessions.get(event.place.session or "")
            await self._take(received, session, self._kit.people.reader(received.account, session.space))
        return len(begun) + len(unresumed) + len(waiting)

    async def _take(self, received: Received, session: Session, reader: Reader, *, wait: float = 0.0) -> Taken:
        place = Place(session.id, session.space, None, reader.person)
        answer = self._answering.recognise(received, reader)
        if answer.verdict != "not_an_answer":
            return Taken("answer", session.id, self._answering.take(answer, received, place, reader))
        found = self._commands.match(received.text, reader)
        if found is None:
            turn = self._turn(received, session, reader)
            self._work.queue(turn, wait=wait)
            return Taken("turn", session.id, turn.id)
        language = self._kit.speaks_to(reader)
        if isinstance(found, Unknown):
            self._reply(CommandReply(_unknown(found, language), UsageWrong.__name__), received, place)
        else:
            command, argument = found
            channel = received.event.payload["channel"]
            invocation = Invocation(reader, received.account, channel, session, received.event, argument, language)
            self._reply(await _run(command, invocation), received, place, command.names[-1])
        return Taken("command", session.id)

    def _turn(self, received: Received, session: Session, reader: Reader) -> Turn:
        return Turn(
            id=self._kit.record.ids.turn(),
            session=session,
            reader=reader,
            account=received.account,
            channel=received.event.payload["channel"],
            messages=(received,),
            cause=received.event.id,
        )

    def _reply(self, reply: CommandReply, received: Received, place: Place, command: str = "") -> None:
        """Answer a command. The words are code's, and no part of the conversation."""
        log = self._kit.record.log
        payload = {"command": command, **({"error": reply.refusal} if reply.refusal else {})}
        with log.transaction():
            log.append(Kind.COMMAND_RUN, place, payload, cause=received.event.id)
            draft = Draft(received.event.payload["channel"], reply.text, "notice", Origin.SYSTEM, by_code=True)
            self._work.say(draft, place, cause=received.event.id)

    def _session(self, inbound: Inbound, reader: Reader) -> Session:
        sessions = self._kit.record.sessions
        if inbound.session is not None:
            return sessions.named(inbound.space, inbound.session, reader.person)
        return sessions.running(inbound.space, reader.person)

    def _ignore(self, inbound: Inbound, refused: Refused, person: str | None) -> Taken:
        """Write down that and why nothing is answered; of the message itself only its hash stays."""
        place = Place(None, inbound.space, None, person)
        payload = {
            "channel": inbound.channel,
            "message_id": inbound.message_id,
            "reason": str(refused.reason),
            "hash": content_hash(inbound.text.encode("utf-8", "replace")),
            "told": refused.words is not None,
        }
        event: Event = self._kit.record.log.append(Kind.MESSAGE_IGNORED, place, payload)
        if refused.words is not None:
            text = refused.words.say(self._kit.texts.language)
            draft = Draft(inbound.channel, text, "notice", Origin.SYSTEM, by_code=True)
            self._work.say(draft, place, cause=event.id)
        return Taken("ignored")


async def _run(command: Command, invocation: Invocation) -> CommandReply:
    """Carry out a command, or say in one sentence why not. The refusal tells nothing of what exists."""
    language = invocation.language
    if not command.may_use(invocation.reader):
        return CommandReply(_NOT_YOURS.say(language), NotAllowed.__name__)
    if command.answers_in_private and invocation.reader.space.is_group:
        return CommandReply(_IN_PRIVATE.say(language), NotAllowed.__name__)
    try:
        return await command.run(invocation)
    except QingtuanError as error:
        return CommandReply(error.say(language), type(error).__name__)


def _unknown(found: Unknown, language: Language) -> str:
    if found.near:
        return _NEAR.say(language).format(name=found.name[:40], near=" ".join(f"/{name}" for name in found.near))
    return _NO_SUCH.say(language).format(name=found.name[:40])


_NOT_YOURS = Words("这个只有主人能用。", "Only the owner can use this.")
_CLOSED_GROUP = Words(
    "这个群还没启用。把它写进 qingtuan.toml 的 access.groups。",
    "This group is not enabled yet. Add it to access.groups in qingtuan.toml.",
)
_IN_PRIVATE = Words("这里是群，私聊我再说。", "This is a group; tell me in private.")
_NEAR = Words("没有 /{name} 这个命令。是不是 {near}？", "There is no command /{name}. Did you mean {near}?")
_NO_SUCH = Words("没有 /{name} 这个命令。发 /help 看有哪些。", "There is no command /{name}. /help lists them.")
