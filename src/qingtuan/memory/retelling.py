"""What a recollection found, and how it is told to the model. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from qingtuan.language import Language, Words
from qingtuan.messages import Space

_CONTACTS_NAMED = 10

Attached = Literal["image", "audio", "file", "material"]


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody who talked with the assistant, as far as the reader may see it."""

    person: str
    accounts: tuple[str, ...]
    """Those that they spoke from, the one used last first."""
    name: str
    """The name that the owner gave them; only the owner is told, in private."""
    last: datetime
    """When they last said something, UTC."""
    newest: str
    """The event in which they said it."""
    ids: frozenset[str]
    """Their ids in the log: more than one since their accounts were linked or named."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message or reply."""

    event: str
    space: Space
    session: str
    time: datetime
    """UTC."""
    person: str | None
    """Who said it, or to whom it was said."""
    account: str
    """From which it was said; empty for a reply of the assistant."""
    name: str
    """The name that the owner gave the account's person; only the owner is told, in private."""
    nickname: str
    """What the platform shows: text, no identity."""
    text: str
    """On one line, bounded, secrets covered."""
    attached: tuple[Attached, ...]
    """What came with it."""
    own: bool
    """Whether the reader said it."""
    material: bool
    """Whether it is material for a turn of the reader."""

    @property
    def reply(self) -> bool:
        return not self.account


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found for one reader."""

    lines: tuple[Line, ...] = ()
    """The newest of each contact, newest first, then what else fits, newest first; for a query the best first."""
    by_meaning: bool = False
    """Whether `lines` answer a query. Lines that stood around an answer follow it."""
    contacts: tuple[Contact, ...] = ()
    """Everybody who said something in the hours asked for, the latest first; for a name that means nobody or several
    (`unclear`), those whom it can mean."""
    missing: int = 0
    """How many contacts found no place."""
    unclear: Literal["", "nobody", "several"] = ""
    contact: str = ""
    """The contact that was asked for, as it was written."""
    hours: int = 0
    session: str | None = None
    """The session in which it was asked, if it was asked in one."""

    @property
    def foreign(self) -> bool:
        """Whether anything in it is material for a turn of the reader, as all is that others said."""
        return any(line.material for line in self.lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)


def retold(found: Recalled, zone: tzinfo | None, language: Language) -> str:
    """The text for the model: what was left out first, so that no limit cuts it off; then dated lines by session.
    Times are those of `zone`."""
    if found.unclear:
        return _unclear(found, zone, language)
    if not found.lines:
        return _nothing(found, language)
    parts: list[str] = []
    if found.by_meaning:
        parts.append(_NEAREST.say(language))
    elif found.missing:
        parts.append(_MISSING.say(language).format(count=found.missing))
    for lines in _by_session(found.lines):
        parts.append(_heading(lines[-1], found, language))
        parts += (_line(line, zone, language) for line in lines)
    if found.by_meaning and found.contacts and not found.contact:
        # Who came lately is often asked in words that a model passes on as a query.
        parts.append(_LATELY.say(language).format(contacts=_named(found.contacts, zone, language)))
    return "\n".join(parts)


def _unclear(found: Recalled, zone: tzinfo | None, language: Language) -> str:
    if not found.contacts:
        return _NOBODY.say(language).format(contact=found.contact)
    words = _SEVERAL if found.unclear == "several" else _OTHERS
    return words.say(language).format(contact=found.contact, contacts=_named(found.contacts, zone, language))


def _nothing(found: Recalled, language: Language) -> str:
    if found.hours:
        return _NOTHING_LATELY.say(language).format(hours=found.hours)
    return _NOTHING.say(language)


def _by_session(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines of one session together, oldest first; the sessions in the order in which `lines` names them."""
    sessions: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        sessions.setdefault((str(line.space), line.session), []).append(line)
    return [sorted(found, key=lambda line: (line.time, line.event)) for found in sessions.values()]


def _heading(line: Line, found: Recalled, language: Language) -> str:
    words = _GROUP if line.space.is_group else _PRIVATE
    here = _HERE.say(language) if line.session == found.session else ""
    return words.say(language).format(id=line.space.id, session=line.session, here=here)


def _line(line: Line, zone: tzinfo | None, language: Language) -> str:
    text = " ".join((*([line.text] if line.text else []), *(_ATTACHED[kind].say(language) for kind in line.attached)))
    return _LINE.say(language).format(time=_time(line.time, zone), who=_who(line, language), text=text)


def _who(line: Line, language: Language) -> str:
    if line.reply:
        return _REPLY.say(language)
    facts = [_SPEAKER.say(language)] if line.own else []
    if line.name:
        facts.append(line.name)
    elif line.nickname and not line.own:
        facts.append(_NICKNAME.say(language).format(name=line.nickname))
    return (
        _WITH.say(language).format(account=line.account, facts=_JOIN.say(language).join(facts))
        if facts
        else line.account
    )


def _named(contacts: Sequence[Contact], zone: tzinfo | None, language: Language) -> str:
    shown = [f"{_contact(contact, language)} {_time(contact.last, zone)}" for contact in contacts[:_CONTACTS_NAMED]]
    if more := len(contacts) - len(shown):
        shown.append(_MORE.say(language).format(count=more))
    return _LIST.say(language).join(shown)


def _contact(contact: Contact, language: Language) -> str:
    account = contact.accounts[0]
    return _WITH.say(language).format(account=account, facts=contact.name) if contact.name else account


def _time(moment: datetime, zone: tzinfo | None) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


_NOTHING = Words("没有记录。", "There is no record.")
_NOTHING_LATELY = Words("最近 {hours} 小时没有记录。", "There is no record of the last {hours} hours.")
_NOBODY = Words("没有和“{contact}”的对话记录。", "There is no record of talk with “{contact}”.")
_OTHERS = Words(
    "没有和“{contact}”的对话记录。有记录的联系人：{contacts}",
    "There is no record of talk with “{contact}”. There is of: {contacts}",
)
_SEVERAL = Words(
    "“{contact}”可能是这几位，请用账号再查：{contacts}",
    "“{contact}” can be any of these; ask again with the account: {contacts}",
)
_MISSING = Words("另有 {count} 个联系人未列出。", "{count} more contacts are not listed.")
_MORE = Words("另有 {count} 个", "{count} more")
_NEAREST = Words("意思最接近的对话，不一定有关：", "The talk nearest in meaning; it need not be to the point:")
_LATELY = Words("最近来过的联系人：{contacts}", "Contacts lately: {contacts}")
_PRIVATE = Words("私聊 {id}，会话 {session}{here}", "Private chat {id}, session {session}{here}")
_GROUP = Words("群聊 {id}，会话 {session}{here}", "Group {id}, session {session}{here}")
_HERE = Words("（当前会话）", " (this session)")
_LINE = Words("- {time} {who}：{text}", "- {time} {who}: {text}")
_WITH = Words("{account}（{facts}）", "{account} ({facts})")
_SPEAKER = Words("现在的说话人", "the present speaker")
_NICKNAME = Words("昵称 {name}", "nickname {name}")
_REPLY = Words("你的回复", "your reply")
_JOIN = Words("，", ", ")
_LIST = Words("；", "; ")
_ATTACHED: dict[Attached, Words] = {
    "image": Words("[图片]", "[picture]"),
    "audio": Words("[语音]", "[voice]"),
    "file": Words("[文件]", "[file]"),
    "material": Words("[转发或引用]", "[forward or quote]"),
}
