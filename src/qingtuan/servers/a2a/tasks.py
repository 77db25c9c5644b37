"""Taking tasks in, following them and ending them: all that does not depend on how they are asked for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

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
from qingtuan.servers.a2a.standing import Standing, State, standing
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


@dataclass(frozen=True, slots=True)
class Brief:
    """A task, as far as a listing goes by it."""

    task: AgentTask
    state: State
    since: datetime


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
        self._followed: defaultdict[str, dict[str, list[asyncio.Queue[Standing]]]] = defaultdict(dict)
        """By session and task, who is told of its changes."""
        self._unlisten = self._log.listen(self._heard)
        self._over: dict[str, Brief] = {}
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

    async def brief(self, tasks: Sequence[AgentTask]) -> list[Brief]:
        """What a listing goes by, of many tasks: those that are over are looked up once."""
        found: list[Brief] = []
        for task in tasks:
            known = self._over.get(task.id)
            if known is None:
                now = self.standing(task)
                known = Brief(task, now.state, now.since)
                if now.over:
                    self._over[task.id] = known
                    if len(self._over) > _MOST_KNOWN:
                        del self._over[next(iter(self._over))]
                if len(found) % _AT_A_STRETCH == 0:
                    await _breath()
            found.append(known)
        return found

    async def follow(self, task: AgentTask) -> AsyncGenerator[Standing, None]:
        """How a task stands, and then each change, until it is over."""
        changes: asyncio.Queue[Standing] = asyncio.Queue()
        followers = self._followed[task.session].setdefault(task.id, [])
        followers.append(changes)
        try:
            now = self.standing(self._book.find(task.id, task.space) or task)
            yield now
            while not now.over:
                last, now = now, await changes.get()
                if _differ(last, now):
                    yield now
        finally:
            followers.remove(changes)
            if not followers:
                self._followed[task.session].pop(task.id, None)
            if not self._followed[task.session]:
                self._followed.pop(task.session, None)

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
        """Tell all who follow a task of this session how it stands: every one of them the same, in the same order."""
        if event.kind not in _TELLING or event.place.space is None:
            return
        for name, followers in self._followed.get(event.place.session or "", {}).items():
            task = self._book.find(name, event.place.space)
            if task is not None:
                now = self.standing(task)
                for follower in followers:
                    follower.put_nowait(now)


_MOST_KNOWN = 10_000
_AT_A_STRETCH = 25
"""So many tasks are looked up before others come in between."""


async def _breath() -> None:
    """Let others come in between."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    loop.call_soon(done.set_result, None)
    await done


def _differ(one: Standing, other: Standing) -> bool:
    return (one.state, one.words) != (other.state, other.words)


_TELLING = frozenset(
    {
        Kind.TURN_STARTED,
        Kind.TURN_FINISHED,
        Kind.MESSAGE_RECALLED,
        Kind.TASK_ASKED,
        Kind.TASK_CANCELED,
        Kind.CONFIRMATION_ANSWERED,
        Kind.CONFIRMATION_EXPIRED,
        Kind.TOOL_FINISHED,
    }
)
"""What a task may stand otherwise by."""
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
