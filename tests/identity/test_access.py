"""Who is answered, and who is told why not."""

from __future__ import annotations

from typing import Any

import pytest

from qingtuan.identity.access import (
    COMMANDS_A_MINUTE,
    GUEST_LIMITS,
    MEMBER_LIMITS,
    REFUSAL_INTERVAL,
    AccessRules,
    Admitted,
    Arrival,
    Counters,
    Reason,
    Refused,
    admit,
)
from qingtuan.identity.accounts import Person
from qingtuan.identity.scopes import Role
from qingtuan.messages import Space

CHAT = Space("private", "qq:2")
GROUP = Space("group", "qq:777")
OPEN = AccessRules(groups=frozenset({"qq:777"}))
LI = Person("qq-2", ("qq:2",))


def arrival(role: Role, space: Space = CHAT, own_chars: int = 5, **facts: Any) -> Arrival:
    return Arrival(LI, role, space, own_chars, **facts)


def reason(result: Admitted | Refused) -> Reason | None:
    return result.reason if isinstance(result, Refused) else None


@pytest.mark.parametrize(
    ("facts", "rules", "expected"),
    [
        (arrival(Role.OWNER), AccessRules(), None),
        (arrival(Role.MEMBER), AccessRules(), None),
        (arrival(Role.GUEST), AccessRules(), Reason.STRANGER),
        (arrival(Role.GUEST), AccessRules(trial=3), None),
        (arrival(Role.GUEST, GROUP), OPEN, None),
        (arrival(Role.MEMBER, GROUP), OPEN, None),
        (arrival(Role.OWNER, GROUP), OPEN, None),
        (arrival(Role.GUEST, GROUP), AccessRules(), Reason.GROUP_CLOSED),
        (arrival(Role.MEMBER, GROUP), AccessRules(), Reason.GROUP_CLOSED),
        (arrival(Role.OWNER, GROUP, addressed=False), AccessRules(), Reason.GROUP_CLOSED),
        (arrival(Role.OWNER, GROUP, addressed=False), OPEN, Reason.NOT_ADDRESSED),
        (arrival(Role.GUEST, GROUP, addressed=False), OPEN, Reason.NOT_ADDRESSED),
        (
            arrival(Role.MEMBER, GROUP),
            AccessRules(groups=OPEN.groups, disabled=frozenset({"qq:777"})),
            Reason.GROUP_CLOSED,
        ),
        (Arrival(None, Role.GUEST, GROUP, 5), OPEN, Reason.SHARED_ID),
        (arrival(Role.OWNER, temporary=True), AccessRules(trial=3), Reason.TEMPORARY),
        (arrival(Role.GUEST, own_chars=150), AccessRules(trial=3), None),
        (arrival(Role.GUEST, own_chars=151), AccessRules(trial=3), Reason.TOO_LONG),
        (arrival(Role.GUEST, GROUP, own_chars=300), OPEN, None),
        (arrival(Role.GUEST, GROUP, own_chars=301), OPEN, Reason.TOO_LONG),
        (arrival(Role.MEMBER, own_chars=301), AccessRules(), None),
        (arrival(Role.OWNER, own_chars=1_000_000), AccessRules(), None),
        # What comes along is no part of one's own words, and has a limit of its own.
        (arrival(Role.GUEST, GROUP, own_chars=300, material_chars=3000), OPEN, None),
        (arrival(Role.GUEST, GROUP, material_chars=3001), OPEN, Reason.TOO_LONG),
        (arrival(Role.MEMBER, material_chars=20_001), AccessRules(), Reason.TOO_LONG),
        (arrival(Role.OWNER, material_chars=10**9), AccessRules(), None),
        (arrival(Role.MEMBER), AccessRules(limits={}), Reason.STRANGER),
    ],
)
def test_who_is_admitted(facts: Arrival, rules: AccessRules, expected: Reason | None) -> None:
    assert reason(admit(facts, rules, Counters())) is expected


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        (Counters(queued=2), None),
        (Counters(queued=3), Reason.QUEUE_FULL),
        (Counters(turns_today=MEMBER_LIMITS.turns_a_day), Reason.TURNS_SPENT),
        (Counters(tokens_today=MEMBER_LIMITS.tokens_a_day), Reason.TOKENS_SPENT),
        (Counters(tokens_of_all_today=AccessRules().tokens_of_all), Reason.CEILING),
    ],
)
def test_limits_bind_all_but_the_owner(counters: Counters, expected: Reason | None) -> None:
    assert reason(admit(arrival(Role.MEMBER), AccessRules(), counters)) is expected
    assert admit(arrival(Role.OWNER), AccessRules(), counters) == Admitted()


