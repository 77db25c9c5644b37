"""What was found in a source: statements, notes, pages of our own, and what is left out with the reason.

Values only, and the same as JSON: a source is read by the process that was asked to, and written by the instance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal, cast, get_args

from qingtuan.errors import UsageWrong
from qingtuan.language import Words
from qingtuan.memory.topics import Kind

Format = Literal["markdown", "openclaw", "hermes", "nanobot", "chatgpt", "qingtuan"]

NAMES: Mapping[Format, str] = {
    "markdown": "Markdown",
    "openclaw": "OpenClaw",
    "hermes": "Hermes",
    "nanobot": "nanobot",
    "chatgpt": "ChatGPT",
    "qingtuan": "小青团",
}
"""What each is called."""

MOST_STATEMENTS = 3000
MOST_NOTES = 3000
MOST_NOTE_CHARACTERS = 8_000_000
"""Of all notes together: what is found goes to the instance as one message."""
MOST_PAGE_BYTES = 12_000_000
"""Of all pages of our own export together."""


class Reason(StrEnum):
    """Why something is left out."""

    words: Words

    def __new__(cls, value: str, words: Words = Words("", "")) -> Reason:  # noqa: B008 (frozen)
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.words = words
        return reason

    EMPTY = "empty", Words("没有填内容", "nothing is filled in")
    SECRET = "secret", Words("里面有密钥或号码，不带进来", "it holds a key or a number; not taken")
    LONG = "long", Words("太长", "too long")
    TASK = "task", Words("是待办，不是记忆", "a task, no memory")
    PERSONA = (
        "persona",
        Words("是给另一个助手的设定，不是关于你的记忆", "instructions to another assistant; no memory of you"),
    )
    OTHER = "other", Words("不是记忆文件", "no file of memory")
    BINARY = "binary", Words("不是文本", "no text")
    ENCODING = "encoding", Words("认不出编码", "its encoding cannot be told")
    BROKEN = "broken", Words("坏了，读不完", "broken; it cannot be read to its end")
    LINK = "link", Words("是链接，不跟着走", "a link; not followed")
    UNSAFE = "unsafe", Words("路径不安全，不打开", "its path is unsafe; not opened")
    CROWDED = "crowded", Words("文件太多，后面的没有读", "too many files; the rest was not read")
    STALE = "stale", Words("后来已经从它的记忆里去掉了", "it was taken out of that memory later")
    TALK = "talk", Words("聊天记录不导入，只取其中记下的", "talk is not imported, only what was remembered in it")
    ACCOUNT = "account", Words("账号资料，不带进来", "account data; not taken")
    ELSEWHERE = (
        "elsewhere",
        Words(
            "不是你自己的那一份，这里已有记忆时不导入",
            "not your own part; where there is memory already it is not imported",
        ),
    )
    FORGED = "forged", Words("和清单对不上，逐条合并", "not as it was exported; taken entry by entry")


@dataclass(frozen=True, slots=True)
class When:
    """Between which days something was said or written, both included."""

    first: date | None
    """None where nobody knows: then it was said on `last` at the latest."""
    last: date

    @property
    def exact(self) -> bool:
        return self.first == self.last


@dataclass(frozen=True, slots=True)
class Statement:
    """A short statement that may become an entry."""

    text: str
    """On one line, as a person would read it."""
    when: When
    kind: Kind = "fact"
    topic: str = ""
    subject: str = ""
    label: str = ""
    """What stood before the colon, if the line was `label: value`."""
    value: str = ""
    single: bool = False
    """Whether the label is a question with one answer at a time; it is one, too, where the memory knows it as such."""
    many: bool = False
    moment: datetime | None = None
    """When it was said, aware, where that is known better than by days."""
    since: date | None = None
    until: date | None = None
    """The last day on which it held, if it is over or the source says so."""
    past: bool = False
    """Whether the source itself has it as history."""
    inferred: bool = False
    """Whether the source itself only inferred it. Only our own says so."""
    file: str = ""
    line: int = 0
    """From 1; 0 where there are no lines."""

    @property
    def digest(self) -> str:
        """A name for what it says and when that was, wherever it stands: what was brought in once is known by it."""
        when = self.when.first and self.when.first.isoformat()
        parts = (self.text, self.subject, self.label, self.value, when, self.moment, self.until, self.past)
        return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class NoteText:
    """Prose, to be kept as a note."""

    title: str
    text: str
    when: When
    file: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page of our own export."""

    path: str
    """Below the wiki."""
    text: str
    file: str
    """In the export."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """What is left out."""

    reason: Reason
    file: str
    line: int = 0
    count: int = 1
    """How many places in the file."""


@dataclass(frozen=True, slots=True)
class Found:
    """All of it."""

    format: Format
    name: str
    """Of the source, for people: the last part of its path."""
    statements: tuple[Statement, ...] = ()
    notes: tuple[NoteText, ...] = ()
    pages: tuple[PageFile, ...] = ()
    """Of an export of our own that is as it was made. Statements and notes are the same once more."""
    skipped: tuple[Skipped, ...] = ()


# As JSON


def as_json(found: Found) -> dict[str, Any]:
    """What was found, for the instance."""
    return {
        "format": found.format,
        "name": found.name,
        "statements": [_fields(statement) for statement in found.statements],
        "notes": [_fields(note) for note in found.notes],
        "pages": [_fields(page) for page in found.pages],
        "skipped": [_fields(skipped) for skipped in found.skipped],
    }


def from_json(value: Mapping[str, Any]) -> Found:
    """What `as_json` made. Raises `UsageWrong` for anything else."""
    try:
        return Found(
            _one_of(value["format"], get_args(Format)),
            str(value["name"]),
            tuple(_statement(one) for one in value["statements"]),
            tuple(_note(one) for one in value["notes"]),
            tuple(PageFile(str(one["path"]), str(one["text"]), str(one["file"])) for one in value["pages"]),
            tuple(
                Skipped(Reason(one["reason"]), str(one["file"]), int(one["line"]), int(one["count"]))
                for one in value["skipped"]
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageWrong(
            Words("看不懂要导入的内容。", "What is to be imported is not understood."), detail=repr(error)
        ) from error


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:
    match value:
        case When():
            return [_plain(value.first), _plain(value.last)]
        case date():  # and datetime
            return value.isoformat()
        case tuple():
            return list(value)
    return value


def _statement(one: Mapping[str, Any]) -> Statement:
    return Statement(
        text=str(one["text"]),
        when=_when(one["when"]),
        kind=cast(Kind, _one_of(one["kind"], get_args(Kind))),
        topic=str(one["topic"]),
        subject=str(one["subject"]),
        label=str(one["label"]),
        value=str(one["value"]),
        single=one["single"] is True,
        many=one["many"] is True,
        moment=datetime.fromisoformat(one["moment"]) if one["moment"] else None,
        since=_day(one["since"]),
        until=_day(one["until"]),
        past=one["past"] is True,
        inferred=one["inferred"] is True,
        file=str(one["file"]),
        line=int(one["line"]),
    )


def _note(one: Mapping[str, Any]) -> NoteText:
    return NoteText(
        str(one["title"]), str(one["text"]), _when(one["when"]), str(one["file"]), tuple(map(str, one["tags"]))
    )


def _when(value: Any) -> When:
    first, last = value
    return When(_day(first), date.fromisoformat(last))


def _day(value: Any) -> date | None:
    return None if value is None else date.fromisoformat(value)


def _one_of(value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ValueError(value)
    return value
