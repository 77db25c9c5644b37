"""Whether a message is answered at all, and when: allow lists, lengths, cool-down, queue, daily limits. Pure.

Every allow list that is empty or missing means nobody. The owner has no limits. Each refusal has a reason, for the
event that says why the assistant was silent, and at most once a minute per person a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from qingtuan.identity.accounts import Person
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.messages import Space

REFUSAL_INTERVAL = 60.0
"""Seconds between two sentences of refusal to the same person."""
COMMANDS_A_MINUTE = 20
"""Commands and answers of one person. Nobody types more, and each has a reply that a platform may count against us."""


class Reason(StrEnum):
    """Why a message was ignored; stands in the event `message.ignored`."""

    UNSIGNED = "unsigned"
    """A webhook without the right signature: refused by the desk, before anything is read from it."""
    SHARED_ID = "shared_id"
    """An id that many speak through: anonymous, a channel, a group."""
    TEMPORARY = "temporary"
    """A temporary QQ session: a stranger, whoever the account is elsewhere."""
    GROUP_CLOSED = "group_closed"
    """A group that is neither listed nor enabled, or was disabled."""
    NOT_ADDRESSED = "not_addressed"
    STRANGER = "stranger"
    """Nobody that a list names, and no trial is offered."""
    TRIAL_OVER = "trial_over"
    TOO_LONG = "too_long"
    QUEUE_FULL = "queue_full"
    LATE = "late"
    """Said while the channel was not connected, and too long ago to be answered now."""
    TURNS_SPENT = "turns_spent"
    TOKENS_SPENT = "tokens_spent"
    CEILING = "ceiling"
    """What all but the owner may use together in a day is used."""
    ANSWERED = "answered"
    """An edit of what was answered already, or given up: that stands as it was."""
    BROKEN = "broken"
    """It cannot be handled: something in it breaks the handling."""
    UNREADABLE = "unreadable"
    """There is nothing in it that is known here: a kind of content that is newer, or no content at all."""
    BEFORE_RESTORE = "before_restore"
    """It was sent before the data was put back to an earlier state: the state before may have answered it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a role may do. Lengths are characters of the person's own words; None means no limit."""

    private_chars: int | None
    group_chars: int | None
    material_chars: int | None
    """Characters of what comes along with a message: forwards, quotes, the text of files."""
    private_cooldown: float
    """Seconds between two turns; a message that comes sooner waits, it is not dropped."""
    group_cooldown: float
    queued: int
    """Messages of one person that may wait at the same time."""
    turns_a_day: int
    tokens_a_day: int


GUEST_LIMITS = Limits(
    private_chars=150,
    group_chars=300,
    material_chars=3000,
    private_cooldown=10.0,
    group_cooldown=5.0,
    queued=3,
    turns_a_day=50,
    tokens_a_day=200_000,
)
MEMBER_LIMITS = Limits(
    private_chars=4000,
    group_chars=2000,
    material_chars=20_000,
    private_cooldown=10.0,
    group_cooldown=5.0,
    queued=3,
    turns_a_day=200,
    tokens_a_day=1_000_000,
)


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What the settings and the owner's commands say."""

    groups: frozenset[str] = frozenset()
    """`access.groups`, as `qq:777`."""
    disabled: frozenset[str] = frozenset()
    """Groups where the owner said `/停用`; wins over `groups`."""
    trial: int = 0
    """Messages that a stranger may send in private before the refusal; 0 offers no trial."""
    limits: Mapping[Role, Limits] = field(
        default_factory=lambda: MappingProxyType({Role.GUEST: GUEST_LIMITS, Role.MEMBER: MEMBER_LIMITS})
    )
    """Without the owner, who has none. A role that is missing here is refused."""
    tokens_of_all: int = 3_000_000
    """Tokens a day for all but the owner together."""

    def answers_in(self, group: Space) -> bool:
        """Whether a group is one in which anybody is answered."""
        return group.id in self.groups and group.id not in self.disabled


@dataclass(frozen=True, slots=True)
class Arrival:
    """One inbound message, as far as admission depends on it."""

    person: Person | None
    """None if the account is no person (`People.find`)."""
    role: Role
    space: Space
    own_chars: int
    """Characters of the speaker's own words; forwards and files count apart."""
    material_chars: int = 0
    """Characters of forwards, quotes and files that came along."""
    addressed: bool = True
    temporary: bool = False
    asks_model: bool = True
    """False for a command and for an answer to a question: they cost next to nothing, and must get through when
    nothing else does. They have a pace of their own, and no other limit but that of length."""
    late: bool = False
    """Whether it was said too long ago."""
    joins: bool = False
    """Whether it belongs to a turn that waits or has just begun: it makes no turn more. `own_chars` and
    `material_chars` are those of all that belong to it."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What has happened so far. Times are seconds ago; None means never."""

    last_turn: float | None = None
    """Since this person's last turn in this kind of space began; less than 0 if one is still to begin."""
    last_refusal: float | None = None
    """Since the last sentence of refusal to this person."""
    queued: int = 0
    turns_today: int = 0
    tokens_today: int = 0
    tokens_of_all_today: int = 0
    """Of everybody but the owner."""
    commands_lately: int = 0
    """Commands and answers within the last minute."""
    trial_used: int = 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """The message is to be answered."""

    wait: float = 0.0
    """Seconds to wait first, for the cool-down."""
    only_enabling: bool = False
    """The owner speaks in a group that is not enabled: only the command that enables it is obeyed."""
    hint: bool = True
    """Whether to say so: at most once a minute."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The message is ignored."""

    reason: Reason
    words: Words | None = None
    """What to say, or None for silence."""


