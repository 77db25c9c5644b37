"""THE filter: what a reader may see, and who may write where (identity.md, What may be seen).

Every function that returns memory takes a `Sight` (beliefs, pages) or an `EventSight` (episodes, summaries,
events) and asks it before it ranks or limits anything; so numbers, too, are counted after the filter. Both are
made here and nowhere else, from who reads and where. Whatever is missing, broken or unknown counts as the
strictest case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, final

from qingtuan.errors import Bug
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.phrases import holds_contact, wishes_manner
from qingtuan.identity.scopes import Reader, Role, Scope, Visibility, stricter
from qingtuan.language import Words
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import marks

_SEAL = object()
"""Only this module makes sights: a sight that anybody could build would be a second way to memory."""

_ALL = frozenset(Visibility)
_PUBLIC = frozenset({Visibility.PUBLIC})
_NONE: frozenset[Visibility] = frozenset()
_AS_BROAD_AS = {
    floor.breadth: frozenset(label for label in Visibility if label.breadth >= floor.breadth) for floor in Visibility
}


@final
@dataclass(frozen=True, slots=True)
class Sight:
    """What one reader may see of the wiki. Made by `sight`."""

    reader: Reader
    _seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self._seal)

    def labels(self, scope: Scope) -> frozenset[Visibility]:
        """The labels of `scope` whose entries this reader may see here; empty for none."""
        match scope.kind:
            case "shared":
                return _ALL
            case "group":
                here = self.reader.space
                return _ALL if here.is_group and here.id == scope.id and scope.id else _NONE
            case "user" if scope.id == self.reader.person and scope.id:
                narrowest = Visibility.OWN if self.reader.space.is_group else Visibility.PRIVATE
                return _AS_BROAD_AS[max(narrowest.breadth, self.reader.ceiling.breadth)]
            case "user":
                return _PUBLIC
        return _NONE

    def sees(self, scope: Scope, visibility: Visibility) -> bool:
        """Whether an entry of `scope` with this label may stand before the reader."""
        return visibility in self.labels(scope)

    def counts(self, scope: Scope) -> bool:
        """Whether the reader may be told how many entries of `scope` there are: of what they see, and, for the owner
        at home, of every group, where what they say is read in that group only."""
        return bool(self.labels(scope)) or (self.reader.is_owner_alone and scope.kind == "group")

    def whole(self, scope: Scope) -> bool:
        """Whether pages of `scope` may be shown as they stand. Of others, only the visible entries may."""
        return self.labels(scope) == _ALL

    def searches(self, scopes: Iterable[Scope]) -> Mapping[Scope, frozenset[Visibility]]:
        """Of the scopes that exist, those to search, each with the labels that may come back."""
        return {scope: labels for scope in scopes if (labels := self.labels(scope))}

    def folders(self, scopes: Iterable[Scope]) -> Mapping[str, frozenset[Visibility]]:
        """The folders below the wiki that may be read, each with the labels that may be shown of it."""
        return {scope.folder: labels for scope, labels in self.searches(scopes).items()}

    def page(self, path: str) -> frozenset[Visibility]:
        """The labels that may be shown of the page at `path` below the wiki; empty: for this reader there is none."""
        scope = Scope.of_path(path)
        return self.labels(scope) if scope else _NONE


def sight(reader: Reader) -> Sight:
    """What `reader` may see of the wiki.

    The scope of a key narrows it (contracts.md, `key add --scope`): with `own` to what a group would see in a turn of
    its person; with `public` even the person's own entries are seen only if they are public.
    """
    return Sight(reader, _SEAL)


def label_of(entry: object, page: object = None) -> Visibility:
    """The label that counts for an entry: its own if it has one, else the page's default.

    Takes what stands in the file, whatever it is. A missing default or a label that is no label: `private`.
    """
    found = page if entry is None else entry
    try:
        return Visibility(found) if isinstance(found, str) else Visibility.PRIVATE
    except ValueError:
        return Visibility.PRIVATE


def merged(labels: Iterable[Visibility]) -> Visibility:
    """The label of what was made from entries with these labels: the strictest; of nothing, `private`."""
    result: Visibility | None = None
    for label in labels:
        result = label if result is None else stricter(result, label)
    return result or Visibility.PRIVATE


_SAID_TO_ALL = frozenset({Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT})
"""What everybody in a group has read with their own eyes."""

_OPEN_IN_GROUPS = _SAID_TO_ALL | {
    Kind.TALK_QUOTED,
    Kind.TALK_OVERHEARD,
    Kind.TURN_STARTED,
    Kind.TURN_JOINED,
    Kind.TURN_FINISHED,
    Kind.MESSAGE_RECALLED,
    Kind.SESSION_STARTED,
    Kind.SESSION_CHOSEN,
    Kind.SESSION_CLEARED,
    Kind.SESSION_REPAIRED,
    Kind.SUMMARY_WRITTEN,
    Kind.SUMMARY_DELETED,
    Kind.MEDIA_FETCHED,
    Kind.MEDIA_FAILED,
    Kind.MEDIA_READ,
}
"""And copies of that, and the frame around it. All other kinds of a turn (what the model answered, calls, results,
questions) may hold memory of the person whose turn it was: in a group they are that person's alone."""


