"""A number as people write it. Pure."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from qingtuan.arithmetic.numbers import Number

DIGITS = 15
"""Of what is not shown whole."""
_MOST_PLACES = 20
_MOST_WHOLE = 300


def shown(number: Number) -> tuple[str, bool]:
    """The number, and whether that is it exactly."""
    value = number.value
    places = _places(value.denominator)
    if number.exact and places is not None and len(str(abs(value.numerator))) <= _MOST_WHOLE:
        return _whole(value, places), True
    rounded = Context(prec=DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator))
    if rounded and not -DIGITS <= rounded.adjusted() <= DIGITS:
        return f"{rounded.normalize():E}".replace("E", "e"), False
    text = f"{rounded:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text), False


def _places(denominator: int) -> int | None:
    """How many decimals a fraction has; None for one that does not end, or not soon."""
    for places in range(_MOST_PLACES + 1):
        if 10**places % denominator == 0:
            return places
    return None


def _whole(value: Fraction, places: int) -> str:
    digits = str(abs(value.numerator * 10**places // value.denominator)).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
