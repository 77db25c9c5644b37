"""What a message led to, gathered from the events as they happen, and summed up at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.confirmations.inquiry_words import summary_of
from qingtuan.errors import NotAllowed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.access import Reason
from qingtuan.identity.trust import may_answer
from qingtuan.language import Language, Words
from qingtuan.messages import Inbound
from qingtuan.models.chat import Usage
from qingtuan.turn.desk import Taken
from qingtuan.turn.kit import Kit

Status = Literal["answered", "waiting", "unreachable", "refused", "stopped", "wrong", "failed"]
"""How it ended: with a reply; with a question that waits for a yes; no model could be reached; the person may not;
stopped by the person; a command that was not understood; anything else that went wrong."""


@dataclass(frozen=True, slots=True)
class Pending:
    """An open question."""

    code: str | None
    """None for whoever only waits for somebody else's answer."""
    summary: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class Done:
    """All that a caller may want to know of one message and its answer."""

    status: Status
    reply: str = ""
    """What was answered, the question that waits included."""
    session: str | None = None
    turn: str | None = None
    pending: tuple[Pending, ...] = ()
    """All open questions of this person in this space, of earlier turns too: those that they may answer there, and
    those that they asked for there and that somebody else answers."""
    usage: Usage = Usage(0, 0)  # noqa: RUF009 (frozen)
    tools: tuple[str, ...] = ()
    """The tools that ran, in order."""
    error: str | None = None
    """One sentence about what went wrong, for the owner."""
    reason: Reason | None = None
    """Why it was refused at the door, if it was."""


class Trail:
    """The events that one message causes, directly or through turns and answers to questions."""

    def __init__(self, inbound: Inbound) -> None:
        self._inbound = inbound
        self._causes: set[str] = set()
        self.ignored: Event | None = None
        self.command: Event | None = None
        self.turns: list[str] = []
        self.outcomes: dict[str, str] = {}
        """By turn, once it has ended."""
        self.sent: list[Event] = []

    def hear(self, event: Event) -> None:
        """Take note of an event, if it belongs here."""
        match event.kind:
            case Kind.MESSAGE_RECEIVED | Kind.MESSAGE_IGNORED if self._is_inbound(event):
                self._causes.add(event.id)
                self.ignored = event if event.kind is Kind.MESSAGE_IGNORED else None
            case Kind.CONFIRMATION_ANSWERED if event.payload.get("message") in self._causes:
                self._causes.add(event.id)
            case Kind.TURN_STARTED if event.cause in self._causes and event.place.turn:
                self.turns.append(event.place.turn)
            case Kind.TURN_FINISHED if event.cause in self._causes and event.place.turn:
                self.outcomes[event.place.turn] = event.payload["outcome"]
            case Kind.COMMAND_RUN if event.cause in self._causes:
                self.command = event
            case Kind.MESSAGE_SENT if self.owns(event):
                self.sent.append(event)
            case _:
                pass

    def owns(self, message: Event) -> bool:
        """Whether a `message.sent` answers what was said, where it was said. What a yes leads to in another chat is
        told there."""
        return self.here(message) and (message.cause in self._causes or message.place.turn in self.turns)

    def here(self, event: Event) -> bool:
        """Whether an event belongs to the space in which it was said."""
        return event.place.space == self._inbound.space

    def _is_inbound(self, event: Event) -> bool:
        wanted = self._inbound
        payload = event.payload
        same = (payload["channel"], payload["message_id"]) == (wanted.channel, wanted.message_id)
        return same and event.place.space == wanted.space


def answers(taken: Taken, kind: str) -> bool:
    """Whether a message of this kind is what was asked for: in a turn its reply or question, else whatever is said."""
    return taken.kind != "turn" or kind != "notice"


def sum_up(kit: Kit, inbound: Inbound, trail: Trail, taken: Taken) -> Done:
    """How it ended."""
    events = [event for turn in trail.turns for event in kit.record.log.of_turn(turn) if not event.forgotten]
    status = _status(trail, taken, events)
    language = kit.texts.language
    return Done(
        status=status,
        reply="\n\n".join(event.payload["text"] for event in trail.sent if answers(taken, event.payload["kind"])),
        session=taken.session,
        turn=trail.turns[-1] if trail.turns else taken.turn,
        pending=_pending(kit, inbound),
        usage=_usage(events),
        tools=tuple(event.payload["name"] for event in events if event.kind is Kind.TOOL_STARTED),
        error=_error(status, trail, events, language),
        reason=Reason(trail.ignored.payload["reason"]) if trail.ignored is not None else None,
    )


def _pending(kit: Kit, inbound: Inbound) -> tuple[Pending, ...]:
    try:
        reader = kit.people.reader(inbound.account, inbound.space)
    except NotAllowed:
        return ()
    found = []
    for asked in kit.book.open():
        if may_answer(asked.facts, reader):
            found.append(Pending(asked.code, asked.summary_for(reader), asked.expires))
        elif reader.is_(asked.asker) and asked.space == reader.space:
            found.append(Pending(None, asked.summary, asked.expires))
    for inquiry in kit.record.inquiries.open_of(reader.ids):
        if inquiry.space == reader.space:
            summary = summary_of(inquiry.kind, inquiry.asker, inquiry.question, kit.speaks_to(reader))
            found.append(Pending(inquiry.code, summary, inquiry.expires))
    return tuple(found)