def history_visible(kind: Kind, person: str | None, reader: Reader) -> bool:
    """Whether an event of the reader's own space may enter a request of theirs. `person` is whose event it is: in a
    private chat, too, that may be somebody else, to whom the account belonged then."""
    if reader.space.is_group:
        return kind in _OPEN_IN_GROUPS or reader.is_(person)
    return person is None or reader.is_(person)


def enters_summary(kind: Kind, space: Space) -> bool:
    """Whether events of this kind are read when a session of `space` is compressed: in a group, only what all read."""
    return not space.is_group or kind in _SAID_TO_ALL


def file_goes_along(origin: Origin, space: Space) -> bool:
    """Whether a file that a tool brought is sent with the reply to `space`. A reply's words were chosen by the model; a
    file nobody has looked at: in a group it would stand before everybody as ours, so it takes a source that the owner
    vouches for."""
    return not (space.is_group and origin.foreign)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a session, both ends included, as positions (`seq`) in the log."""

    session: str
    first: int
    last: int

    def holds(self, other: Stretch) -> bool:
        """Whether `other` lies wholly within."""
        return self.session == other.session and self.first <= other.first <= other.last <= self.last


@final
@dataclass(frozen=True, slots=True)
class EventSight:
    """What one reader may see of the log. Made by `event_sight`."""

    reader: Reader
    _everything: bool
    _spaces: frozenset[str]
    """Spaces that are read from end to end: the one where the reader is, and their own private chats. Of these, what
    was said there while the account was somebody else's is not read."""
    _reaches_out: bool
    """Whether the reader's own stretches of group sessions are read besides."""
    _left: frozenset[str]
    _seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self._seal)

    @property
    def everything(self) -> bool:
        """Whether all of the log may be shown: to the owner, in the owner's private chat."""
        return self._everything

    def sees(self, event: Event, own: Stretch | None = None) -> bool:
        """Whether one event may be shown. `own` reaches from the reader's first to their last own message in
        the event's session, if there is any (see `own_stretches`)."""
        if self._everything:
            return True
        space = event.place.space
        if space is None:
            return False
        mine = self.reader.is_(event.place.person)
        if str(space) in self._spaces:
            return mine or (space.is_group and event.kind in _OPEN_IN_GROUPS)
        if event.place.session is None or not (mine or event.kind in _SAID_TO_ALL):
            return False
        return self._reaches(space, Stretch(event.place.session, event.seq, event.seq), own)

    def sees_stretch(
        self, space: Space, stretch: Stretch, own: Stretch | None = None, *, begun_by: str | None = None
    ) -> bool:
        """Whether a summary or an episode that was made from `stretch` may be shown; it must lie wholly in sight.
        `begun_by` is who began the session: that of a private chat is theirs alone."""
        if self._everything:
            return True
        if str(space) in self._spaces:
            return space.is_group or begun_by is None or self.reader.is_(begun_by)
        return self._reaches(space, stretch, own)

    def _reaches(self, space: Space, stretch: Stretch, own: Stretch | None) -> bool:
        if not self._reaches_out or not space.is_group or space.id in self._left:
            return False
        return own is not None and own.holds(stretch)

    def where(self, alias: str = "events") -> tuple[str, list[Any]]:
        """The same as `sees`, as an SQL condition on `events` under `alias`, with its parameters."""
        if self._everything:
            return "1", []
        me = sorted(self.reader.ids)
        mine = f"{alias}.person IN ({marks(me)})"
        spaces, open_kinds = sorted(self._spaces), sorted(_OPEN_IN_GROUPS)
        clause = (
            f"({alias}.space IN ({marks(spaces)}) AND ({mine}"
            f" OR {alias}.space GLOB 'group:*' AND {alias}.kind IN ({marks(open_kinds)})))"
        )
        values: list[Any] = [*spaces, *me, *open_kinds]
        if not self._reaches_out:
            return clause, values
        said, left = sorted(_SAID_TO_ALL), sorted(f"group:{group}" for group in self._left)
        within = (
            f"({alias}.space GLOB 'group:*' AND {alias}.space NOT IN ({marks(left)})"
            f" AND ({mine} OR {alias}.kind IN ({marks(said)}))"
            f" AND {self._in_stretch(f'{alias}.session', f'{alias}.seq', f'{alias}.seq')})"
        )
        return f"({clause} OR {within})", [*values, *left, *me, *said, *self._stretch_values()]

    def where_stretch(self, space: str, session: str, first: str, last: str) -> tuple[str, list[Any]]:
        """The same as `sees_stretch`, as an SQL condition on a row whose space, session and first and last
        position are the given SQL expressions (column names, not values)."""
        if self._everything:
            return "1", []
        strange, others = self.strange_sessions()
        private = f"{session} NOT IN (SELECT session FROM ({strange}))"  # noqa: S608 (placeholders)
        clause = f"({space} IN ({marks(self._spaces)}) AND {private})"
        spaces = [*sorted(self._spaces), *others]
        if not self._reaches_out:
            return clause, spaces
        left = sorted(f"group:{group}" for group in self._left)
        within = (
            f"({space} GLOB 'group:*' AND {space} NOT IN ({marks(left)}) AND {self._in_stretch(session, first, last)})"
        )
        return f"({clause} OR {within})", [*spaces, *left, *self._stretch_values()]

    def strange_sessions(self) -> tuple[str, list[Any]]:
        """SQL and parameters for the sessions (`session`, `space`) of the reader's private chats that somebody else
        began, to whom the account belonged then."""
        private = sorted(space for space in self._spaces if not Space.parse(space).is_group)
        # The plus keeps SQLite from the index by person, which would lead through all that they ever did.
        sql = (
            "SELECT session, space FROM events WHERE kind = ?"  # noqa: S608 (placeholders)
            f" AND space IN ({marks(private)}) AND +person NOT IN ({marks(self.reader.ids)})"
        )
        return sql, [str(Kind.SESSION_STARTED), *private, *sorted(self.reader.ids)]

    def own_stretches(self) -> tuple[str, list[Any]]:
        """SQL and parameters for the stretches (`session`, `first`, `last`) from the first to the last own
        message in each session that the reader spoke in."""
        return f"{self._own_messages} GROUP BY session", self._stretch_values()

    def _in_stretch(self, session: str, first: str, last: str) -> str:
        return (
            f"EXISTS (SELECT 1 FROM ({self._own_messages} GROUP BY session) AS own"  # noqa: S608 (placeholders)
            f" WHERE own.session = {session} AND own.first <= {first} AND {first} <= {last} AND {last} <= own.last)"
        )

    def _stretch_values(self) -> list[Any]:
        return [*sorted(self.reader.ids), str(Kind.MESSAGE_RECEIVED)]

    @property
    def _own_messages(self) -> str:
        return (
            "SELECT session, MIN(seq) AS first, MAX(seq) AS last FROM events"  # noqa: S608 (placeholders)
            f" WHERE person IN ({marks(self.reader.ids)}) AND kind = ? AND session IS NOT NULL"
        )


