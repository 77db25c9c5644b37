"""From an update as Telegram delivers it to what it is for us, or the reason why it is nothing. Pure.

Read from the raw update and not from the adapter's events: those repeat the text of nested entities, see a mention
only at the beginning and in one spelling, and take a nickname inside another word for one (platforms.md, 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

from qingtuan.channels import labels
from qingtuan.channels.foreign import one_line, text_in
from qingtuan.channels.telegram.contents import label_of, remotes_of
from qingtuan.channels.telegram.ids import Ref, cut, units
from qingtuan.messages import Inbound, Material, Origin, Space

CHANNEL = "telegram"
_LONGEST_NAME = 64
_MOST_ENTITIES = 100
"""Of one message; Telegram knows no more."""

Update = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Me:
    """The bot that reads."""

    id: int
    username: str
    reads_groups: bool = False
    """Whether privacy mode is off, so that it sees what is not said to it."""


@dataclass(frozen=True, slots=True)
class Press:
    """A button under a message of ours was pressed."""

    query: str
    """To be answered by this id, or the person's program goes on waiting."""
    inbound: Inbound
    """The press as an answer, but for its words."""
    data: str


@dataclass(frozen=True, slots=True)
class BotMembership:
    """What the bot may do in a chat has changed."""

    chat: int
    state: Literal["in", "out"]
    """`out`: removed from a group, or blocked by a person."""
    by: str = ""
    """The account that brought it in; empty where it was there before."""


@dataclass(frozen=True, slots=True)
class Left:
    """Somebody left a group, or was removed."""

    group: Space
    account: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A group has become a supergroup, with another number."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """An update that nobody has to hear of."""

    reason: str


Read = Inbound | Press | BotMembership | Left | Moved | Nothing


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading an update depends on."""

    me: Me
    origins: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """By the number of a supergroup the one that it had as a group, under which it goes on here."""

    def read(self, update: Update) -> Read:
        """What an update is. Never raises: what is not as the Bot API has it is `Nothing`."""
        try:
            return self._read(update)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
            return Nothing(f"malformed: {type(error).__name__}")

    def _read(self, update: Update) -> Read:
        if message := update.get("message"):
            return self._message(message)
        if edited := update.get("edited_message"):
            return self._message(edited, edited=True)
        if query := update.get("callback_query"):
            return self._press(query)
        if change := update.get("my_chat_member"):
            before, there = (_is_there(change[name]) for name in ("old_chat_member", "new_chat_member"))
            by = f"tg:{int(change['from']['id'])}" if there and not before else ""
            return BotMembership(int(change["chat"]["id"]), "in" if there else "out", by)
        return Nothing("not asked for")

    def space(self, chat: Mapping[str, Any]) -> Space:
        """The space that a chat is; every topic of a forum is the same one, since the same people read them all."""
        number = int(chat["id"])
        if chat["type"] == "private":
            return Space("private", f"tg:{number}")
        return Space("group", f"tg:{self.origins.get(number, number)}")

    def ref(self, message: Mapping[str, Any]) -> Ref:
        """The name of a message."""
        number = int(message["chat"]["id"])
        topic = message.get("message_thread_id") if message.get("is_topic_message") else None
        return Ref(
            int(message["message_id"]),
            None if topic is None else int(topic),
            number if number in self.origins else None,
        )

    def _message(self, message: Mapping[str, Any], *, edited: bool = False) -> Read:
        if "migrate_to_chat_id" in message:
            return Moved(int(message["chat"]["id"]), int(message["migrate_to_chat_id"]))
        if "migrate_from_chat_id" in message:
            return Moved(int(message["migrate_from_chat_id"]), int(message["chat"]["id"]))
        if message["chat"]["type"] not in ("private", "group", "supergroup"):
            return Nothing("a channel's post")
        if (gone := message.get("left_chat_member")) and int(gone["id"]) != self.me.id:
            return Left(self.space(message["chat"]), f"tg:{int(gone['id'])}")
        speaker = _speaker(message)
        if isinstance(speaker, Nothing):
            return speaker
        text, entities = _words(message)
        if _command_of_another(text, entities, self.me):
            return Nothing("a command of another bot")
        said, materials = _own_and_foreign(message, _said(text, entities, self.me))
        quotes, quoted = self._quoted(message)
        materials = (*materials, *quoted)
        remotes = remotes_of(message)
        if edited and not text:
            return Nothing("an edit without words")  # a live location moves, a poll counts
        if not (text or materials or remotes):  # a bare mention is a message, too
            return Nothing("a notice of the chat")
        group = message["chat"]["type"] != "private"
        return Inbound(
            channel=CHANNEL,
            account=f"tg:{speaker}",
            space=self.space(message["chat"]),
            message_id=str(self.ref(message)),
            text=said,
            time=_time(message["edit_date"] if edited and "edit_date" in message else message["date"]),
            addressed=not group or _addressed(message, text, entities, self.me),
            edited=edited,
            quotes=quotes,
            nickname=_name(message.get("sender_chat") or message.get("from") or {}),
            materials=materials,
            remotes=remotes,
            album=_album(message),
            gathers=True,
        )

    def _press(self, query: Mapping[str, Any]) -> Read:
        message = query["message"]
        if _is_bot(query["from"]):
            return Nothing("from a bot")
        inbound = Inbound(
            channel=CHANNEL,
            account=f"tg:{int(query['from']['id'])}",
            space=self.space(message["chat"]),
            message_id=f"{self.ref(message)}!press {query['id']}",
            text="",
            # Presses carry no time: that of the update's arrival is set by whoever takes it.
            time=_time(message["date"]) if message.get("date") else datetime.fromtimestamp(0, UTC),
            quotes=str(self.ref(message)),
            nickname=_name(query["from"]),
        )
        return Press(str(query["id"]), inbound, str(query.get("data", "")))

    def _quoted(self, message: Mapping[str, Any]) -> tuple[str | None, tuple[Material, ...]]:
        """The message that is quoted, and its words as far as they are not known here."""
        part = text_in(message.get("quote"), "text")
        replied = message.get("reply_to_message")
        # The first message of a topic stands under every other one of it.
        if isinstance(replied, Mapping) and "forum_topic_created" not in replied:
            if int((replied.get("from") or {}).get("id", 0)) == self.me.id:
                return str(self.ref(replied)), _material(labels.QUOTE, part)
            who = _name(replied.get("sender_chat") or replied.get("from") or {})
            return str(self.ref(replied)), _material(labels.quoted(who), part or _content(replied))
        external = message.get("external_reply")
        if isinstance(external, Mapping):
            # From another chat: it has no id here.
            who = _origin_name(external.get("origin"))
            return None, _material(labels.quoted(who), part or label_of(external))
        return None, ()


