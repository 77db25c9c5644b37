"""What an answer used and what it cost: token estimates, prices, and the arithmetic of daily budgets. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal, TypeVar

from qingtuan.models.chat import Usage

_BYTES_PER_TOKEN = 4
"""Of UTF-8: four letters of English, or one and a third Chinese characters, are about one token with the
tokenizers of the providers that we name; so one number serves both scripts."""

_MILLION = Decimal(1_000_000)


def estimate_tokens(text: str | bytes) -> int:
    """Roughly how many tokens a text is; good to about a third, and never 0 for a text that is not empty."""
    size = len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // _BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    """Of input that the provider had in its cache; None: like any other input."""
    currency: str = "CNY"


def cost(usage: Usage, price: Price) -> Decimal:
    """What one answer cost, in the currency of `price`, unrounded."""
    cached = min(usage.cached, usage.prompt)
    cached_price = price.input if price.cached is None else price.cached
    total = (usage.prompt - cached) * price.input + cached * cached_price + usage.completion * price.output
    return total / _MILLION


@dataclass(frozen=True, slots=True)
class Use:
    """One answer of a model, as it counts towards budgets and bills."""

    day: date
    """Of the instance's zone."""
    person: str | None
    """Whose turn it was; None for work that belongs to nobody."""
    turn: str | None
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """A sum over answers."""

    answers: int = 0
    turns: int = 0
    """Different turns; answers outside a turn count for none."""
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cost: Mapping[str, Decimal] = field(default_factory=dict)
    """By currency."""
    estimated: bool = False
    """Whether some provider gave no count and ours was used."""
    unpriced: frozenset[str] = frozenset()
    """Models without a known price; what they cost is missing from `cost`."""

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


def spent(uses: Iterable[Use], price_of: Callable[[str], Price | None]) -> Spent:
    """The sum of `uses`; `price_of` gives a model's price, None if it is not known."""
    uses = tuple(uses)
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    unpriced = set()
    for use in uses:
        if (price := price_of(use.model)) is None:
            unpriced.add(use.model)
        else:
            costs[price.currency] += cost(use.usage, price)
    return Spent(
        answers=len(uses),
        turns=len({use.turn for use in uses if use.turn}),
        prompt=sum(use.usage.prompt for use in uses),
        completion=sum(use.usage.completion for use in uses),
        cached=sum(use.usage.cached for use in uses),
        cost=dict(costs),
        estimated=any(use.usage.estimated for use in uses),
        unpriced=frozenset(unpriced),
    )


Key = TypeVar("Key", bound=Hashable)


def spent_by(
    key: Callable[[Use], Key], uses: Iterable[Use], price_of: Callable[[str], Price | None]
) -> dict[Key, Spent]:
    """Sums by day, person, model or whatever `key` makes of a use, in the order of first appearance."""
    groups: dict[Key, list[Use]] = {}
    for use in uses:
        groups.setdefault(key(use), []).append(use)
    return {name: spent(group, price_of) for name, group in groups.items()}


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be used in a day; None: as much as they like."""

    turns: int | None = None
    tokens: int | None = None


def used_up(allowance: Allowance, so_far: Spent) -> Literal["turns", "tokens"] | None:
    """Which part of a day's allowance is gone before the next turn begins; None while there is some left.

    Turns are counted before they begin and tokens when they are known, so a turn that has begun is
    never cut off: a day may end above its tokens by one turn.
    """
    if allowance.turns is not None and so_far.turns >= allowance.turns:
        return "turns"
    if allowance.tokens is not None and so_far.tokens >= allowance.tokens:
        return "tokens"
    return None