def event_sight(
    reader: Reader,
    accounts: Collection[str],
    *,
    left: Collection[str] = (),
) -> EventSight:
    """What `reader` may see of the log.

    `accounts` are those of the reader's person: their private chats are the private spaces of these. `left` are
    groups (ids, `qq:777`) that the person is known to have left. A key whose scope is wider than `private`
    sees only its own space; a reader in somebody else's private chat sees nothing.
    """
    here = str(reader.space)
    private = frozenset(str(Space("private", account)) for account in accounts)
    at_home = here in private and reader.ceiling is Visibility.PRIVATE
    place = frozenset({here}) if reader.space.is_group or here in private else frozenset()
    return EventSight(
        reader,
        _everything=at_home and reader.role is Role.OWNER,
        _spaces=private if at_home else place,
        _reaches_out=at_home,
        _left=frozenset(left),
        _seal=_SEAL,
    )


def _check(seal: object) -> None:
    if seal is not _SEAL:
        raise Bug(Words("越过了隐私过滤。", "The privacy filter was bypassed."), detail="a sight made by hand")


def may_write(reader: Reader, scope: Scope, *, writes_group: bool = False) -> bool:
    """Whether `reader` may write to `scope` from where they are.

    `writes_group` says that the owner allowed this member to write the memory of the group they are in. A
    group's memory is written in that group only, where what stands in it can be seen.
    """
    if reader.role is Role.GUEST:
        return False
    match scope.kind:
        case "user":
            return bool(scope.id) and scope.id == reader.person
        case "group":
            here = reader.space
            inside = here.is_group and bool(scope.id) and here.id == scope.id
            return inside and (reader.role is Role.OWNER or writes_group)
        case "shared":
            return reader.role is Role.OWNER
    return False