def admit(arrival: Arrival, rules: AccessRules, counters: Counters) -> Admitted | Refused:
    """Decide on one message."""
    if reason := _identity_reason(arrival):
        return Refused(reason)
    space, owner = arrival.space, arrival.role is Role.OWNER
    if space.is_group and not rules.answers_in(space):
        if not (owner and arrival.addressed):
            return Refused(Reason.GROUP_CLOSED)
        return Admitted(only_enabling=True, hint=not _told_lately(counters))
    if not arrival.addressed:
        return Refused(Reason.NOT_ADDRESSED)
    if arrival.late and not _stranger_reason(arrival, rules, counters):
        return Refused(Reason.LATE, None if space.is_group or _told_lately(counters) else _LATE)
    if owner:
        return Admitted()
    limits = rules.limits.get(arrival.role)
    reason = _stranger_reason(arrival, rules, counters)
    reason = reason or _limit_reason(arrival, rules, limits, counters)
    if reason or limits is None:
        return _refused(reason or Reason.STRANGER, arrival, limits, counters)
    if arrival.joins or not arrival.asks_model:
        return Admitted()
    cooldown = limits.group_cooldown if space.is_group else limits.private_cooldown
    return Admitted(wait=0.0 if counters.last_turn is None else max(0.0, cooldown - counters.last_turn))


def _identity_reason(arrival: Arrival) -> Reason | None:
    if arrival.person is None:
        return Reason.SHARED_ID
    # No trial either: its chat could not be told from the person's own private chat.
    return Reason.TEMPORARY if arrival.temporary else None


def _stranger_reason(arrival: Arrival, rules: AccessRules, counters: Counters) -> Reason | None:
    if arrival.space.is_group or arrival.role is not Role.GUEST or counters.trial_used < rules.trial:
        return None
    return Reason.TRIAL_OVER if rules.trial > 0 else Reason.STRANGER


def _limit_reason(arrival: Arrival, rules: AccessRules, limits: Limits | None, counters: Counters) -> Reason | None:
    if limits is None:
        return Reason.STRANGER
    if _is_longer(arrival.own_chars, _longest(arrival, limits)) or _is_longer(
        arrival.material_chars, limits.material_chars
    ):
        return Reason.TOO_LONG
    if arrival.joins:
        return None
    if not arrival.asks_model:
        return Reason.QUEUE_FULL if counters.commands_lately >= COMMANDS_A_MINUTE else None
    if counters.turns_today >= limits.turns_a_day:
        return Reason.TURNS_SPENT
    if counters.tokens_today >= limits.tokens_a_day:
        return Reason.TOKENS_SPENT
    if counters.tokens_of_all_today >= rules.tokens_of_all:
        return Reason.CEILING
    return Reason.QUEUE_FULL if counters.queued >= limits.queued else None


def _refused(reason: Reason, arrival: Arrival, limits: Limits | None, counters: Counters) -> Refused:
    if _told_lately(counters):
        return Refused(reason)
    if reason is Reason.TOO_LONG and limits:
        return Refused(reason, _too_long(arrival, limits))
    return Refused(reason, _SENTENCES[reason])


def _longest(arrival: Arrival, limits: Limits) -> int | None:
    return limits.group_chars if arrival.space.is_group else limits.private_chars


def _is_longer(chars: int, longest: int | None) -> bool:
    return longest is not None and chars > longest


def _too_long(arrival: Arrival, limits: Limits) -> Words:
    longest = _longest(arrival, limits)
    if _is_longer(arrival.own_chars, longest):
        return Words(f"太长了，一条最多 {longest} 个字。", f"Too long: at most {longest} characters a message.")
    most = limits.material_chars
    return Words(
        f"带的转发或文件太长了，最多 {most} 个字。", f"What came along is too long: at most {most} characters."
    )


def _told_lately(counters: Counters) -> bool:
    return counters.last_refusal is not None and counters.last_refusal < REFUSAL_INTERVAL


_LATE = Words(
    "刚才没连上，你那会儿发的我现在才看到，就不接着办了；还要的话再发一次。",
    "I was not connected when you wrote, and only see it now, so I leave it; send it again if you still want it.",
)
_TOMORROW = Words("今天聊得够多了，明天再来吧。", "That is all for today; come back tomorrow.")
_SENTENCES = {
    Reason.STRANGER: Words("我只和主人认识的人聊天。", "I only talk with people my owner knows."),
    Reason.TRIAL_OVER: Words("试聊到此为止，想继续请找我的主人。", "The trial is over; please ask my owner to go on."),
    Reason.QUEUE_FULL: Words("还有几条没回完，等我一下。", "I am still answering earlier ones; one moment."),
    Reason.TURNS_SPENT: _TOMORROW,
    Reason.TOKENS_SPENT: _TOMORROW,
    Reason.CEILING: _TOMORROW,
}
