"""Every row of identity.md, What may be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import Bug
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place, event_from_row
from qingtuan.identity.privacy import (
    EventSight,
    How,
    Prints,
    Sight,
    Stretch,
    Writing,
    answer_in_private,
    enters_summary,
    event_sight,
    history_visible,
    label_of,
    may_review,
    may_write,
    merged,
    sight,
    visibility_for_write,
)
from qingtuan.identity.scopes import SHARED, Reader, Role, Scope, Visibility
from qingtuan.ids import Ids
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database

PRIVATE, OWN, PUBLIC = Visibility
OWNER_CHAT = Space("private", "qq:1")
LI_CHAT = Space("private", "qq:2")
GROUP = Space("group", "qq:777")
OTHER_GROUP = Space("group", "qq:888")
OWNER = Scope.of_person("owner")
LI = Scope.of_person("qq-2")


def owner(space: Space = OWNER_CHAT) -> Reader:
    return Reader("owner", Role.OWNER, space)


def li(space: Space = LI_CHAT) -> Reader:
    return Reader("qq-2", Role.MEMBER, space)


@pytest.mark.parametrize(
    ("reader", "scope", "seen"),
    [
        (li(), LI, {PRIVATE, OWN, PUBLIC}),
        (li(GROUP), LI, {OWN, PUBLIC}),
        (li(), OWNER, {PUBLIC}),
        (li(GROUP), OWNER, {PUBLIC}),
        (owner(), OWNER, {PRIVATE, OWN, PUBLIC}),
        (owner(GROUP), OWNER, {OWN, PUBLIC}),
        (owner(), LI, {PUBLIC}),
        (owner(GROUP), LI, {PUBLIC}),
        (li(GROUP), Scope.of_group("qq:777"), {PRIVATE, OWN, PUBLIC}),
        (li(OTHER_GROUP), Scope.of_group("qq:777"), set()),
        (li(), Scope.of_group("qq:777"), set()),
        (owner(), Scope.of_group("qq:777"), set()),
        (li(Space("private", "qq:777")), Scope.of_group("qq:777"), set()),
        (li(), SHARED, {PRIVATE, OWN, PUBLIC}),
        (li(GROUP), SHARED, {PRIVATE, OWN, PUBLIC}),
        (Reader("qq-9", Role.GUEST, GROUP), SHARED, {PRIVATE, OWN, PUBLIC}),
        (Reader("", Role.GUEST, LI_CHAT), Scope("user", ""), {PUBLIC}),
        (Reader("", Role.GUEST, Space("group", "")), Scope("group", ""), set()),
    ],
)
def test_what_a_reader_sees_of_a_scope(reader: Reader, scope: Scope, seen: set[Visibility]) -> None:
    view = sight(reader)
    assert view.labels(scope) == seen
    assert {label for label in Visibility if view.sees(scope, label)} == seen
    assert view.whole(scope) is (len(seen) == 3)


def test_searches_and_folders_name_only_what_may_be_seen() -> None:
    scopes = [OWNER, LI, Scope.of_group("qq:777"), Scope.of_group("qq:888"), SHARED]
    view = sight(li(GROUP))
    assert view.searches(scopes) == {
        OWNER: {PUBLIC},
        LI: {OWN, PUBLIC},
        Scope.of_group("qq:777"): set(Visibility),
        SHARED: set(Visibility),
    }
    assert set(view.folders(scopes)) == {"users/owner", "users/qq-2", "groups/qq-777", "shared"}
    assert view.page("groups/qq-888/profile.md") == set()
    assert view.page("users/qq-2/profile.md") == {OWN, PUBLIC}
    assert view.page("../state.sqlite") == set()


@pytest.mark.parametrize(
    ("ceiling", "own"), [(PRIVATE, {PRIVATE, OWN, PUBLIC}), (OWN, {OWN, PUBLIC}), (PUBLIC, {PUBLIC})]
)
def test_a_key_sees_no_more_than_its_scope(ceiling: Visibility, own: set[Visibility]) -> None:
    view = sight(replace(owner(Space("private", "http:laptop")), ceiling=ceiling))
    assert view.labels(OWNER) == own
    assert view.labels(LI) == {PUBLIC}


def test_sights_are_made_by_the_filter_alone() -> None:
    with pytest.raises(Bug):
        Sight(owner(), object())
    with pytest.raises(Bug):
        EventSight(li(), True, frozenset(), False, frozenset(), None)


@pytest.mark.parametrize(
    ("entry", "page", "label"),
    [
        ("public", "private", PUBLIC),
        ("private", "public", PRIVATE),
        (None, "public", PUBLIC),
        (None, None, PRIVATE),
        ("publik", "public", PRIVATE),
        (None, "all", PRIVATE),
        (["public"], "public", PRIVATE),
        ("", "public", PRIVATE),
        (True, "public", PRIVATE),
        (None, {"vis": "public"}, PRIVATE),
    ],
)
def test_a_missing_or_broken_label_is_the_strictest(entry: object, page: object, label: Visibility) -> None:
    assert label_of(entry, page) is label


def test_what_is_merged_takes_the_stricter_label() -> None:
    assert merged([PUBLIC, OWN, PUBLIC]) is OWN
    assert merged([PUBLIC, PRIVATE]) is PRIVATE
    assert merged([]) is PRIVATE


@pytest.mark.parametrize(
    ("kind", "open_to_all"),
    [
        (Kind.MESSAGE_RECEIVED, True),
        (Kind.MESSAGE_SENT, True),
        (Kind.TURN_STARTED, True),
        (Kind.TOOL_STARTED, False),
        (Kind.TOOL_FINISHED, False),
        (Kind.MODEL_ANSWERED, False),
        (Kind.MODEL_REQUESTED, False),
        (Kind.CONFIRMATION_ASKED, False),
        (Kind.BELIEF_WRITTEN, False),
    ],
)
def test_in_a_group_calls_and_results_are_for_whose_turn_made_them(kind: Kind, open_to_all: bool) -> None:
    assert history_visible(kind, "qq-2", owner(GROUP)) is open_to_all
    assert history_visible(kind, None, owner(GROUP)) is open_to_all
    assert history_visible(kind, "owner", owner(GROUP))
    assert history_visible(kind, "qq-2", li())


def test_a_summary_of_a_group_reads_what_everybody_read() -> None:
    assert {kind for kind in Kind if enters_summary(kind, GROUP)} == {Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT}
    assert enters_summary(Kind.TOOL_FINISHED, LI_CHAT)


@pytest.mark.parametrize(
    ("reader", "scope", "writes_group", "may"),
    [
        (li(), LI, False, True),
        (li(GROUP), LI, False, True),
        (li(), OWNER, False, False),
        (owner(), LI, False, False),
        (owner(), OWNER, False, True),
        (owner(), SHARED, False, True),
        (li(), SHARED, True, False),
        (owner(GROUP), Scope.of_group("qq:777"), False, True),
        (owner(OTHER_GROUP), Scope.of_group("qq:777"), False, False),
        (li(GROUP), Scope.of_group("qq:777"), False, False),
        (li(GROUP), Scope.of_group("qq:777"), True, True),
        (li(OTHER_GROUP), Scope.of_group("qq:777"), True, False),
        (Reader("qq-9", Role.GUEST, Space("private", "qq:9")), Scope.of_person("qq-9"), True, False),
        (Reader("qq-9", Role.GUEST, GROUP), Scope.of_group("qq:777"), True, False),
        (Reader("", Role.MEMBER, LI_CHAT), Scope("user", ""), False, False),
    ],
)
def test_who_writes_where(reader: Reader, scope: Scope, writes_group: bool, may: bool) -> None:
    assert may_write(reader, scope, writes_group=writes_group) is may


@pytest.mark.parametrize(
    ("role", "space", "scope", "speaker", "writes", "may"),
    [
        (Role.MEMBER, "private", "user:li", "li", False, True),
        (Role.MEMBER, "private", "user:former", "former", False, True),
        (Role.MEMBER, "private", "user:ming", "li", False, False),
        (Role.MEMBER, "group", "user:li", "li", False, False),
        (Role.GUEST, "private", "user:li", "li", False, False),
        (Role.OWNER, "private", "user:ming", "ming", False, False),
        (Role.OWNER, "private", "group:qq:777", "ming", False, True),
        (Role.OWNER, "group", "group:qq:777", "ming", False, False),
        (Role.MEMBER, "private", "group:qq:777", "li", True, True),
        (Role.MEMBER, "private", "group:qq:777", "li", False, False),
        (Role.MEMBER, "private", "group:qq:777", "ming", True, False),
        (Role.MEMBER, "private", "group:qq:777", None, True, False),
        (Role.OWNER, "private", "shared", None, False, True),
        (Role.MEMBER, "private", "shared", "li", True, False),
    ],
)
def test_what_waits_is_put_before_who_may_decide_about_it_in_private(
    role: Role, space: str, scope: str, speaker: str | None, writes: bool, may: bool
) -> None:
    here = Space("group", "qq:777") if space == "group" else Space("private", "qq:10002")
    reader = Reader("owner" if role is Role.OWNER else "li", role, here, frozenset({"former"}))
    assert may_review(reader, Scope.parse(scope), speaker=speaker, writes_group=writes) is may


@pytest.mark.parametrize(
    ("how", "space", "predicate", "value", "words", "label"),
    [
        ("extracted", LI_CHAT, "忌口", "香菜", "我不吃香菜", PRIVATE),
        ("tool", GROUP, "忌口", "香菜", "我不吃香菜", PRIVATE),
        ("explicit", LI_CHAT, "忌口", "香菜", "记住我不吃香菜", PRIVATE),
        ("explicit", GROUP, "忌口", "香菜", "记住我不吃香菜", OWN),
        ("manual", LI_CHAT, "忌口", "香菜", "", PRIVATE),
        ("preference", GROUP, "忌口", "香菜", "", OWN),
        ("preference", LI_CHAT, "忌口", "香菜", "", OWN),
        ("extracted", LI_CHAT, "回答语言", "中文", "以后用中文回答我", OWN),
        ("extracted", LI_CHAT, "回复长度", "简短", "回答简短一点", OWN),
        ("tool", LI_CHAT, "称呼", "阿青", "以后叫我阿青就好", OWN),
        ("tool", LI_CHAT, "language", "English", "please answer in English", OWN),
        # What the model calls it, or what it adds, widens nothing.
        ("tool", LI_CHAT, "称呼", "抑郁症", "我得了抑郁症", PRIVATE),
        ("tool", LI_CHAT, "语言", "中文，住院中", "用中文回答我", PRIVATE),
        ("tool", LI_CHAT, "病史", "中文", "用中文回答我", PRIVATE),
        # Contacts stay private however they came.
        ("preference", GROUP, "住处", "珞喻路 152 号", "", PRIVATE),
        ("explicit", GROUP, "联系", "13800138000", "记住我的号 13800138000", PRIVATE),
        ("explicit", GROUP, "联系", "１３８ ００１３ ８０００", "", PRIVATE),
        ("preference", GROUP, "家庭住址", "东门", "", PRIVATE),
        ("preference", GROUP, "mail", "a@b.cn", "", PRIVATE),
    ],
)
def test_the_label_of_a_new_entry(
    how: How, space: Space, predicate: str, value: str, words: str, label: Visibility
) -> None:
    assert visibility_for_write(Writing(how, space, predicate, value, words)) is label


def test_the_person_chooses_a_label_but_not_for_contacts() -> None:
    assert visibility_for_write(Writing("manual", LI_CHAT, "座位", "靠窗", asked=PUBLIC)) is PUBLIC
    assert visibility_for_write(Writing("explicit", GROUP, "座位", "靠窗", asked=PRIVATE)) is PRIVATE
    assert visibility_for_write(Writing("manual", LI_CHAT, "电话", "027-87654321", asked=PUBLIC)) is PRIVATE


@pytest.mark.parametrize(
    ("prints", "in_private"),
    [(Prints.NOTHING, False), (Prints.PERSON, True), (Prints.GROUP, False), (Prints.INTERNALS, True)],
)
def test_where_a_command_answers(prints: Prints, in_private: bool) -> None:
    assert answer_in_private(prints, li(GROUP)) is in_private
    assert not answer_in_private(prints, li(LI_CHAT))
    narrow = replace(owner(Space("private", "http:laptop")), ceiling=OWN)
    assert answer_in_private(prints, narrow) is in_private


class Story:
    """A log with talk in several spaces, written by hand."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.names: dict[str, Event] = {}

    def add(self, name: str, kind: Kind, session: str | None, space: Space | None, person: str | None) -> None:
        self.names[name] = self.log.append(kind, Place(session, space, None, person), {}, origin=Origin.PERSON)

    def seen(self, view: EventSight) -> set[str]:
        """Names of the events that `view` sees, by SQL and one by one; both must agree."""
        sql, values = view.own_stretches()
        own = {row["session"]: Stretch(row["session"], row["first"], row["last"]) for row in self.rows(sql, values)}
        by_one = {name for name, event in self.names.items() if view.sees(event, own.get(event.place.session or ""))}
        clause, values = view.where("e")
        rows = self.log.database.rows(f"SELECT e.* FROM events AS e WHERE {clause}", values)
        ids = {event_from_row(row).id for row in rows}
        assert {name for name, event in self.names.items() if event.id in ids} == by_one
        return by_one

    def rows(self, sql: str, values: list[Any]) -> list[dict[str, Any]]:
        return [dict(row) for row in self.log.database.rows(sql, values)]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    clock = ManualClock(datetime(2026, 11, 30, tzinfo=UTC))
    database = Database(tmp_path / "state.sqlite")
    story = Story(Log(database, clock, Ids(clock)))
    received, sent, tool = Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT, Kind.TOOL_FINISHED
    story.add("owner says", received, "s_o", OWNER_CHAT, "owner")
    story.add("owner tool", tool, "s_o", OWNER_CHAT, "owner")
    story.add("li says", received, "s_l", LI_CHAT, "qq-2")
    story.add("li tool", tool, "s_l", LI_CHAT, "qq-2")
    story.add("group before", received, "s_g", GROUP, "owner")
    story.add("group li first", received, "s_g", GROUP, "qq-2")
    story.add("group li tool", tool, "s_g", GROUP, "qq-2")
    story.add("group owner", received, "s_g", GROUP, "owner")
    story.add("group owner tool", tool, "s_g", GROUP, "owner")
    story.add("group owner reply", sent, "s_g", GROUP, "owner")
    story.add("group owner to private", sent, "s_g", OWNER_CHAT, "owner")
    story.add("group li last", received, "s_g", GROUP, "qq-2")
    story.add("group after", received, "s_g", GROUP, "qq-3")
    story.add("group next session", received, "s_g2", GROUP, "qq-3")
    story.add("other group", received, "s_h", OTHER_GROUP, "qq-3")
    story.add("nowhere", Kind.PAGE_EDITED, None, None, None)
    yield story
    database.close()


