"""What goes between a channel and the rest: inbound and outbound messages, and where their parts come from."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal


class Origin(StrEnum):
    """Who stands behind a piece of text (identity.md, What is trusted). Inherited by what is made from it."""

    SYSTEM = "system"
    OWNER = "owner"
    PERSON = "person"
    ASSISTANT = "assistant"
    TOOL = "tool"
    WEB = "web"
    AGENT = "agent"
    FILE = "file"
    FORWARD = "forward"

    @property
    def foreign(self) -> bool:
        """Whether text of this origin is material: never a belief, never a yes, never a right."""
        return self in _FOREIGN


_FOREIGN = frozenset({Origin.TOOL, Origin.WEB, Origin.AGENT, Origin.FILE, Origin.FORWARD})


@dataclass(frozen=True, slots=True)
class Space:
    """Where a conversation takes place and who can read it.

    `kind` is `private` or `group`; `id` is an account (`qq:10001`) for a private chat and a group id
    (`qq:777`) for a group. Written as `private:qq:10001` and `group:qq:777`.
    """

    kind: Literal["private", "group"]
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @property
    def is_group(self) -> bool:
        return self.kind == "group"

    @classmethod
    def parse(cls, text: str) -> Space:
        """The space that `str()` wrote. Raises `ValueError` for anything else."""
        kind, _, name = text.partition(":")
        if kind not in ("private", "group") or not name:
            raise ValueError(f"not a space: {text!r}")
        return cls("group" if kind == "group" else "private", name)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that came with a message: kept by content hash, described by what it really is."""

    kind: Literal["image", "audio", "file"]
    name: str
    media_type: str
    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class Remote:
    """Something that belongs to a message and still lies with the platform: fetched once the message is stored, since
    links expire, and by way of the channel that it came in through."""

    kind: Literal["image", "audio", "video", "file", "forward", "quote"]
    """The last two become material, the others attachments."""
    reference: str
    """All that the channel needs to fetch it, in its own spelling (JSON). Never shown: it can hold keys and tokens."""
    name: str = ""
    """As the sender's program names it; foreign text. What was spoken into the chat app has none."""
    size: int | None = None
    """Bytes, as the platform says."""
    transcript: str = ""
    """What a voice message says, where the platform tells."""

    @property
    def voice(self) -> bool:
        """Whether it is the speaker's own voice, and no piece of music or recording that was sent as a file."""
        return self.kind == "audio" and not self.name


@dataclass(frozen=True, slots=True)
class Material:
    """Text of foreign origin that came with a message: piped input, a forward, a quote, a file's text."""

    origin: Origin
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Inbound:
    """One message as a channel received it. `text` holds the speaker's own words and nothing else."""

    channel: str
    account: str
    space: Space
    message_id: str
    """The platform's id of the message, unique in (channel, space); it makes delivery idempotent."""
    text: str
    time: datetime
    session: str | None = None
    """The name or id of a session of the space; None means the running one."""
    addressed: bool = True
    """Whether the message is meant for the assistant: always in private; in a group by mention, reply, command."""
    edited: bool = False
    """Whether it is an earlier message as it reads now. Then `time` is when it was edited, where the platform tells."""
    quotes: str | None = None
    """The platform's id of the message that it quotes, or under which a button was pressed."""
    nickname: str = ""
    """For display only. Never identity."""
    materials: tuple[Material, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    remotes: tuple[Remote, ...] = ()
    """What still has to be fetched for it, in the order of the message."""
    album: str | None = None
    """The platform's id of the album that it is a part of."""
    gathers: bool = False
    """Whether people write in bursts here (chat apps): what comes within seconds belongs together."""
    signed: bool = True
    """False for what came in without the right signature: it is nobody's."""
    spoken: bool = False
    """Whether `text` is what a machine heard in the speaker's voice: their words, but neither a command nor a yes."""
    temporary: bool = False
    """Whether the chat is a temporary one (QQ, by way of a group): then it is a stranger's, whoever the account is."""
    late: bool = False
    """Whether it was said so long before it came that an answer would be to nobody: the channel was not connected."""


def heard(inbound: Inbound) -> Inbound:
    """The same message with what its platform heard in the speaker's voice as its words, where it has no others."""
    said = "\n".join(one.transcript.strip() for one in inbound.remotes if one.voice and one.transcript.strip())
    return replace(inbound, text=said, spoken=True) if said and not inbound.text.strip() else inbound


def whole(inbound: Inbound) -> Inbound:
    """The same message without half characters (lone surrogates), which JSON can bring and no file or table can hold:
    in an id they are written out, so that no two become one; in a text a sign stands for each."""
    space, materials, attached = inbound.space, inbound.materials, inbound.attachments
    album = inbound.album
    ids = (inbound.channel, inbound.account, space.id, inbound.message_id, inbound.session, inbound.quotes, album)
    texts = (inbound.text, inbound.nickname, *(text for one in materials for text in (one.label, one.text)))
    names = (
        *(name for one in attached for name in (one.name, one.media_type, one.hash)),
        *(name for one in inbound.remotes for name in (one.name, one.reference, one.transcript)),
    )
    if not any(_HALF.search(each) for each in (*ids, *texts, *names) if each):
        return inbound
    return replace(
        inbound,
        channel=_id(inbound.channel),
        account=_id(inbound.account),
        space=replace(space, id=_id(space.id)),
        message_id=_id(inbound.message_id),
        session=None if inbound.session is None else _id(inbound.session),
        quotes=None if inbound.quotes is None else _id(inbound.quotes),
        album=None if album is None else _id(album),
        text=_text(inbound.text),
        nickname=_text(inbound.nickname),
        materials=tuple(replace(one, label=_text(one.label), text=_text(one.text)) for one in materials),
        remotes=tuple(
            replace(one, name=_text(one.name), reference=_id(one.reference), transcript=_text(one.transcript))
            for one in inbound.remotes
        ),
        attachments=tuple(
            replace(one, name=_text(one.name), media_type=_text(one.media_type), hash=_id(one.hash)) for one in attached
        ),
    )


_HALF = re.compile("[\ud800-\udfff]")


def _id(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _text(text: str) -> str:
    return _HALF.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class Outbound:
    """One message to send. `text` is Markdown; each channel renders what its platform can show."""

    id: str
    """The event id of the message; the outbox row carries the same one."""
    space: Space
    text: str
    kind: Literal["reply", "question", "notice"] = "reply"
    reply_to: str | None = None
    """Platform id of the message that is answered, if the platform can quote."""
    attachments: tuple[Attachment, ...] = ()
