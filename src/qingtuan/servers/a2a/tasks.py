"""Taking tasks in, following them and ending them: all that does not depend on how they are asked for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from qingtuan.channels.http.front import Caller
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.access import Reason
from qingtuan.language import Words
from qingtuan.messages import Attachment, Inbound, Material
from qingtuan.servers.a2a.book import MOST_MESSAGES, AgentTask
from qingtuan.servers.a2a.channel import CHANNEL
from qingtuan.servers.a2a.ports import Ports
from qingtuan.servers.a2a.standing import Standing, standing
from qingtuan.turn.desk import Stored


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent says."""

    text: str
    message_id: str
    context: str
    hops: int
    materials: tuple[Material, ...] = ()
    attachments: tuple[Attachment, ...] = ()


class NotTaken(Exception):
    """A message that does not become a task, or is not taken by one; `words` say why."""

    def __init__(self, words: Words) -> None:
        super().__init__(words.en)
        self.words = words


class Over(Exception):
    """The task has ended: nothing can be said to it, and it cannot be canceled."""


class Tasks:
    """The tasks of all agents."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._kit = ports.host.kit
        self._log = ports.host.kit.record.log
        self._book = ports.book
        self._watched: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._unlisten = self._log.listen(self._heard)
        self._receiving: set[asyncio.Task[AgentTask]] = set()

    async def close(self) -> None:
        """Hear nothing any more. What is being taken in is taken in first."""
        if self._receiving:
            await asyncio.wait(self._receiving)
        self._unlisten()

    async def ask(self, caller: Caller, asked: Asked, task: AgentTask | None = None) -> AgentTask:
        """Take a message in, as a task of its own or for `task`. What comes twice under one id is heard once.

        Raises:
            NotTaken: it is refused.
            Over: `task` has ended.
            NotAllowed: the agent is nobody.
            StorageFailed: it could not be stored.
        """
        if asked.hops >= self._ports.hops:
            raise NotTaken(_ROUND.filled(hops=self._ports.hops))
        receiving = asyncio.create_task(self._take(caller, asked, task))
        self._receiving.add(receiving)
        receiving.add_done_callback(self._taken)
        # Whoever asked may hang up meanwhile; what was said stays said.
        return await asyncio.shield(receiving)

    def _taken(self, receiving: asyncio.Task[AgentTask]) -> None:
        self._receiving.discard(receiving)
        if not receiving.cancelled():
            receiving.exception()  # raised to whoever still waits

    async def _take(self, caller: Caller, asked: Asked, task: AgentTask | None) -> AgentTask:
        before = Inbox(self._log).find(CHANNEL, caller.space, asked.message_id)
        if before is not None:
            return self._known(before, asked, task)
        if task is not None and (self.standing(task).over or len(self._book.messages(task)) >= MOST_MESSAGES):
            raise Over
        inbound = Inbound(
            channel=CHANNEL,
            account=caller.account,
            space=caller.space,
            message_id=asked.message_id,
            text=asked.text.replace("\0", ""),
            time=self._ports.clock.now(),
            session=task.session if task is not None else asked.context,
            materials=asked.materials,
            attachments=asked.attachments,
        )
        with self._reasons(inbound) as reasons:
            stored = await self._ports.host.desk.store(inbound)
        if isinstance(stored, Stored):
            # The task stands before anything is done about it: from here on no kill loses it.
            found = self._open(stored.received.event, asked, task)
            await self._ports.host.desk.set_off(stored)
            return found
        message = Inbox(self._log).find(CHANNEL, caller.space, asked.message_id)
        if message is not None:
            return self._known(message, asked, task)
        raise NotTaken(_WHY.get(reasons[-1], _REFUSED) if reasons else _REFUSED)

    def _known(self, message: Event, asked: Asked, task: AgentTask | None) -> AgentTask:
        return self._book.of_message(message.id) or self._open(message, asked, task)

    def _open(self, message: Event, asked: Asked, task: AgentTask | None) -> AgentTask:
        if task is not None:
            return self._book.go_on(task, message, asked.hops)
        return self._book.open(message, asked.context, asked.hops)

    @contextmanager
    def _reasons(self, inbound: Inbound) -> Iterator[list[Reason]]:
        """Why the message is ignored, if it is, in the block."""
        found: list[Reason] = []

        def heard(event: Event) -> None:
            ignored = event.kind is Kind.MESSAGE_IGNORED and event.place.space == inbound.space
            if ignored and event.payload.get("message_id") == inbound.message_id:
                found.append(Reason(event.payload["reason"]))

        unlisten = self._log.listen(heard)
        try:
            yield found
        finally:
            unlisten()

    def find(self, caller: Caller, task: str) -> AgentTask | None:
        """The task of this id, if it is the caller's own: of others nobody learns that there are any."""
        return self._book.find(task, caller.space)

    def of(self, caller: Caller, context: str | None = None) -> list[AgentTask]:
        """The caller's tasks, the newest first."""
        return self._book.of(caller.space, context)

    def standing(self, task: AgentTask) -> Standing:
        """How a task stands now."""
        return standing(self._kit, self._book, task)

    async def follow(self, task: AgentTask) -> AsyncGenerator[Standing, None]:
        """How a task stands, and then each change, until it is over."""
        woken = asyncio.Event()
        self._watched[task.session].add(woken)
        try:
            last: Standing | None = None
            while True:
                woken.clear()
                now = self.standing(self._book.find(task.id, task.space) or task)
                if last is None or (now.state, now.words) != (last.state, last.words):
                    yield now
                last = now
                if now.over:
                    return
                await woken.wait()
        finally:
            self._watched[task.session].discard(woken)
            if not self._watched[task.session]:
                del self._watched[task.session]

    def cancel(self, caller: Caller, task: AgentTask) -> Standing:
        """End a task, as far as it has not: what was done stands. Raises `Over` if there is nothing to end."""
        now = self.standing(task)
        if now.over:
            raise Over
        host, person = self._ports.host, self._kit.people.reader(caller.account, caller.space).person
        canceled = self._book.cancel(task, person)
        for message in now.said:
            host.desk.recalled(CHANNEL, task.space, str(message.event.payload["message_id"]))
        for asked in self._kit.book.open_in(task.session):
            if asked.place.turn in now.turns:
                self._kit.book.take(asked.event, "no", by=person)
        if any(not self._ended(turn) for turn in now.turns):
            host.queues.stop(task.session, person)
        return self.standing(canceled)

    def _ended(self, turn: str) -> bool:
        return any(event.kind is Kind.TURN_FINISHED for event in self._log.of_turn(turn))

    def _heard(self, event: Event) -> None:
        for woken in self._watched.get(event.place.session or "", ()):
            woken.set()


_REFUSED = Words("没有接下。", "It was not taken.")
_STRANGER = Words("没有接下：这个助手不在主人的名单里。", "It was not taken: this agent is on no list of the owner's.")
_SPENT = Words("没有接下：今天的额度用完了。", "It was not taken: the allowance of today is used up.")
_ROUND = Words(
    "没有接下：已经转过 {hops} 个助手了，可能在绕圈子。",
    "It was not taken: it came through {hops} agents already, and may go round in a circle.",
)
_WHY: Mapping[Reason, Words] = {
    Reason.STRANGER: _STRANGER,
    Reason.TRIAL_OVER: _STRANGER,
    Reason.TURNS_SPENT: _SPENT,
    Reason.TOKENS_SPENT: _SPENT,
    Reason.CEILING: _SPENT,
    Reason.TOO_LONG: Words("没有接下：太长了。", "It was not taken: it is too long."),
    Reason.QUEUE_FULL: Words("没有接下：还有几件没做完。", "It was not taken: earlier ones are still being done."),
}
