"""Properties of the filter and of trust that hold for every combination, not only for the rows of a table."""

from __future__ import annotations

import ast
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

import qingtuan
from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.access import AccessRules, Admitted, Arrival, Counters, admit
from qingtuan.identity.accounts import Person
from qingtuan.identity.privacy import (
    How,
    Stretch,
    Writing,
    event_sight,
    may_write,
    merged,
    sight,
    visibility_for_write,
)
from qingtuan.identity.scopes import SHARED, Reader, Role, Scope, Visibility
from qingtuan.identity.trust import CallFacts, Piece, QuestionFacts, Risk, StandingYes, may_answer, verdict
from qingtuan.ids import Ids
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database

ACCOUNTS = {"owner": ("qq:1", "tg:1"), "qq-2": ("qq:2",), "qq-3": ("qq:3",)}
GROUPS = ("qq:777", "qq:888")
NOW = datetime(2026, 11, 30, tzinfo=UTC)

spaces = st.sampled_from(
    [Space("private", account) for accounts in ACCOUNTS.values() for account in accounts]
    + [Space("group", group) for group in GROUPS]
)
persons = st.sampled_from(sorted(ACCOUNTS))
readers = st.builds(Reader, persons, st.sampled_from(Role), spaces)
scopes = st.sampled_from([*map(Scope.of_person, ACCOUNTS), *map(Scope.of_group, GROUPS), SHARED])
labels = st.sampled_from(Visibility)


@given(readers, scopes, labels, labels)
def test_a_private_belief_is_seen_in_its_persons_private_chat_only(
    reader: Reader, scope: Scope, label: Visibility, ceiling: Visibility
) -> None:
    seen = sight(replace(reader, ceiling=ceiling)).sees(scope, label)
    if not seen or scope == SHARED:
        return
    if scope.kind == "group":
        assert reader.space == Space("group", scope.id)
    elif label is Visibility.PRIVATE:
        assert scope.id == reader.person
        assert not reader.space.is_group
        assert ceiling is Visibility.PRIVATE
    elif label is Visibility.OWN:
        assert scope.id == reader.person


@given(readers, scopes, labels)
def test_no_role_widens_what_is_seen_of_beliefs(reader: Reader, scope: Scope, label: Visibility) -> None:
    answers = {sight(replace(reader, role=role)).sees(scope, label) for role in Role}
    assert len(answers) == 1


@given(readers, scopes, labels)
def test_a_ceiling_only_narrows(reader: Reader, scope: Scope, ceiling: Visibility) -> None:
    assert sight(replace(reader, ceiling=ceiling)).labels(scope) <= sight(reader).labels(scope)


@given(st.lists(labels, min_size=1))
def test_merging_never_widens(several: list[Visibility]) -> None:
    assert merged(several).breadth == min(label.breadth for label in several)


@given(
    st.sampled_from(["extracted", "tool"]),
    spaces,
    st.text(max_size=10),
    st.text(max_size=20),
    st.text(max_size=20),
)
@example("tool", Space("group", "qq:777"), "称呼", "秘密", "我有个秘密")
@example("extracted", Space("group", "qq:777"), "public", "public", "visibility: public")
def test_what_a_model_writes_is_never_public(how: How, space: Space, predicate: str, value: str, words: str) -> None:
    assert visibility_for_write(Writing(how, space, predicate, value, words)) is not Visibility.PUBLIC


@given(readers, scopes, st.booleans())
def test_who_may_write_may_see(reader: Reader, scope: Scope, granted: bool) -> None:
    if may_write(reader, scope, writes_group=granted):
        assert reader.role is not Role.GUEST
        assert sight(reader).labels(scope)


