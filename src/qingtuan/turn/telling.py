"""What a person is told of something that went wrong, and where the owner is told of what they have to know."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from qingtuan.errors import ForOwner, QingtuanError
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft, notice
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.turn.kit import Kit
from qingtuan.turn.questions import owner_chat, owners_place


@dataclass(frozen=True, slots=True)
class Told:
    """A message that is to be put into the outbox."""

    draft: Draft
    place: Place


def told_of(error: QingtuanError, reader: Reader, broke: Words) -> Words:
    """The sentence of an error. What only the owner can mend is spelled out to the owner alone; others hear `broke`."""
    return broke if isinstance(error, ForOwner) and not reader.is_owner_alone else error.words


def word_to_owner(kit: Kit, words: Words, *, but: Collection[str] = ()) -> Told:
    """A notice to the owner, in their words, in the private chat in which they last wrote. `but`: channels that do not
    work, so that it goes another way."""
    chat = owner_chat(kit, but)
    owner = Reader(OWNER, Role.OWNER, chat.space)
    return Told(notice(chat.channel, words.say(kit.speaks_to(owner))), owners_place(kit, chat))
