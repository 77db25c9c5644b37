"""What an event of OneBot means: a message, a recall, a notice about the account, or nothing, and why. Pure.

Mentions are read by id, wherever they stand. A nickname is text. What others made (quotes, cards, stickers, forwards)
is material; what lies with QQ is a `Remote`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from qingtuan.channels import labels
from qingtuan.channels.foreign import one_line
from qingtuan.channels.onebot.cards import card_text, shared_text
from qingtuan.channels.onebot.faces import face
from qingtuan.channels.onebot.segments import Segment, read_segments
from qingtuan.identity.accounts import is_account
from qingtuan.messages import Inbound, Material, Origin, Remote, Space

CHANNEL = "onebot"
ANONYMOUS = "qq:80000000"
"""The one id that QQ gives to whoever speaks anonymously."""
LONGEST = 20_000
"""Characters of one message; QQ takes about a quarter of that."""

_LONGEST_BAN = 31 * 86400
"""Seconds; QQ knows none longer."""
_ID = re.compile(r"-?[0-9]{1,19}")
_COMMAND_BEHIND = re.compile(r"(?:@\d+\s*)+([/／]\S.*)", re.DOTALL)


def message_id(self_id: str, platform_id: str) -> str:
    """The id of a message as ours: each account of ours has ids of its own for the messages of a chat."""
    return f"{self_id}:{platform_id}"


def split_id(name: str) -> tuple[str, str]:
    """The account and the platform's id that `message_id` put together; both empty for what it did not."""
    self_id, _, platform_id = name.partition(":")
    return (self_id, platform_id) if self_id.isdecimal() and platform_id else ("", "")


@dataclass(frozen=True, slots=True)
class Said:
    """A message of somebody."""

    inbound: Inbound
    self_id: str
    mentions: tuple[str, ...] = ()
    """Accounts of ours that it mentions, in their order."""
    sequence: str = ""
    """Its number in the chat, the same for every account that sees it; empty where it is not told."""
    bare: bool = False
    """Whether it says nothing but whom it mentions and what it quotes."""
    quote: Remote | None = None
    """How to get what it quotes, where only QQ knows that."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A message was taken back."""

    space: Space
    message_id: str


@dataclass(frozen=True, slots=True)
class Muted:
    """The account may not speak in a group, or may again."""

    group: Space
    seconds: float | None
    """For how long; None until it is lifted, 0 if it is."""


@dataclass(frozen=True, slots=True)
class Left:
    """Somebody is no longer in a group: the account itself, or a member."""

    group: Space
    account: str
    ours: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """The account came into a group."""

    group: Space
    by: str
    """Who brought it in; empty where it is not told."""


@dataclass(frozen=True, slots=True)
class Offline:
    """QQ has logged the account out."""

    why: str
    """In the words of QQ; foreign text."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life."""

    online: bool
    seconds: float
    """Between two of them."""