def _status(trail: Trail, taken: Taken, events: Sequence[Event]) -> Status:
    if taken.kind == "ignored":
        return "refused"
    if taken.kind == "known":
        return "failed"
    if trail.outcomes:
        return _status_of_turn(list(trail.outcomes.values())[-1], events)
    error = trail.command.payload.get("error") if trail.command else None
    return "answered" if error is None else _STATUS_OF_ERROR.get(error, "failed")


_STATUS_OF_ERROR: Mapping[str, Status] = {"NotAllowed": "refused", "UsageWrong": "wrong"}


def _status_of_turn(outcome: str, events: Sequence[Event]) -> Status:
    match outcome:
        case "replied":
            return "answered"
        case "waiting":
            return "waiting"
        case "refused":
            return "refused"
        case "stopped" | "recalled":
            return "stopped"
    if any(event.kind is Kind.TURN_FAILED for event in events):
        return "failed"
    heard = [event.kind for event in events if event.kind in (Kind.MODEL_ANSWERED, Kind.MODEL_FAILED)]
    return "failed" if heard and heard[-1] is Kind.MODEL_ANSWERED else "unreachable"


def _usage(events: Sequence[Event]) -> Usage:
    used = [event.payload["usage"] for event in events if event.kind is Kind.MODEL_ANSWERED]
    return Usage(
        prompt=sum(usage["prompt"] for usage in used),
        completion=sum(usage["completion"] for usage in used),
        cached=sum(usage["cached"] for usage in used),
        estimated=any(usage["estimated"] for usage in used),
    )


def _error(status: Status, trail: Trail, events: Sequence[Event], language: Language) -> str | None:
    match status:
        case "answered" | "waiting":
            return None
        case "refused" if trail.ignored is not None:
            return WHY[Reason(trail.ignored.payload["reason"])].say(language)
        case "unreachable":
            reasons = [event.payload["reason"] for event in events if event.kind is Kind.MODEL_FAILED]
            if reasons and reasons[-1]:
                return f"{_NO_MODEL.say(language)} ({reasons[-1]})"
            return _told(trail) or _NO_MODEL.say(language)
        case "stopped":
            return _STOPPED.say(language)
        case _:
            details = [event.payload["detail"] for event in events if event.kind is Kind.TURN_FAILED]
            told = _told(trail) or _FAILED.say(language)
            return f"{told} ({details[-1]})" if details else told


def _told(trail: Trail) -> str:
    """The last thing that was said; empty if nothing was."""
    return trail.sent[-1].payload["text"] if trail.sent else ""


_NO_MODEL = Words("模型没有回答。", "No model answered.")
_STOPPED = Words("停下了，没有做完。", "Stopped before the end.")
_FAILED = Words("没有办成。", "It was not done.")
_TODAY = Words("没有回答：今天的额度用完了。", "Not answered: the allowance of today is used up.")
WHY: Mapping[Reason, Words] = {
    Reason.UNSIGNED: Words("没有回答：消息没有签名。", "Not answered: the message is not signed."),
    Reason.SHARED_ID: Words(
        "没有回答：这个账号不是一个人，很多人用它说话。",
        "Not answered: that account is no one person; many speak through it.",
    ),
    Reason.TEMPORARY: Words("没有回答：这是临时会话。", "Not answered: this is a temporary chat."),
    Reason.GROUP_CLOSED: Words(
        "没有回答：这个群没有启用。主人在群里发 /启用，或把它写进 qingtuan.toml 的 access.groups。",
        "Not answered: that group is not enabled. Send /enable there as the owner, or list it in access.groups in "
        "qingtuan.toml.",
    ),
    Reason.NOT_ADDRESSED: Words("没有回答：这句话不是对它说的。", "Not answered: the message was not meant for it."),
    Reason.STRANGER: Words(
        "没有回答：这个账号不在名单里（owner.accounts、access.members）。",
        "Not answered: that account is on no list (owner.accounts, access.members).",
    ),
    Reason.TRIAL_OVER: Words("没有回答：这个账号的试聊条数用完了。", "Not answered: that account has used its trial."),
    Reason.TOO_LONG: Words("没有回答：超过了这个账号的长度限制。", "Not answered: longer than that account may write."),
    Reason.ANSWERED: Words(
        "没有回答：改的是已经回答过的话。", "Not answered: what was edited had been answered before."
    ),
    Reason.QUEUE_FULL: Words("没有回答：这个账号排队的消息太多。", "Not answered: too many messages of it wait."),
    Reason.LATE: Words(
        "没有回答：发的时候没连上，太久了。", "Not answered: said long ago, while it was not connected."
    ),
    Reason.TURNS_SPENT: _TODAY,
    Reason.TOKENS_SPENT: _TODAY,
    Reason.CEILING: _TODAY,
    Reason.BROKEN: Words("没有回答：这条消息处理不了。", "Not answered: that message could not be handled."),
    Reason.UNREADABLE: Words("没有回答：看不懂这条消息。", "Not answered: that message could not be read."),
    Reason.BEFORE_RESTORE: Words(
        "没有回答：是恢复备份以前说的。", "Not answered: said before the backup that was restored."
    ),
}