GROUP_SAID = {
    "group before",
    "group li first",
    "group owner",
    "group owner reply",
    "group li last",
    "group after",
    "group next session",
}


def test_the_owner_reads_everything_in_the_owners_private_chat(story: Story) -> None:
    assert story.seen(event_sight(owner(), ["qq:1", "cli:local"])) == set(story.names)


def test_in_a_group_only_that_group_is_read_by_the_owner_too(story: Story) -> None:
    assert story.seen(event_sight(owner(GROUP), ["qq:1"])) == GROUP_SAID | {"group owner tool"}
    assert story.seen(event_sight(li(GROUP), ["qq:2"])) == GROUP_SAID | {"group li tool"}
    assert story.seen(event_sight(li(OTHER_GROUP), ["qq:2"])) == {"other group"}


def test_a_person_reads_their_chat_and_groups_from_their_first_to_their_last_message(story: Story) -> None:
    assert story.seen(event_sight(li(), ["qq:2"])) == {
        "li says",
        "li tool",
        "group li first",
        "group li tool",
        "group owner",
        "group owner reply",
        "group li last",
    }


def test_no_longer_once_they_left(story: Story) -> None:
    assert story.seen(event_sight(li(), ["qq:2"], left=["qq:777"])) == {"li says", "li tool"}