def _speaker(message: Mapping[str, Any]) -> int | Nothing:
    """Whose account it is. What speaks for a group or a channel is an id that many share, and nobody's."""
    if chat := message.get("sender_chat"):
        return int(chat["id"])
    if "from" not in message:
        return Nothing("from nobody")
    if _is_bot(message["from"]) and int(message["from"]["id"]) not in _SPEAK_FOR_MANY:
        return Nothing("from a bot")
    return int(message["from"]["id"])


_SPEAK_FOR_MANY = frozenset({1087968824, 136817688, 777000})
"""GroupAnonymousBot, Channel_Bot, Telegram's own account: told apart, and refused, by `identity.accounts`."""


def _is_bot(user: Mapping[str, Any]) -> bool:
    return user.get("is_bot") is True


# What is said, and to whom


def _words(message: Mapping[str, Any]) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The words of a message, or those under its picture, whole, and what is marked in them."""
    key = "text" if "text" in message else "caption"
    entities = message.get("entities" if key == "text" else "caption_entities") or ()
    return text_in(message, key), [entity for entity in entities[:_MOST_ENTITIES] if isinstance(entity, Mapping)]


def _said(text: str, entities: Sequence[Mapping[str, Any]], me: Me) -> str:
    """The words without our name where it only says to whom they are said: before them, behind them, and behind a
    command."""
    spans = sorted(
        (int(one["offset"]), int(one["offset"]) + int(one["length"]))
        for one in entities
        if one.get("type") != "bot_command" and _names(text, one, me)
    )
    start, end = 0, units(text)
    for begins, ends in spans:
        if not cut(text, start, begins - start).strip(_AROUND):
            start = ends
    for begins, ends in reversed(spans):
        if begins >= start and not cut(text, ends, end - ends).strip(_AROUND):
            end = begins
    spoken = cut(text, start, end - start)
    spoken = (spoken.lstrip(_AROUND) if start else spoken).strip()
    command = next((_marked(text, one) for one in entities if one.get("type") == "bot_command"), "")
    if "@" in command and spoken.startswith(command):
        spoken = command.partition("@")[0] + spoken[len(command) :]
    return _started(spoken) if command else spoken


def _started(spoken: str) -> str:
    """What somebody means who pressed the button that opens the chat: the code that the link brought along (Bot API,
    Deep linking), or to be told what there is."""
    command, _, code = spoken.partition(" ")
    if command != "/start":
        return spoken
    return code.strip() or "/help"


_AROUND = " \t\r\n,，:：、"
"""What may stand between a name and what is said."""


def _addressed(message: Mapping[str, Any], text: str, entities: Sequence[Mapping[str, Any]], me: Me) -> bool:
    """Whether a message of a group is meant for us: by mention, by a command with our name, by a reply. A command
    without a name is judged by whoever knows the commands; a nickname never counts."""
    replied = message.get("reply_to_message")
    if isinstance(replied, Mapping) and int((replied.get("from") or {}).get("id", 0)) == me.id:
        return True
    return not _is_anothers(message) and any(_names(text, entity, me) for entity in entities)


def _names(text: str, entity: Mapping[str, Any], me: Me) -> bool:
    match entity.get("type"):
        case "mention":
            return bool(me.username) and _marked(text, entity).casefold() == f"@{me.username}".casefold()
        case "text_mention":
            return int((entity.get("user") or {}).get("id", 0)) == me.id
        case "bot_command":
            return _marked(text, entity).partition("@")[2].casefold() == me.username.casefold() != ""
    return False


def _command_of_another(text: str, entities: Sequence[Mapping[str, Any]], me: Me) -> bool:
    first = next((entity for entity in entities if entity.get("type") == "bot_command"), None)
    if first is None or int(first["offset"]) != 0:
        return False
    named = _marked(text, first).partition("@")[2]
    return bool(named) and named.casefold() != me.username.casefold()


def _marked(text: str, entity: Mapping[str, Any]) -> str:
    return cut(text, int(entity["offset"]), int(entity["length"]))


# What is not the speaker's


def _own_and_foreign(message: Mapping[str, Any], said: str) -> tuple[str, tuple[Material, ...]]:
    """The speaker's own words, and what only came along."""
    label = label_of(message)
    if not _is_anothers(message):
        return said, _material("Telegram", label)
    origin, by = message.get("forward_origin"), message.get("via_bot")
    if origin is None and isinstance(by, Mapping):
        whose = labels.written_by(text_in(by, "username")[:_LONGEST_NAME] or _name(by))
    else:
        whose = labels.forwarded(_origin_name(origin))
    return "", _material(whose, "\n".join(part for part in (said, label) if part) or "")


