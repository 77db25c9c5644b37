"""A page of the wiki as a person wrote it, and the beliefs on it (memory.md, The wiki). Reading loses nothing.

A page is its lines. Everything else here is read out of them, and an edit (`edits`) makes new lines and reads
again; so `parse(data).to_bytes() == data`, always.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

from qingtuan.identity.privacy import label_of
from qingtuan.identity.scopes import Visibility, stricter
from qingtuan.language import Language
from qingtuan.memory.wiki.blocks import Item
from qingtuan.memory.wiki.bullets import Interval, interval_of
from qingtuan.memory.wiki.data_comment import BeliefData, DataLine, check_of, read_line
from qingtuan.memory.wiki.layout import Layout, lay_out, unreadable
from qingtuan.memory.wiki.lines import BOM, Line, join_lines, split_lines
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.yaml_text import flow, load_yaml

PageType = Literal["profile", "preference", "rule", "fact", "event", "project", "task", "note"]

MAX_BYTES = 1_048_576
"""A longer page is reported and left alone."""

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Belief:
    """One entry as it stands on its page."""

    number: int | None
    """Its permanent number in the scope; None for a bullet that a person wrote and no command needed yet."""
    text: str
    """What the line says, without number and comments; in history with the days at its beginning."""
    current: bool
    """Whether it stands under 当前. Whether it holds today is `beliefs.is_current`."""
    data: BeliefData
    visibility: Visibility
    """How far it may be seen: its own label, else the page's, else `private`."""
    item: Item
    """Where it stands."""

    @property
    def line(self) -> int:
        """The line of the page that it begins on, from 1."""
        return self.item.start + 1

    @property
    def interval(self) -> Interval | None:
        """The days and the statement of a line of history like `A~B：曾…`, whoever wrote it."""
        return None if self.current else interval_of(self.text)

    @property
    def statement(self) -> str:
        """The text without the days and the 曾 that a line of history begins with."""
        interval = self.interval
        return interval.statement if interval else self.text


@dataclass(frozen=True, slots=True)
class Page:
    """A page. Made by `parse`, by `new_page` and by edits."""

    lines: tuple[Line, ...]
    front: Mapping[str, Any] = field(compare=False)
    """The whole front matter."""
    layout: Layout = field(repr=False)
    data: Mapping[int, DataLine] = field(compare=False)
    """What the comment says of each number; some may belong to bullets that were moved to other pages."""
    known: Mapping[str, DataLine] = field(compare=False, repr=False)
    """The lines of the comment and what each says: an edit reads only those that it changed."""
    beliefs: tuple[Belief, ...]

    @property
    def id(self) -> str | None:
        """The permanent id of the page; None if nobody gave it one."""
        return _words(self.front.get("id"))

    @property
    def type(self) -> str | None:
        """What the front matter says; a `PageType` if it is one of ours."""
        return _words(self.front.get("type"))

    @property
    def title(self) -> str:
        """The first heading of the first level, else `title` of the front matter, else empty."""
        return self.layout.title or _words(self.front.get("title")) or ""

    @property
    def visibility(self) -> Visibility:
        """The default of its beliefs; missing or broken is `private`."""
        return label_of(self.front.get("visibility"))

    @property
    def updated(self) -> date | None:
        """The day that the front matter names."""
        value = self.front.get("updated")
        if isinstance(value, datetime):
            return value.date()
        return value if isinstance(value, date) else None

    @property
    def language(self) -> Language:
        """The language of its headings and of what we add to it."""
        return self.layout.language

    @property
    def body(self) -> str:
        """The page without front matter and data comment: what there is to read of a note."""
        first, last = self.layout.data or (len(self.lines), len(self.lines))
        return join_lines([*self.lines[self.layout.body : first], *self.lines[last + 1 :]]).strip()

    @property
    def bullets(self) -> tuple[str, ...]:
        """The texts of all top-level bullets, in any section or none."""
        return tuple(bullet.own.text for bullet in self.layout.bullets if bullet.own.text)

    @property
    def numbers(self) -> frozenset[int]:
        """Every number that this page holds, of bullets and of lines in the comment."""
        held = (bullet.own.number for bullet in self.layout.bullets if bullet.section)
        return frozenset(number for number in (*held, *self.data) if number is not None)

    @property
    def copied(self) -> frozenset[int]:
        """Numbers that stand on more than one bullet: somebody copied a line. `edits.numbered` parts them."""
        held = Counter(bullet.own.number for bullet in self.layout.bullets if bullet.section)
        return frozenset(number for number, count in held.items() if number is not None and count > 1)

    def belief(self, number: int) -> Belief | None:
        """The belief of this number, if its bullet stands here."""
        return next((belief for belief in self.beliefs if belief.number == number), None)

    def to_bytes(self) -> bytes:
        """The file: byte for byte what was parsed."""
        return join_lines(self.lines).encode()