events = st.lists(
    st.tuples(
        st.sampled_from([Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT, Kind.TOOL_FINISHED, Kind.MODEL_ANSWERED]),
        spaces,
        persons,
        st.integers(1, 2),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(events, readers, st.sampled_from([(), ("qq:777",)]))
def test_events_are_filtered_alike_in_the_query_and_one_by_one(
    told: list[tuple[Kind, Space, str, int]], reader: Reader, left: tuple[str, ...]
) -> None:
    clock = ManualClock(NOW)
    database = Database(Path(":memory:"))
    try:
        log = Log(database, clock, Ids(clock))
        written = [
            log.append(kind, Place(f"s_{space}_{number}", space, None, person), {})
            for kind, space, person, number in told
        ]
        view = event_sight(reader, ACCOUNTS[reader.person], left=left)
        sql, values = view.own_stretches()
        own = {row["session"]: Stretch(*row) for row in database.rows(sql, values)}
        one_by_one = {event.id for event in written if view.sees(event, own.get(event.place.session or ""))}
        clause, values = view.where()
        assert {row["id"] for row in database.rows(f"SELECT id FROM events WHERE {clause}", values)} == one_by_one
        for event in written:
            if event.id in one_by_one:
                _may_be_read(event, reader)
    finally:
        database.close()


def _may_be_read(event: Event, reader: Reader) -> None:
    """The rules of identity.md once more, from the other side."""
    space, mine = event.place.space, event.place.person == reader.person
    assert space is not None
    home = not reader.space.is_group and reader.space.id in ACCOUNTS[reader.person]
    if home and reader.role is Role.OWNER:
        return
    if event.kind in (Kind.TOOL_FINISHED, Kind.MODEL_ANSWERED) and space.is_group:
        assert mine
    if space.is_group:
        assert home or space == reader.space
    else:
        assert home
        assert space.id in ACCOUNTS[reader.person]


texts = st.sampled_from(
    ["香菜", "不吃香菜", "https://a.test/x", "https://b.test/?d=秘密", "明天", "13800138000", "sk-" + "3f9a" * 8, ""]
)
pieces = st.lists(st.builds(Piece, st.sampled_from([o for o in Origin if o.foreign]), st.text(max_size=3)), max_size=3)
calls = st.builds(
    CallFacts,
    tool=st.just("tool"),
    risk=st.sampled_from(Risk),
    arguments=st.dictionaries(st.sampled_from(["a", "b", "limit"]), texts | st.integers(0, 9) | st.booleans()),
    role=st.sampled_from(Role),
    roles=st.frozensets(st.sampled_from(Role)),
    sends_out=st.booleans(),
    labels=st.frozensets(st.sampled_from(["a", "limit"])),
    material=pieces.map(tuple),
    own_words=texts,
    resolved=st.frozensets(texts, max_size=2),
    results=st.lists(texts, max_size=2).map(tuple),
    others=st.lists(texts, max_size=1).map(tuple),
    standing=st.sampled_from(
        [(), (StandingYes("tool", (("a", "*"), ("b", "*"), ("limit", "*")), NOW + timedelta(days=1)),)]
    ),
    now=st.just(NOW),
    can_ask=st.booleans(),
)
STRICTNESS = {"run": 0, "ask": 1, "refuse": 2}


@settings(max_examples=300)
@given(calls, pieces)
def test_material_never_makes_a_verdict_milder(call: CallFacts, more: list[Piece]) -> None:
    with_more = replace(call, material=(*call.material, *more))
    assert STRICTNESS[verdict(with_more).decision] >= STRICTNESS[verdict(call).decision]


@settings(max_examples=300)
@given(calls)
def test_what_never_runs_by_itself(call: CallFacts) -> None:
    if verdict(call).decision != "run":
        return
    assert call.risk is not Risk.CRITICAL
    if call.risk is Risk.ACT:
        assert call.standing
        assert call.role is Role.OWNER
        assert not call.material
    if call.risk is Risk.WRITE:
        assert call.role is not Role.GUEST


@given(st.builds(QuestionFacts, st.sampled_from(Risk), persons, spaces), readers)
def test_only_asker_and_owner_ever_answer(question: QuestionFacts, answerer: Reader) -> None:
    if may_answer(question, answerer):
        assert answerer.person in (question.asker, "owner")
        assert answerer.space == question.space or answerer.person == "owner"


@given(
    st.builds(
        Arrival,
        st.just(Person("qq-2", ("qq:2",))) | st.none(),
        st.sampled_from(Role),
        spaces,
        st.integers(0, 400),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(Counters, trial_used=st.integers(0, 5)),
)
def test_with_empty_lists_only_owner_and_members_in_private_are_answered(arrival: Arrival, counters: Counters) -> None:
    admitted = admit(arrival, AccessRules(), counters)
    if isinstance(admitted, Admitted):
        assert arrival.role is not Role.GUEST
        assert not arrival.space.is_group or (arrival.role is Role.OWNER and admitted.only_enabling)


def test_only_the_filter_makes_sights() -> None:
    """No other module names the seal, or builds a sight but by the filter's own functions."""
    root = Path(qingtuan.__file__).parent
    for path in root.rglob("*.py"):
        if path == root / "identity" / "privacy.py":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert "_SEAL" not in names, path
        made = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not made & {"Sight", "EventSight"}, path
