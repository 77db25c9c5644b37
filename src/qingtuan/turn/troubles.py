"""Telling somebody in private, once, of what is not as it should be: pins that do not fit, a card that cannot be read,
summaries that no model writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from qingtuan.confirmations.confirmation import Chat
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import notice
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.memory.wiki.one_line import flat
from qingtuan.messages import Space
from qingtuan.personas.cards import Unusable
from qingtuan.turn.kit import Kit
from qingtuan.turn.loop import done_so_far
from qingtuan.turn.progress import MessageOut, Outcome
from qingtuan.turn.telling import Told, word_to_owner
from qingtuan.turn.turn import Turn


def of_turn(kit: Kit, turn: Turn, outcome: Outcome) -> Iterator[Told]:
    """What is to be told at the end of a turn, noted as told."""
    for found in (_pins(kit, turn), _card(kit, turn), _failed_in_group(kit, turn, outcome)):
        if found is not None:
            yield found


def tell_owner(
    kit: Kit, key: str, words: Words | None, *, but: Collection[str] = (), over: Words | None = None
) -> None:
    """Tell the owner of a trouble, if they do not know of it; None if there is none any more: then they hear `over`, if
    they knew of it. `but`: channels that do not work, so that they are told another way."""
    with kit.record.log.transaction():
        told = _to_owner(kit, key, words, but=but, over=over)
        message = kit.record.outbox.put(told.draft, told.place) if told else None
    if message is not None and message.place.session:
        kit.stage.show(message.place.session, MessageOut(message))


def _pins(kit: Kit, turn: Turn) -> Told | None:
    """Pinned entries of this person that every request here has to do without: told in their private chat."""
    started = next((event for event in kit.record.log.of_turn(turn.id) if event.kind is Kind.TURN_STARTED), None)
    memory = started.payload.get("memory") if started else None
    if memory is None or "unread" in memory:
        return None
    names = memory.get("pins_left_out")
    space = turn.reader.space
    key = f"pins {turn.reader.person} {space if space.is_group else space.kind}"
    if not names:
        kit.record.troubles.ends(key, turn.place)
        return None
    if not kit.record.troubles.begins(key, turn.place):
        return None
    words = (_PINS_IN_GROUP if space.is_group else _PINS).say(kit.language(turn))
    draft = notice(turn.channel, words.format(names=" ".join(f"#{name}" for name in names), space=space.id))
    return Told(draft, turn.place if not space.is_group else _at_home(kit, turn))


def _failed_in_group(kit: Kit, turn: Turn, outcome: Outcome) -> Told | None:
    """A turn in a group that came to nothing: the group was told one sentence, the owner is told why, until one there
    comes to its end again."""
    space = turn.session.space
    if not space.is_group or outcome not in ("failed", "unreachable", "replied"):
        return None
    key = f"failing {space}"
    if outcome == "replied":
        return _to_owner(kit, key, None)
    events = [event for event in kit.record.log.of_turn(turn.id) if not event.forgotten]
    failures = [event.payload for event in events if event.kind in (Kind.TURN_FAILED, Kind.MODEL_FAILED)]
    why = str(failures[-1].get("detail") or failures[-1].get("reason") or "") if failures else ""
    words = Words(
        _FAILED_IN_GROUP.zh.format(space=space.id, account=turn.account) + _details(why, done_so_far(events, "zh")),
        _FAILED_IN_GROUP.en.format(space=space.id, account=turn.account) + _details(why, done_so_far(events, "en")),
    )
    return _to_owner(kit, key, words)


def _details(*texts: str) -> str:
    """What else there is to say, each on a line: no secrets, and not at length."""
    return "".join(f"\n{mask(flat(text)[:_LONGEST_DETAIL]).text}" for text in texts if text)


def _at_home(kit: Kit, turn: Turn) -> Place:
    home = Space("private", turn.account)
    session = kit.record.sessions.running(home, turn.reader.person)
    return Place(session.id, home, None, turn.reader.person)


def _card(kit: Kit, turn: Turn) -> Told | None:
    """A persona card that counts here and cannot be used: told to the owner."""
    personas = kit.texts.personas
    card = personas.card(turn.session.space)
    if not isinstance(card, Unusable):
        return _to_owner(kit, f"card {card.name}", None)
    words = _card_words(card)
    if turn.reader.is_owner_alone:
        here = Chat(turn.channel, turn.session.space), turn.place
        return _to_owner(kit, f"card {card.name}", words, here)
    return _to_owner(kit, f"card {card.name}", words)


def _card_words(card: Unusable) -> Words:
    return Words(
        f"角色卡 {card.name} 用不了：{card.why.zh}在改好之前不用角色卡。/查看角色卡 看有哪些，/选择角色卡 换一张。",
        f"The persona card {card.name} cannot be used: {card.why.en} Until it is mended there is none. "
        "/personas lists the cards, /persona chooses another.",
    )


def _to_owner(
    kit: Kit,
    key: str,
    words: Words | None,
    here: tuple[Chat, Place] | None = None,
    *,
    but: Collection[str] = (),
    over: Words | None = None,
) -> Told | None:
    if words is None:
        ended = kit.record.troubles.ends(key, Place(person=OWNER))
        return word_to_owner(kit, over, but=but) if over is not None and ended else None
    if not kit.record.troubles.begins(key, Place(person=OWNER)):
        return None
    if here is None:
        return word_to_owner(kit, words, but=but)
    chat, place = here
    return Told(notice(chat.channel, words.say(kit.speaks_to(Reader(OWNER, Role.OWNER, chat.space)))), place)


_LONGEST_DETAIL = 300
_FAILED_IN_GROUP = Words(
    "在群 {space} 里，{account} 的一句没办成。好之前那里再出错我不另说。",
    "In the group {space}, something that {account} asked for was not done. Until it works again there, I do not "
    "tell you of more.",
)
_PINS = Words(
    "置顶的太长，这几条每次都带不上：{names}。/memory unpin 编号 取消置顶，或 /memory edit 编号 改短。",
    "Pinned entries are too long, and these are left out each time: {names}. "
    "/memory unpin NUMBER lets one go, /memory edit NUMBER shortens it.",
)
_PINS_IN_GROUP = Words(
    "在群聊 {space} 里，置顶的太长，这几条每次都带不上：{names}。取消置顶几条，或者改短。",
    "In the group {space} pinned entries are too long, and these are left out each time: {names}. "
    "Unpin or shorten some.",
)