def test_linked_accounts_share_their_private_chats(story: Story) -> None:
    reader = li(Space("private", "tg:2"))
    assert {"li says", "li tool", "group owner"} <= story.seen(event_sight(reader, ["qq:2", "tg:2"]))


def test_a_chat_is_not_read_from_when_it_was_somebody_elses(story: Story) -> None:
    """The account was linked and parted again, or sold: what is in the log under another id is another person's."""
    story.add("other begins", Kind.SESSION_STARTED, "s_x", LI_CHAT, "owner")
    story.add("other says", Kind.MESSAGE_RECEIVED, "s_x", LI_CHAT, "owner")
    story.add("other is answered", Kind.MESSAGE_SENT, "s_x", LI_CHAT, "owner")
    view = event_sight(li(), ["qq:2"])
    assert not {name for name in story.seen(view) if name.startswith("other")}
    assert [row["session"] for row in story.rows(*view.strange_sessions())] == ["s_x"]
    whole = Stretch("s_x", 1, story.names["other is answered"].seq)
    clause, values = view.where_stretch("r.space", "r.session", "r.first", "r.last")
    row = f"SELECT '{LI_CHAT}' AS space, 's_x' AS session, 1 AS first, {whole.last} AS last"
    assert not story.rows(f"SELECT r.* FROM ({row}) AS r WHERE {clause}", values)
    assert not view.sees_stretch(LI_CHAT, whole, begun_by="owner")
    assert view.sees_stretch(LI_CHAT, whole, begun_by="qq-2")