def parse(data: bytes) -> Page:
    """The page in a file.

    Raises:
        PageUnreadable: too long, not UTF-8, NUL, broken front matter, conflict markers, or data that is ambiguous
            (two comments, or one inside something that was left open). The file must be left as it is.
    """
    if len(data) > MAX_BYTES:
        raise unreadable("长度超过 1 MB", "it is longer than 1 MB")
    if b"\0" in data:
        raise unreadable("里面有二进制内容", "it holds binary data")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise unreadable("编码不是 UTF-8", "it is not UTF-8", str(error)) from error
    return read_page(split_lines(text))


def read_page(lines: Iterable[Line], known: Mapping[str, DataLine] | None = None) -> Page:
    """The page that these lines are. `known` holds what lines of its comment are known to say.

    Raises:
        PageUnreadable: as `parse`.
    """
    lines = tuple(lines)
    texts = [line.text for line in lines]
    if texts:
        texts[0] = texts[0].removeprefix(BOM)
    front, body = _front_matter(texts)
    layout = lay_out(texts, body)
    now_known = _read_comment(texts, layout, known or {})
    data = _by_number(now_known.values())
    beliefs = _beliefs(layout, data, label_of(front.get("visibility")))
    page = Page(lines, front, layout, data, now_known, beliefs)
    if known is not None and len(page.to_bytes()) > MAX_BYTES:
        raise unreadable("加上这条就超过 1 MB", "with this entry it would be longer than 1 MB")
    return page


def new_page(
    page_id: str, page_type: PageType, title: str, language: Language, visibility: Visibility, updated: date
) -> Page:
    """An empty page; with both sections unless it is a note."""
    front = {"id": page_id, "type": page_type, "visibility": str(visibility), "updated": updated}
    texts = [_FENCE, *(f"{key}: {flow(value)}" for key, value in front.items()), _FENCE, f"# {one_line(title)}", ""]
    if page_type != "note":
        current, history = ("当前", "历史") if language == "zh" else ("Current", "History")
        texts += [f"## {current}", "", f"## {history}"]
    return read_page(Line(text, "\n") for text in texts)


def _front_matter(texts: Sequence[str]) -> tuple[Mapping[str, Any], int]:
    """The front matter and the line after it."""
    if not texts or texts[0].rstrip() != _FENCE:
        return {}, 0
    end = next((index for index in range(1, len(texts)) if texts[index].rstrip() in (_FENCE, "...")), None)
    if end is None:
        raise unreadable("开头的 --- 没有结束", "its front matter never ends")
    try:
        front = load_yaml("\n".join(texts[1:end]))
    except ValueError as error:
        raise unreadable("开头的属性（front matter）写坏了", "its front matter is broken", str(error)) from error
    if front is not None and not isinstance(front, dict):
        raise unreadable("开头的属性（front matter）写坏了", "its front matter is no mapping")
    return front or {}, end + 1


def _read_comment(texts: Sequence[str], layout: Layout, known: Mapping[str, DataLine]) -> dict[str, DataLine]:
    first, last = layout.data or (0, 0)
    found: dict[str, DataLine] = {}
    for text in texts[first + 1 : last]:
        line = known.get(text) or read_line(text)
        if line:
            found[text] = line
    return found


def _by_number(lines: Iterable[DataLine]) -> dict[int, DataLine]:
    """What counts for each number. Of two lines for one (a merge) the first, with the stricter of their labels."""
    found: dict[int, DataLine] = {}
    for line in lines:
        first = found.setdefault(line.number, line)
        if first is not line:
            labels = (label or Visibility.PRIVATE for label in (first.data.visibility, line.data.visibility))
            found[line.number] = replace(first, data=replace(first.data, visibility=stricter(*labels)))
    return found


def _beliefs(layout: Layout, data: Mapping[int, DataLine], default: Visibility) -> tuple[Belief, ...]:
    found: list[Belief] = []
    held: set[int] = set()
    for bullet in layout.bullets:
        own, section = bullet.own, bullet.section
        if section is None or not own.text:
            continue
        number = own.number if own.number not in held else None
        if number is not None:
            held.add(number)
        known = what_counts(own.text, section.current, data.get(own.number or 0))
        if number is None and own.number is not None:
            # a line that somebody copied, number and all, is a new entry; it may not be seen further than the first
            known = BeliefData(visibility=label_of(known.visibility, default))
        found.append(Belief(number, own.text, section.current, known, label_of(known.visibility, default), bullet.item))
    return tuple(_with_days(belief) for belief in found)


def what_counts(text: str, current: bool, line: DataLine | None) -> BeliefData:
    """The data of a belief whose line says `text`. Where the data disagrees with the line, the line is right.

    Rewritten by hand, its value is void and it counts as written by hand; moved back from history, its end is void.
    """
    if line is None:
        return BeliefData()
    data = line.data
    if line.check is not None and line.check != check_of(text):
        data = replace(data, value=None, how="hand")
    if current and data.ended_by:
        data = replace(data, until=None, ended_by=None)
    return data


def _with_days(belief: Belief) -> Belief:
    """The days of a line of history are those that stand in it, whoever wrote them there."""
    interval = belief.interval
    if interval is None:
        return belief
    since, until = interval.since, interval.until
    return replace(belief, data=replace(belief.data, since=since, until=until))


def _words(value: Any) -> str | None:
    return None if value is None else str(value)