def _is_anothers(message: Mapping[str, Any]) -> bool:
    """Whether the words were put together by somebody else, though the speaker sent them: of a forward, and of what
    another bot offered to write (inline mode), nothing is the speaker's. It means nobody, and commands nothing."""
    return "forward_origin" in message or "via_bot" in message


def _content(message: Mapping[str, Any]) -> str:
    text, _ = _words(message)
    return "\n".join(
        part
        for part in (text, label_of(message), *(labels.sign(labels.KINDS[each.kind]) for each in remotes_of(message)))
        if part
    )


def _material(label: str, text: str) -> tuple[Material, ...]:
    return (Material(Origin.FORWARD, label, text),) if text else ()


def _origin_name(origin: Any) -> str:
    """Whom a forward or a quote is from; a name that people give themselves."""
    if not isinstance(origin, Mapping):
        return ""
    of = origin.get("sender_user") or origin.get("sender_chat") or origin.get("chat")
    return _name(of) if isinstance(of, Mapping) else text_in(origin, "sender_user_name")[:_LONGEST_NAME]


def _is_there(member: Mapping[str, Any]) -> bool:
    status = member["status"]
    return status in ("creator", "administrator", "member") or (status == "restricted" and bool(member["is_member"]))


def _name(of: Mapping[str, Any]) -> str:
    parts = (text_in(of, "title"), text_in(of, "first_name"), text_in(of, "last_name"))
    return one_line(" ".join(parts), _LONGEST_NAME)


def _album(message: Mapping[str, Any]) -> str | None:
    return text_in(message, "media_group_id") or None


def _time(seconds: Any) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)
