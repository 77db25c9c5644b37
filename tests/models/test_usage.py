"""Tokens, money and days."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models.chat import Usage
from qingtuan.models.usage import Allowance, Price, Spent, Use, cost, estimate_tokens, spent, spent_by, used_up

PRICE = Price(Decimal("2"), Decimal("8"), Decimal("0.5"))
DAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("word" * 10, 10), ("你好" * 20, 30), (b"12345", 2), ("\ud83d", 1)]
)
def test_estimate(text: str | bytes, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("usage", "price", "expected"),
    [
        (Usage(1_000_000, 0), PRICE, "2"),
        (Usage(0, 500_000), PRICE, "4"),
        (Usage(1_000_000, 0, cached=800_000), PRICE, "0.8"),
        (Usage(1_000_000, 0, cached=800_000), Price(Decimal(2), Decimal(8)), "2"),
        (Usage(100, 0, cached=900), PRICE, "0.00005"),
        (Usage(1, 1), PRICE, "0.00001"),
    ],
)
def test_cost(usage: Usage, price: Price, expected: str) -> None:
    assert cost(usage, price) == Decimal(expected)


USES = (
    Use(DAY, "owner", "t1", "a", Usage(1000, 10, cached=500)),
    Use(DAY, "owner", "t1", "a", Usage(1000, 20, estimated=True)),
    Use(DAY, "qq-2", "t2", "unknown", Usage(500, 5)),
    Use(DAY, None, None, "dollars", Usage(1_000_000, 0)),
)
PRICES = {"a": PRICE, "dollars": Price(Decimal("0.15"), Decimal("0.6"), currency="USD")}


def test_spent() -> None:
    total = spent(USES, PRICES.get)
    assert (total.answers, total.turns, total.tokens, total.cached) == (4, 2, 1_002_535, 500)
    assert total.cost == {"CNY": Decimal("0.00349"), "USD": Decimal("0.15")}
    assert total.estimated
    assert total.unpriced == {"unknown"}
    assert spent((), PRICES.get) == Spent()


@given(st.permutations(USES))
def test_sums_by_person_add_up(uses: list[Use]) -> None:
    by_person = spent_by(lambda use: use.person, uses, PRICES.get)
    assert sum(part.tokens for part in by_person.values()) == spent(uses, PRICES.get).tokens
    assert by_person["owner"].turns == 1


@pytest.mark.parametrize(
    ("allowance", "so_far", "gone"),
    [
        (Allowance(), Spent(turns=10**6, prompt=10**9), None),
        (Allowance(turns=30), Spent(turns=29), None),
        (Allowance(turns=30), Spent(turns=30), "turns"),
        (Allowance(tokens=100), Spent(prompt=99), None),
        (Allowance(tokens=100), Spent(prompt=99, completion=1), "tokens"),
        (Allowance(turns=0), Spent(), "turns"),
    ],
)
def test_used_up(allowance: Allowance, so_far: Spent, gone: str | None) -> None:
    assert used_up(allowance, so_far) == gone