Why = Literal["own", "empty", "typing", "poke", "file notice", "request", "lifecycle", "of no concern", "unreadable"]


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing is to be done about it."""

    why: Why


Heard = Said | Recalled | Muted | Left | Joined | Offline | Beat | Silent


def heard(event: Mapping[str, Any], self_id: str, ours: Collection[str], now: datetime) -> Heard:
    """What an event means that came to the account `self_id`. `ours` are all accounts that the assistant has."""
    if event.get("self_id") is not None and _number(event["self_id"]) != self_id:
        return Silent("unreadable")  # of another account than the one that the connection is for
    match event.get("post_type"):
        case "message":
            return message(event, self_id, ours, now)
        case "message_sent":
            return Silent("own")
        case "notice":
            return _notice(event, self_id)
        case "meta_event":
            return _meta(event)
        case "request":
            return Silent("request")
    return Silent("of no concern")


# Messages


def message(event: Mapping[str, Any], self_id: str, ours: Collection[str], now: datetime) -> Said | Silent:
    """A message, as an event or as the history has it."""
    user, platform_id = _number(event.get("user_id")), _number(event.get("message_id"))
    group = _number(event.get("group_id"))
    is_group = event.get("message_type") == "group"
    account = f"qq:{user}"
    anonymous = is_group and (event.get("sub_type") == "anonymous" or bool(event.get("anonymous")))
    if not platform_id or not is_account(account) or (is_group and not group):
        return Silent("unreadable")
    if user == self_id or user in ours:
        # What an account of ours says, here or on its owner's phone, is no request to us.
        return Silent("own")
    temporary = not is_group and (event.get("sub_type") not in ("friend", None) or bool(group))
    where = _Where(self_id, group if is_group else "", user, platform_id)
    read = _Read(where, frozenset(ours) | {self_id})
    for segment in read_segments(event.get("message")):
        read.take(segment)
    if read.nothing:
        return Silent("empty")
    sender = event.get("sender")
    inbound = Inbound(
        channel=CHANNEL,
        account=ANONYMOUS if anonymous else account,
        space=where.space,
        message_id=message_id(self_id, platform_id),
        text=read.words,
        time=_time(event.get("time"), now),
        addressed=not is_group or self_id in read.mentions,
        quotes=read.quotes,
        nickname=_nickname(sender if isinstance(sender, Mapping) else {}),
        materials=tuple(read.materials),
        remotes=tuple(read.remotes),
        gathers=True,
        temporary=temporary,
    )
    quote = Remote("quote", where.reference(kind="quote", id=split_id(read.quotes)[1])) if read.quotes else None
    return Said(inbound, self_id, tuple(read.mentions), _number(event.get("real_seq")), read.bare, quote)


@dataclass(frozen=True, slots=True)
class _Where:
    """The chat of a message, and what it needs so that its remotes can be fetched."""

    self_id: str
    group: str
    user: str
    platform_id: str

    @property
    def space(self) -> Space:
        return Space("group", f"qq:{self.group}") if self.group else Space("private", f"qq:{self.user}")

    def reference(self, **found: str) -> str:
        known = {"self": self.self_id, "group": self.group, "user": self.user, "message": self.platform_id}
        return json.dumps({key: text for key, text in (known | found).items() if text}, ensure_ascii=False)


@dataclass(slots=True)
class _Read:
    """A message as its segments are gone through."""

    where: _Where
    ours: frozenset[str]
    pieces: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    quotes: str | None = None
    materials: list[Material] = field(default_factory=list)
    remotes: list[Remote] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The speaker's own words. Whoever only mentions us says that, unless they mean what they quote."""
        words = "".join(self.pieces).strip()[:LONGEST]
        if self.quotes is not None and (command := _COMMAND_BEHIND.fullmatch(words)):
            words = command[1]  # QQ itself puts the mention of whoever is quoted before what is typed
        only_calls = self.bare and self.mentions and self.quotes is None
        return f"@{self.mentions[0]}" if not words and only_calls else words

    @property
    def bare(self) -> bool:
        """Whether there is nothing in it but mentions of us and a quote."""
        return not ("".join(self.pieces).strip() or self.materials or self.remotes)

    @property
    def nothing(self) -> bool:
        """Whether there is nothing in it that could be answered."""
        return not (self.words or self.materials or self.remotes or self.quotes)

    def take(self, segment: Segment) -> None:
        """Add what a segment says."""
        match segment.kind:
            case "text":
                self._text(segment.text("text"))
            case "at":
                self._at(segment.text("qq"))
            case "reply":
                self._reply(segment.text("id"))
            case "face":
                self.pieces.append(face(segment.text("id")))
            case "image":
                self._image(segment)
            case "record":
                self._remote("audio", segment)
            case "video":
                self._remote("video", segment)
            case "file" | "onlinefile" | "flashtransfer":
                self._remote("file", segment)
            case "forward":
                self._forward(segment)
            case other:
                self._material(other, segment)

    def _text(self, text: str) -> None:
        # Between a mention of us and the words there is a space that nobody typed.
        self.pieces.append(text.lstrip() if self.mentions and not "".join(self.pieces).strip() else text)

    def _at(self, number: str) -> None:
        if number == "all":
            self.pieces.append("@全体成员")
        elif number in self.ours:
            self.mentions += [number] if number not in self.mentions else []
            if number != self.where.self_id:
                self.pieces.append(f"@{number}")
            elif self.pieces and self.pieces[-1].endswith((" ", "\u2005")):
                self.pieces[-1] = self.pieces[-1].rstrip()
        elif number.isdecimal():
            self.pieces.append(f"@{number}")

    def _reply(self, number: str) -> None:
        if self.quotes is None and _number(number):
            self.quotes = message_id(self.where.self_id, number)

    def _image(self, segment: Segment) -> None:
        summary = segment.text("summary")
        if segment.text("sub_type", "subType") in ("", "0") and not segment.text("emoji_id"):
            self._remote("image", segment)
        else:
            # A sticker is a look on a face: its label says all, and no model has to look at it.
            self.materials.append(Material(Origin.FORWARD, labels.STICKER, _line(summary) or "[动画表情]"))

    def _remote(self, kind: Literal["image", "audio", "video", "file"], segment: Segment) -> None:
        found = {name: segment.text(name)[:4000] for name in ("file", "file_id", "url", "path", "busid")}
        size = segment.text("file_size")
        name = segment.text("name", "file_name") or (found["file"] if kind == "file" else "")
        self.remotes.append(
            Remote(
                kind,
                self.where.reference(kind=kind, **found),
                name=_line(name),
                size=int(size) if size.isdecimal() and len(size) < 16 else None,
            )
        )

    def _forward(self, segment: Segment) -> None:
        number = segment.text("id", "resid")
        if number:
            self.remotes.append(Remote("forward", self.where.reference(kind="forward", id=number[:200])))
        else:
            self.materials.append(Material(Origin.FORWARD, labels.MERGED, "（打不开的合并转发）"))

    def _material(self, kind: str, segment: Segment) -> None:
        label, text = _labelled(kind, segment)
        if text:
            self.materials.append(Material(Origin.FORWARD, label, text[:LONGEST]))