def test_a_narrow_key_reads_its_own_space(story: Story) -> None:
    reader = owner(Space("private", "http:laptop"))
    accounts = ["qq:1", "http:laptop"]
    assert story.seen(event_sight(replace(reader, ceiling=PUBLIC), accounts)) == set()
    assert story.seen(event_sight(reader, accounts)) == set(story.names)


def test_somebody_elses_private_chat_shows_nothing(story: Story) -> None:
    assert story.seen(event_sight(li(OWNER_CHAT), ["qq:2"])) == set()
    assert story.seen(event_sight(owner(LI_CHAT), ["qq:1"])) == set()


def test_a_summary_is_seen_where_all_it_covers_is(story: Story) -> None:
    database, names = story.log.database, story.names
    database.execute("CREATE TEMP TABLE ranges (space TEXT, session TEXT, first INTEGER, last INTEGER)")
    inside = (str(GROUP), "s_g", names["group li first"].seq, names["group owner reply"].seq)
    beyond = (str(GROUP), "s_g", names["group before"].seq, names["group owner reply"].seq)
    chat = (str(LI_CHAT), "s_l", names["li says"].seq, names["li tool"].seq)
    for row in (inside, beyond, chat):
        database.execute("INSERT INTO ranges VALUES (?, ?, ?, ?)", row)
    own = {"s_g": Stretch("s_g", names["group li first"].seq, names["group li last"].seq)}
    for view, expected in (
        (event_sight(li(), ["qq:2"]), {inside, chat}),
        (event_sight(li(), ["qq:2"], left=["qq:777"]), {chat}),
        (event_sight(li(GROUP), ["qq:2"]), {inside, beyond}),
        (event_sight(owner(), ["qq:1"]), {inside, beyond, chat}),
    ):
        clause, values = view.where_stretch("r.space", "r.session", "r.first", "r.last")
        rows = database.rows(f"SELECT r.* FROM ranges AS r WHERE {clause}", values)
        assert {tuple(row) for row in rows} == expected
        one_by_one = {
            (space, session, first, last)
            for space, session, first, last in (inside, beyond, chat)
            if view.sees_stretch(Space.parse(space), Stretch(session, first, last), own.get(session))
        }
        assert one_by_one == expected