def may_review(reader: Reader, scope: Scope, *, speaker: str | None, writes_group: bool = False) -> bool:
    """Whether what waits to be written to `scope` is put before `reader`, who then decides about it: in private, the
    person for their own, the owner for a group and for all, and whoever may write a group for what they said there.

    `speaker` is who said it. `writes_group` says that the owner allowed this member to write that group's memory.
    """
    if not reader.is_alone or reader.role is Role.GUEST:
        return False
    match scope.kind:
        case "user":
            return bool(scope.id) and reader.is_(scope.id)
        case "group":
            said_it = writes_group and reader.is_(speaker)
            return reader.role is Role.OWNER or said_it
        case "shared":
            return reader.role is Role.OWNER
    return False


def taken_along(reader: Reader, scope: Scope) -> bool:
    """Whether `reader` may take the pages of `scope` along, whole, as files (`qingtuan export`).

    Everybody may take their own, where nobody reads along. The owner, whose files they are, also what is for all and
    what groups remember; other people's pages stay theirs.
    """
    if not reader.is_alone:
        return False
    if scope.kind == "user":
        return bool(scope.id) and scope.id == reader.person
    return reader.role is Role.OWNER


How = Literal["extracted", "tool", "explicit", "manual", "preference"]
"""How an entry came about: found by the extractor; written by a tool on the model's account; said in explicit
words ("记住…"); by `/memory add`; by `/添加偏好记忆`."""


@dataclass(frozen=True, slots=True)
class Writing:
    """An entry about to be written, as far as its label depends on it."""

    how: How
    space: Space
    """Where it was said."""
    predicate: str
    value: str
    words: str = ""
    """The person's own sentence that it comes from."""
    asked: Visibility | None = None
    """The label that the person themselves chose by a command (`/memory share`)."""


def visibility_for_write(writing: Writing) -> Visibility:
    """The label of a new or relabelled entry. Nothing that a model says widens it: only the person's own
    command, and a closed list that code finds in the person's own words."""
    if holds_contact(writing.value) or holds_contact(writing.predicate):
        return Visibility.PRIVATE
    if writing.asked is not None:
        return writing.asked
    explicit_in_group = writing.how == "explicit" and writing.space.is_group
    chosen = writing.how == "preference" or explicit_in_group
    manner = wishes_manner(writing.words, writing.predicate, writing.value)
    return Visibility.OWN if chosen or manner else Visibility.PRIVATE


class Prints(StrEnum):
    """What the answer of a command holds."""

    NOTHING = "nothing"
    """Nothing about anybody."""
    PERSON = "person"
    """Memory of the person who asks."""
    GROUP = "group"
    """Memory of the group."""
    INTERNALS = "internals"
    """How the assistant is set up and works: persona cards, logs, settings, models, tools."""

    @property
    def private(self) -> bool:
        """Whether it is for the private chat of the person who asks, and for no group."""
        return self in (Prints.PERSON, Prints.INTERNALS)


def answer_in_private(prints: Prints, reader: Reader) -> bool:
    """Whether the answer must go to the private chat of the person who asked instead of to where they are: others, or
    a program that may know less than they, would read it."""
    return prints.private and not reader.is_alone
