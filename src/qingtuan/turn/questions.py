"""To whom a question goes: to the asker, or, where only the owner may answer, to the owner's private chat."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from qingtuan.confirmations.confirmation import Chat, Confirmation, StoppedCall
from qingtuan.errors import ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.identity.accounts import LOCAL, OWNER, Person, is_key
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import may_answer
from qingtuan.language import Words
from qingtuan.messages import Origin, Space
from qingtuan.turn.kit import Kit
from qingtuan.turn.turn import Turn

_TERMINAL = "cli"


def owner_chat(kit: Kit, but: Collection[str] = ()) -> Chat:
    """Where the owner is asked: the private chat in which they last wrote, the terminal if there is none. `but`:
    channels that do not count, since they do not work."""
    return chat_of(kit, kit.people.owner, but) or Chat(_TERMINAL, Space("private", LOCAL))


def chat_of(kit: Kit, person: Person, but: Collection[str] = ()) -> Chat | None:
    """The private chat in which somebody last wrote; None if they never did, or only through the channels `but`.

    Keys do not count, since nobody reads there; nor does the terminal of somebody who tries out an account there.
    """
    latest, ids = None, sorted(kit.people.ids(person.id))
    for account in person.accounts:
        if is_key(account):
            continue
        # The kind stands as in the index of talk by person and space: else SQLite does not use it.
        row = kit.record.log.database.row(
            "SELECT seq, json_extract(payload, '$.channel') AS channel FROM events"  # noqa: S608 (placeholders)
            f" WHERE space = ? AND person IN ({','.join('?' * len(ids))}) AND kind = 'message.received'"
            " AND (json_extract(payload, '$.channel') <> ? OR space = ?)"
            " AND json_extract(payload, '$.channel') NOT IN (SELECT value FROM json_each(?)) ORDER BY seq DESC LIMIT 1",
            (str(Space("private", account)), *ids, _TERMINAL, str(Space("private", LOCAL)), json.dumps(list(but))),
        )
        if row is not None and (latest is None or row["seq"] > latest[0]):
            latest = row["seq"], Chat(row["channel"], Space("private", account))
    return latest[1] if latest is not None else None


def addressed(kit: Kit, stopped: StoppedCall, at: Chat | None = None) -> StoppedCall:
    """The same call with the person who is to be asked: the asker if they may answer, else the owner, in the owner's
    words and days, `at` this chat or where they last wrote.

    Raises:
        ToolFailed: nobody may answer.
    """
    if stopped.asker_answers:
        return stopped
    chat = at or owner_chat(kit)
    owner = Reader(OWNER, Role.OWNER, chat.space)
    if not may_answer(stopped.facts, owner):
        raise ToolFailed(_NOBODY)
    now = stopped.wanted.now.astimezone(kit.zone_of(owner))
    wanted = replace(stopped.wanted, language=kit.speaks_to(owner), now=now)
    return replace(stopped, wanted=wanted, owner_at=chat)


def question_of(kit: Kit, asked: Confirmation, turn: Turn) -> tuple[Draft, Place]:
    """The message that asks, and where it belongs. The owner's is no part of the asker's turn: whoever follows that
    one must not be shown what the owner reads."""
    chat = asked.owner_at
    draft = Draft(turn.channel if chat is None else chat.channel, asked.text, "question", Origin.SYSTEM, by_code=True)
    return draft, turn.place if chat is None else owners_place(kit, chat)


def owners_place(kit: Kit, chat: Chat) -> Place:
    """Where a message to the owner belongs that no turn of theirs set off."""
    return place_in(kit, chat, OWNER)


def place_in(kit: Kit, chat: Chat, person: str) -> Place:
    """Where a message to somebody belongs that no turn of theirs set off."""
    return Place(kit.record.sessions.running(chat.space, person).id, chat.space, None, person)


def word_to_asker(kit: Kit, asked: Confirmation, turn: Turn) -> Draft | None:
    """What is said in the asker's space, once a turn: that the owner is asked, and nothing of what. None where the
    question itself stands, or after that was said."""
    log = kit.record.log
    asked_for = [event for event in log.of_turn(turn.id) if event.kind is Kind.CONFIRMATION_ASKED]
    if asked.owner_at is None or any(e.id != asked.event and "owner_at" in e.payload for e in asked_for):
        return None
    words = _TO_YOURSELF if turn.reader.person == OWNER else _TO_OWNER
    return Draft(turn.channel, words.say(kit.language(turn)), origin=Origin.SYSTEM, by_code=True)


WAITS_FOR_OWNER = Words(
    "还没有执行：要主人同意，系统已经去问主人了。不要再调一次。",
    "Not run yet: it needs the owner's consent, and the system has asked the owner. Do not call it again.",
)
"""What the model is told of a call about which the owner is asked."""
_TO_OWNER = Words(
    "这要主人同意，已经去问了，有结果就告诉你。",
    "This needs the owner's consent. The owner has been asked, and you will hear.",
)
_TO_YOURSELF = Words(
    "这要你本人确认，已经发到你的私聊了。", "You must confirm this yourself; the question is in your private chat."
)
_NOBODY = Words("没有人可以问，所以没有做。", "There was nobody to ask, so it was not done.")
