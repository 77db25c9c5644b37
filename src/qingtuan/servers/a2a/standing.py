"""How a task stands, read from what its messages led to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.events.inbox import Inbox, Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.language import Words
from qingtuan.servers.a2a.book import AgentTask, TaskBook
from qingtuan.turn.kit import Kit

State = Literal["submitted", "working", "auth-required", "completed", "failed", "rejected", "canceled"]
"""As the protocol calls them. `auth-required`: the owner was asked for their consent, and has not answered."""
OVER: frozenset[State] = frozenset({"completed", "failed", "rejected", "canceled"})
"""A task in one of these never changes again."""

_OF_OUTCOME: dict[str, State] = {
    "replied": "completed",
    "refused": "rejected",
    "stopped": "canceled",
    "recalled": "canceled",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A task at one moment."""

    task: AgentTask
    state: State
    since: datetime
    said: tuple[Received, ...]
    """What the agent said, in order."""
    words: str = ""
    """What there is to say of the state; empty where the answer says it all."""
    answers: tuple[Event, ...] = ()
    """The replies that answer it, once it is completed."""
    turns: tuple[str, ...] = ()
    """The turns that work on it, or did."""

    @property
    def over(self) -> bool:
        return self.state in OVER


def standing(kit: Kit, book: TaskBook, task: AgentTask) -> Standing:
    """How a task stands now."""
    log, said = kit.record.log, tuple(book.messages(task))
    names = {message.event.id for message in said}
    begun = [
        event
        for event in log.of_session(task.session, kinds=[Kind.TURN_STARTED])
        if not event.forgotten
        and not names.isdisjoint((*event.payload["messages"], *event.payload.get("carries_on", ())))
    ]
    turns = tuple(event.place.turn or "" for event in begun)
    if task.canceled:
        return Standing(task, "canceled", task.asked, said, _CANCELED.say(kit.texts.language), turns=turns)
    events = {turn: log.of_turn(turn) for turn in turns}
    waiting = [message for message in said if not _is_taken_up(message, begun)]
    if any(Inbox(log).is_open(message.event.id) for message in waiting) or not said:
        state: State = "submitted" if said else "failed"
        return Standing(task, state, task.asked, said, turns=turns)
    if not turns:
        return Standing(task, "canceled", task.asked, said, _CANCELED.say(kit.texts.language))
    return _of_turns(kit, Standing(task, "working", begun[-1].time, said, turns=turns), events)


def _is_taken_up(message: Received, begun: Sequence[Event]) -> bool:
    return any(message.event.id in event.payload["messages"] for event in begun)


def _of_turns(kit: Kit, so_far: Standing, events: dict[str, list[Event]]) -> Standing:
    """The standing of a task all of whose messages were taken up by turns."""
    ends = {turn: event for turn, of_turn in events.items() for event in of_turn if event.kind is Kind.TURN_FINISHED}
    questions = [asked for of_turn in events.values() for asked in _asked(kit, of_turn)]
    language = kit.texts.language
    if len(ends) < len(events) or _goes_on(questions, events):
        return so_far
    last = events[so_far.turns[-1]]
    end = ends[so_far.turns[-1]]
    said = _replies(so_far.task, last)
    if any(asked.state == "open" for asked in questions):
        words = "\n\n".join(event.payload["text"] for event in said) or _ASKED.say(language)
        return _as(so_far, "auth-required", end, words)
    outcome = str(end.payload["outcome"])
    if outcome == "replied":
        return _as(so_far, "completed", end, "", said)
    if outcome == "waiting":
        return _as(so_far, "rejected", end, _NOT_AGREED.say(language))
    state = _OF_OUTCOME.get(outcome, "failed")
    told = "\n\n".join(event.payload["text"] for event in said)
    return _as(so_far, state, end, told or _WORDS[state].say(language))


def _as(so_far: Standing, state: State, end: Event, words: str, answers: tuple[Event, ...] = ()) -> Standing:
    return Standing(so_far.task, state, end.time, so_far.said, words, answers, so_far.turns)


def _asked(kit: Kit, events: Sequence[Event]) -> list[Confirmation]:
    """The questions that a turn ended in."""
    asked = (event.id for event in events if event.kind is Kind.CONFIRMATION_ASKED and not event.forgotten)
    return [found for found in map(kit.book.get, asked) if found is not None]


def _goes_on(questions: Sequence[Confirmation], events: dict[str, list[Event]]) -> bool:
    """Whether there was a yes whose turn has not begun yet."""
    begun = {
        event.payload.get("confirmed")
        for of_turn in events.values()
        for event in of_turn
        if event.kind is Kind.TURN_STARTED
    }
    # One that never runs, since its agent may not speak here any more, has its result in the turn that asked.
    closed = {event.cause for of_turn in events.values() for event in of_turn if event.kind is Kind.TOOL_FINISHED}
    return any(a.state == "yes" and a.event not in begun and a.answer not in closed for a in questions)


def _replies(task: AgentTask, events: Sequence[Event]) -> tuple[Event, ...]:
    """What was said to the agent in a turn."""
    return tuple(
        event
        for event in events
        if event.kind is Kind.MESSAGE_SENT
        and not event.forgotten
        and event.place.space == task.space
        and event.payload["kind"] == "reply"
    )


_ASKED = Words("这要我的主人同意，已经去问了。", "This needs my owner's consent. The owner has been asked.")
_NOT_AGREED = Words("主人没有同意，所以没有做。", "My owner did not agree to it, so it was not done.")
_CANCELED = Words("取消了。", "It was canceled.")
_WORDS = {
    "failed": Words("没有办成。", "It was not done."),
    "rejected": Words("没有接下。", "It was not taken."),
    "canceled": _CANCELED,
}