def _labelled(kind: str, segment: Segment) -> tuple[str, str]:
    """Label and text of what is neither words nor something to fetch."""
    match kind:
        case "json" | "xml":
            return labels.CARD, card_text(segment) or "（看不懂的卡片）"
        case "share" | "music":
            return labels.SHARED, shared_text(segment) or "（没有标题的分享）"
        case "mface" | "bface" | "sface":
            return labels.STICKER, _line(segment.text("summary", "text", "name")) or labels.sign(labels.STICKER)
        case "dice":
            return labels.DICE, _line(segment.text("result")) or "（没说几点）"
        case "rps":
            return labels.ROCK_PAPER_SCISSORS, {"1": "布", "2": "剪刀", "3": "石头"}.get(
                segment.text("result"), "（没说出什么）"
            )
        case "location":
            place = [_line(segment.text(name)) for name in ("title", "content", "address")]
            at = [segment.text("lat"), segment.text("lon", "lng")]
            return labels.PLACE, " ".join(text for text in (*place, ", ".join(text for text in at if text)) if text)
        case "contact":
            which = {"qq": "好友", "group": "群"}.get(segment.text("type"), "")
            return labels.CONTACT, f"{which} {segment.text('id')}".strip()
        case "markdown":
            return labels.MARKDOWN, segment.text("content", "data")
        case "poke" | "shake":
            return labels.ACT, "戳了一下"
    return labels.UNKNOWN, f"（QQ 的「{_line(kind)[:30]}」，这里还读不了）"


# Notices


def _notice(event: Mapping[str, Any], self_id: str) -> Heard:
    user, group = _number(event.get("user_id")), _number(event.get("group_id"))
    space = Space("group", f"qq:{group}")
    kind, sub_type = event.get("notice_type"), event.get("sub_type")
    if kind == "notify":
        return Silent({"input_status": "typing", "poke": "poke"}.get(str(sub_type), "of no concern"))  # type: ignore[arg-type]
    if kind == "group_upload":
        return Silent("file notice")  # the file itself comes as a message
    if kind == "bot_offline":
        return Offline(_line(str(event.get("message") or event.get("tag") or "")))
    if kind in ("group_recall", "friend_recall"):
        return _recalled(event, self_id, user, group)
    if not group:
        return Silent("of no concern")
    if kind == "group_ban" and (user == self_id or user in ("", "0")):
        return Muted(space, _ban(event, whole=user != self_id))
    if kind == "group_decrease" and user:
        return Left(space, f"qq:{user}", ours=user == self_id)
    if kind == "group_increase" and user == self_id:
        by = _number(event.get("operator_id"))
        return Joined(space, f"qq:{by}" if by and by != "0" and by != self_id else "")
    return Silent("of no concern")


def _recalled(event: Mapping[str, Any], self_id: str, user: str, group: str) -> Recalled | Silent:
    platform_id = _number(event.get("message_id"))
    if not platform_id or not user or (event.get("notice_type") == "group_recall" and not group):
        return Silent("unreadable")
    if user == self_id:
        return Silent("own")
    space = _Where(self_id, group if event.get("notice_type") == "group_recall" else "", user, platform_id).space
    return Recalled(space, message_id(self_id, platform_id))


def _ban(event: Mapping[str, Any], *, whole: bool) -> float | None:
    if event.get("sub_type") == "lift_ban":
        return 0.0
    seconds = event.get("duration")
    if not isinstance(seconds, (int, float)) or not 0 <= seconds <= _LONGEST_BAN or (whole and not seconds):
        return None
    return float(seconds)


def _meta(event: Mapping[str, Any]) -> Beat | Silent:
    if event.get("meta_event_type") != "heartbeat":
        return Silent("lifecycle")
    status, interval = event.get("status"), event.get("interval")
    online = not (isinstance(status, Mapping) and status.get("online") is False)
    return Beat(online, interval / 1000 if isinstance(interval, (int, float)) and 0 < interval < 10**7 else 30.0)


# Values


def _number(value: Any) -> str:
    """An id of QQ as text; empty for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return ""
    text = str(value).strip()
    return text if _ID.fullmatch(text) else ""


def _time(value: Any, now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(int(value), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return now


def _nickname(sender: Mapping[str, Any]) -> str:
    names = (sender.get("card"), sender.get("nickname"))
    return next((_line(name) for name in names if isinstance(name, str) and name.strip()), "")


def _line(text: str) -> str:
    return one_line(text, 200)