def test_a_trial_ends_after_its_messages() -> None:
    rules = AccessRules(trial=3)
    answers = [reason(admit(arrival(Role.GUEST), rules, Counters(trial_used=used))) for used in range(5)]
    assert answers == [None, None, None, Reason.TRIAL_OVER, Reason.TRIAL_OVER]


@pytest.mark.parametrize(
    ("space", "ago", "wait"),
    [(CHAT, None, 0.0), (CHAT, 4.0, 6.0), (CHAT, 10.0, 0.0), (GROUP, 4.0, 1.0), (GROUP, 60.0, 0.0)],
)
def test_what_comes_too_soon_waits_and_is_not_dropped(space: Space, ago: float | None, wait: float) -> None:
    assert admit(arrival(Role.MEMBER, space), OPEN, Counters(last_turn=ago)) == Admitted(wait=wait)
    assert admit(arrival(Role.OWNER, space), OPEN, Counters(last_turn=ago)) == Admitted()


def test_the_owner_can_enable_a_group_by_speaking_there() -> None:
    assert admit(arrival(Role.OWNER, GROUP), AccessRules(), Counters()) == Admitted(only_enabling=True)


def test_a_refusal_is_said_once_a_minute() -> None:
    first = admit(arrival(Role.GUEST), AccessRules(), Counters())
    again = admit(arrival(Role.GUEST), AccessRules(), Counters(last_refusal=REFUSAL_INTERVAL - 1))
    later = admit(arrival(Role.GUEST), AccessRules(), Counters(last_refusal=REFUSAL_INTERVAL))
    assert isinstance(first, Refused)
    assert first.words is not None
    assert again == Refused(Reason.STRANGER, None)
    assert later == first


@pytest.mark.parametrize(
    "facts",
    [
        Arrival(None, Role.GUEST, CHAT, 5),
        arrival(Role.GUEST, GROUP),
        arrival(Role.MEMBER, temporary=True),
    ],
)
def test_silence_where_an_answer_would_say_too_much(facts: Arrival) -> None:
    assert admit(facts, AccessRules(), Counters()) == Refused(reason(admit(facts, AccessRules(), Counters())), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("role", [Role.OWNER, Role.MEMBER])
def test_what_was_said_long_ago_is_not_answered_and_that_is_said_in_private(role: Role) -> None:
    told, again = (
        admit(arrival(role, late=True), OPEN, counters) for counters in (Counters(), Counters(last_refusal=9))
    )
    assert isinstance(told, Refused)
    assert told.words is not None
    assert (reason(told), again) == (Reason.LATE, Refused(Reason.LATE))
    assert admit(arrival(role, GROUP, late=True), OPEN, Counters()) == Refused(Reason.LATE)
    assert reason(admit(arrival(Role.GUEST, late=True), AccessRules(), Counters())) is Reason.STRANGER


def test_the_sentence_names_the_limit() -> None:
    along = admit(arrival(Role.GUEST, GROUP, material_chars=3001), OPEN, Counters())
    assert isinstance(along, Refused)
    assert along.words is not None
    assert "3000" in along.words.zh
    refused = admit(arrival(Role.GUEST, own_chars=151), AccessRules(trial=1), Counters())
    assert isinstance(refused, Refused)
    assert refused.words is not None
    assert str(GUEST_LIMITS.private_chars) in refused.words.zh


def test_what_asks_no_model_gets_through_every_limit_and_no_wall() -> None:
    spent = Counters(last_turn=1, queued=9, turns_today=10**6, tokens_today=10**9, tokens_of_all_today=10**9)
    assert admit(arrival(Role.MEMBER, asks_model=False), OPEN, spent) == Admitted()
    assert reason(admit(arrival(Role.MEMBER), OPEN, spent)) is Reason.TURNS_SPENT
    assert reason(admit(arrival(Role.MEMBER, own_chars=10**6, asks_model=False), OPEN, spent)) is Reason.TOO_LONG
    assert reason(admit(arrival(Role.GUEST, asks_model=False), OPEN, spent)) is Reason.STRANGER
    assert reason(admit(arrival(Role.GUEST, GROUP, asks_model=False), AccessRules(), spent)) is Reason.GROUP_CLOSED


def test_commands_have_a_pace_of_their_own() -> None:
    counters = Counters(commands_lately=COMMANDS_A_MINUTE)
    assert reason(admit(arrival(Role.MEMBER, asks_model=False), OPEN, counters)) is Reason.QUEUE_FULL
    assert admit(arrival(Role.OWNER, asks_model=False), OPEN, counters) == Admitted()
    assert admit(arrival(Role.MEMBER), OPEN, counters) == Admitted()


def test_a_turn_that_is_still_held_back_makes_the_next_one_wait_longer() -> None:
    admitted = admit(arrival(Role.MEMBER), OPEN, Counters(last_turn=-4))
    assert admitted == Admitted(wait=MEMBER_LIMITS.private_cooldown + 4)
