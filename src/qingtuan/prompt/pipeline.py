"""The pipeline of adapters that turns a view into a request: one visible list, each a pure function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.models.chat import ChatMessage, Request
from qingtuan.models.routing import TurnFacts, route_for, temperature_for
from qingtuan.prompt.draft import Draft
from qingtuan.prompt.fitting import fitted
from qingtuan.prompt.history import Said
from qingtuan.prompt.layers import memory as memory_layers
from qingtuan.prompt.layers import persona, rules, speaker
from qingtuan.prompt.view import Layer, TurnView


@dataclass(frozen=True, slots=True)
class Step:
    """What one adapter changed, for the trace."""

    adapter: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """A request with what it was made of."""

    request: Request
    draft: Draft
    steps: tuple[Step, ...]
    made_from: Origin
    """The origin of what a model answers to it."""
    earlier_left_out: int = 0
    """Messages of earlier turns that did not fit the model's context."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Layers 1 to 7 as they stand in the request; 8 and 9 are its messages."""
        return (*self.draft.head, *self.draft.tail)


Adapter = Callable[[TurnView, Draft], Draft]


def base(view: TurnView, draft: Draft) -> Draft:
    """Rules, protocol, card and public facts in front; the history; who speaks and when behind it."""
    head = (rules.system_rules(view), rules.protocol(view), persona.persona(view), speaker.owner_public(view))
    return replace(
        draft,
        head=tuple(layer for layer in head if layer),
        before=view.before,
        tail=(speaker.speaker(view),),
        current=view.current,
    )


def model_choice(view: TurnView, draft: Draft) -> Draft:
    """The route that the turn's own words call for, and the model of that route."""
    facts = TurnFacts(
        text=view.words,
        has_image=bool(view.pictures),
        question_open=view.waiting,
        writing_capability=_makes_tools(view),
    )
    route = route_for(facts)
    choice = view.choices[route]
    return replace(draft, route=route, params=replace(draft.params, model=choice.model, thinking=choice.thinking))


def _makes_tools(view: TurnView) -> bool:
    """Whether a capability is being written in this turn: the tools for it were found, or were called."""
    called = (call.name for item in view.current for call in item.message.calls)
    found = (name for item in view.current for name in item.tools)
    return not _MAKING.isdisjoint((*called, *found))


_MAKING = frozenset({"capability_create", "capability_update"})


def temperature(view: TurnView, draft: Draft) -> Draft:
    """Low after a result, higher where something is to be invented by request."""
    after_result = bool(view.current) and view.current[-1].message.role == "tool"
    value = temperature_for(draft.route, view.words, after_result=after_result)
    return replace(draft, params=replace(draft.params, temperature=value))


def memory(view: TurnView, draft: Draft) -> Draft:
    """Pinned memory in front, what was recalled for this message behind."""
    pinned, recalled = memory_layers.pinned(view), memory_layers.recalled(view)
    head = (*draft.head, pinned) if pinned else draft.head
    tail = (*draft.tail, recalled) if recalled else draft.tail
    return replace(draft, head=head, tail=tail)


def summaries(view: TurnView, draft: Draft) -> Draft:
    """The compressed older part of the session, between memory and raw messages."""
    return replace(draft, head=(*draft.head, *memory_layers.summaries(view)))


def tools(view: TurnView, draft: Draft) -> Draft:
    """The tools of the turn; none in the last round, which must end in words, nor for a model without tools."""
    silent = view.last_round or not view.choices[draft.route].tools
    return replace(draft, tools=() if silent else view.tools)


def media(view: TurnView, draft: Draft) -> Draft:
    """A look at pictures is that alone: they stand with the person's words, without memory, history or tools. What
    comes of it is material for the turn."""
    if not view.pictures:
        return draft
    words = view.words.strip() or _LOOK.say(view.language)
    message = ChatMessage("user", words, images=view.pictures)
    layer = Layer("1", "vision", view.templates["vision"], "prompts/vision.md")
    return replace(draft, head=(layer,), before=(), tail=(), current=(Said(message, Origin.FILE, "", None),))


_LOOK = Words("看看这些图里是什么。", "Say what is in these pictures.")


def budget(view: TurnView, draft: Draft) -> Draft:
    """What does not fit the model's context is left out: of this turn the middle of long material and results, then
    whole oldest turns; a call never loses its result."""
    return fitted(draft, view.choices[draft.route].profile.context, view.language)


PIPELINE: tuple[tuple[str, Adapter], ...] = (
    ("base", base),
    ("model choice", model_choice),
    ("temperature", temperature),
    ("memory", memory),
    ("summaries", summaries),
    ("tools", tools),
    ("media", media),
    ("budget", budget),
)


_FIELDS = tuple(field.name for field in fields(Draft))


def build(view: TurnView) -> Built:
    """The request of a view: a pure function, so that the same inputs give the same bytes."""
    draft = Draft()
    steps = []
    for name, adapter in PIPELINE:
        changed = adapter(view, draft)
        differing = [name for name in _FIELDS if getattr(changed, name) != getattr(draft, name)]
        steps.append(Step(name, tuple(differing)))
        draft = changed
    messages = (
        *(ChatMessage("system", layer.text) for layer in draft.head),
        *(said.message for said in draft.before),
        *(ChatMessage("system", layer.text) for layer in draft.tail),
        *(said.message for said in draft.current),
    )
    left_out = len(view.before) - len(draft.before)
    return Built(Request(messages, draft.tools, draft.params), draft, tuple(steps), view.made_from, left_out)
