"""From a turn's events to the view that its requests are made from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime

from qingtuan.capabilities.working_set import working_set
from qingtuan.dates import mentions
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.turns import SAYING
from qingtuan.identity.accounts import is_agent
from qingtuan.identity.evidence import spoken
from qingtuan.media import happened
from qingtuan.memory.periods import periods
from qingtuan.models.routing import Route
from qingtuan.personas.cards import Card
from qingtuan.prompt.history import KINDS, Said, history
from qingtuan.prompt.view import TurnView
from qingtuan.tools.run import Situation
from qingtuan.turn.beside import beside
from qingtuan.turn.kit import Kit
from qingtuan.turn.turn import MAX_ROUNDS, Turn

_ROUTES: tuple[Route, ...] = ("vision", "flash", "code", "reason")


@dataclass(frozen=True, slots=True)
class Frame:
    """What stays the same in all requests of one turn."""

    kit: Kit
    turn: Turn
    view: TurnView
    messages: tuple[Event, ...]
    """What was said, and what had become of its media when the turn was looked at."""

    def at(self, events: list[Event]) -> TurnView:
        """The view after these events of the turn: their answers, calls and results stand in it."""
        current = history([*self.messages, *events], self.turn.reader, self.view.language)
        rounds = sum(event.kind is Kind.MODEL_ANSWERED for event in events)
        named = (said.tools for said in (*self.view.before, *current))
        # Not the registry of the turn's beginning: a server may have come up, or changed its tools, meanwhile.
        tools = working_set(named, self.kit.registry, self.turn.reader, self.kit.most_paged)
        return replace(
            self.view,
            current=current,
            tools=tuple(tool.spec for tool in tools),
            foreign_tools=any(tool.foreign_words for tool in tools),
            last_round=rounds >= MAX_ROUNDS - 1,
        )


def frame(kit: Kit, turn: Turn, started: Event) -> Frame:
    """Read everything that a turn's requests depend on, once."""
    language = kit.language(turn)
    said = _messages(kit, turn, started)
    messages = (*beside(kit.record.log, said), *(event for message in said for event in _media(kit, turn, message)))
    card = kit.texts.personas.card(turn.session.space)
    injected = started.payload.get("memory", {})
    # What another agent writes are nobody's words: no call has its evidence in them.
    own_words = "" if is_agent(turn.account) else spoken(turn.words)[0]
    view = TurnView(
        language=language,
        now=local_time(kit, turn, started.time),
        reader=turn.reader,
        account=turn.account,
        before=_before(kit, turn, started, {message.id for message in messages}),
        current=(),
        words=turn.words,
        own_words=own_words,
        templates=kit.texts.templates(),
        choices={route: kit.models.choose(route) for route in _ROUTES},
        # One that cannot be used is told to the owner; no other one takes its place.
        persona=card.for_reader(turn.reader) if isinstance(card, Card) else "",
        persona_name=card.name if isinstance(card, Card) else "",
        owner_public=kit.texts.owner_public,
        pinned=_text(kit, injected.get("pinned")),
        recalled=_text(kit, injected.get("recalled")),
        memory_of_others=bool(injected.get("of_others")),
        summaries=kit.summaries.in_context(turn.session),
        waiting=bool(kit.book.open_in(turn.session.id)),
    )
    return Frame(kit, turn, view, messages)


def local_time(kit: Kit, turn: Turn, moment: datetime) -> datetime:
    """`moment` in the zone of the turn's person, else the instance's."""
    return moment.astimezone(kit.zone_of(turn.reader))


def situation(view: TurnView) -> Situation:
    """What verdicts on calls depend on, as it stands in this request."""
    zone = view.now.tzinfo
    found = mentions(view.own_words, view.now, zone) if zone else ()
    named = periods(view.own_words, view.now, zone) if zone else ()
    days = {day for period in named for day in (period.first, period.last)}
    speakers = {item.account for item in view.said}
    return Situation(
        reader=view.reader,
        now=view.now,
        language=view.language,
        words=view.own_words,
        material=view.material,
        resolved=frozenset(
            text for value in (*(mention.value for mention in found), *days) for text in _spellings(value)
        ),
        results=tuple(item.message.text for item in view.current if item.message.role == "tool"),
        others=tuple(sorted(speakers - {view.account, ""})),
    )


def _spellings(value: date) -> list[str]:
    """A date or moment as a model may write it."""
    if isinstance(value, datetime):
        return [value.isoformat(), f"{value:%Y-%m-%dT%H:%M}", f"{value:%Y-%m-%d %H:%M}", f"{value:%Y-%m-%d}"]
    return [str(value), f"{value:%Y-%m-%d}"]


def _messages(kit: Kit, turn: Turn, started: Event) -> tuple[Event, ...]:
    """Every message that the turn was ever about: where one stands that was edited, its other wording stood."""
    now = {message.event.id: message.event for message in turn.messages}
    if list(now) == list(started.payload["messages"]):
        return tuple(now.values())
    events = kit.record.log.of_turn(turn.id)
    named = (name for event in events if event.kind in SAYING for name in event.payload.get("messages", ()))
    found = ((name, now.get(name) or kit.record.log.get(name)) for name in dict.fromkeys(named))
    return tuple(event for _, event in found if event is not None)


def _before(kit: Kit, turn: Turn, started: Event, own: Collection[str]) -> tuple[Said, ...]:
    events = kit.summaries.window(turn.session, KINDS)
    earlier = [
        event
        for event in events
        # A repair made in this turn is about what came before it.
        if (event.seq < started.seq or event.kind is Kind.SESSION_REPAIRED) and event.id not in own
    ]
    return history(earlier, turn.reader, kit.language(turn))


def _media(kit: Kit, turn: Turn, message: Event) -> list[Event]:
    """What became of the media of a message, but for what the turn itself saw in it."""
    caused = kit.record.log.caused_by(message.id)
    return [event for event in caused if event.kind in happened.KINDS and event.place.turn != turn.id]


def _text(kit: Kit, part: str | None) -> str:
    try:
        return kit.record.log.part(part).decode() if part else ""
    except KeyError:
        return ""  # it held something that was erased since
