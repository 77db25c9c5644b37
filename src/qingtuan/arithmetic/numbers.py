"""Operations on numbers: exact as long as they can be, and bounded, since 9**9**9 has more digits than there is room
for. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, Overflow
from fractions import Fraction

from qingtuan.errors import ToolFailed
from qingtuan.language import Words

MOST_BITS = 10_000
"""Of a numerator or denominator: some 3,000 digits."""


@dataclass(frozen=True, slots=True)
class Number:
    """A value, and whether it is that exactly."""

    value: Fraction
    exact: bool = True


def bounded(value: Fraction, *, exact: bool) -> Number:
    """A number, if it is not too large; one that is not exact is cut to 50 digits before that. Raises `ToolFailed`."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        if not exact:
            return _roughly(lambda: decimal(Number(value)))
        raise ToolFailed(_LARGE)
    return Number(value, exact)


def bounded_exact(value: Fraction) -> Number:
    """An exact number, if it is not too large. Raises `ToolFailed`."""
    return bounded(value, exact=True)


def added(one: Number, other: Number) -> Number:
    return bounded(one.value + other.value, exact=one.exact and other.exact)


def taken(one: Number, other: Number) -> Number:
    return bounded(one.value - other.value, exact=one.exact and other.exact)


def times(one: Number, other: Number) -> Number:
    return bounded(one.value * other.value, exact=one.exact and other.exact)


def divided(one: Number, other: Number) -> Number:
    return bounded(one.value / _no_zero(other), exact=one.exact and other.exact)


def whole_part(one: Number, other: Number) -> Number:
    """The quotient without its rest, rounded down."""
    return bounded(Fraction(math.floor(one.value / _no_zero(other))), exact=one.exact and other.exact)


def rest(one: Number, other: Number) -> Number:
    """What is left of a division, with the sign of the divisor."""
    return bounded(one.value % _no_zero(other), exact=one.exact and other.exact)


def power(base: Number, exponent: Number) -> Number:
    if exponent.value.denominator != 1:
        return _rooted(base, exponent)
    times_, exact = int(exponent.value), base.exact and exponent.exact
    if base.value == 0 and times_ < 0:
        raise ToolFailed(_BY_ZERO)
    if abs(base.value) in (0, 1):
        return Number(base.value ** (times_ % 2 + 2 if times_ else 0), exact)
    bits = max(base.value.numerator.bit_length(), base.value.denominator.bit_length())
    if abs(times_) * max(1, bits - 1) > MOST_BITS:
        return _raised(base.value, times_)
    return bounded(base.value**times_, exact=exact)


def _raised(base: Fraction, times_: int) -> Number:
    """A power with more digits than there is room for. Raises `ToolFailed`: it is too large, or too close to zero."""
    if times_.bit_length() > _LONGEST_EXPONENT:
        raise ToolFailed(_LARGE)
    # Each digit of the exponent costs one of the base.
    wide = Context(prec=CONTEXT.prec + _LONGEST_EXPONENT // 3, Emax=CONTEXT.Emax, Emin=CONTEXT.Emin)
    found = _roughly(
        lambda: CONTEXT.plus(wide.power(wide.divide(Decimal(base.numerator), Decimal(base.denominator)), times_))
    )
    if not found.value:
        raise ToolFailed(_LARGE)
    return found


def _rooted(base: Number, exponent: Number) -> Number:
    if base.value < 0:
        raise ToolFailed(_NEGATIVE)
    if exponent.value == Fraction(1, 2):
        return root(base)
    if base.value == 0:
        return Number(Fraction(0), base.exact)
    return _roughly(lambda: CONTEXT.exp(CONTEXT.multiply(decimal(exponent), CONTEXT.ln(decimal(base)))))


def root(number: Number) -> Number:
    """The square root."""
    if number.value < 0:
        raise ToolFailed(_NEGATIVE)
    above, below = math.isqrt(number.value.numerator), math.isqrt(number.value.denominator)
    if above**2 == number.value.numerator and below**2 == number.value.denominator:
        return Number(Fraction(above, below), number.exact)
    return _roughly(lambda: CONTEXT.sqrt(decimal(number)))


def factorial(number: Number) -> Number:
    if number.value.denominator != 1 or not 0 <= number.value <= _LARGEST_FACTORIAL:
        raise ToolFailed(_FACTORIAL)
    return bounded(Fraction(math.factorial(int(number.value))), exact=number.exact)


def decimal(number: Number) -> Decimal:
    """To 50 digits."""
    return CONTEXT.divide(Decimal(number.value.numerator), Decimal(number.value.denominator))


def _roughly(work: Callable[[], Decimal]) -> Number:
    try:
        found = work()
    except Overflow:
        raise ToolFailed(_LARGE) from None
    except DecimalException:
        raise ToolFailed(_UNDEFINED) from None
    if not found.is_finite():
        raise ToolFailed(_LARGE)
    if found.adjusted() > MOST_BITS // 4:
        raise ToolFailed(_LARGE)
    if found.adjusted() < -MOST_BITS // 4:
        return Number(Fraction(0), exact=False)
    return bounded(Fraction(found), exact=False)


def _by_float(work: Callable[[float], float]) -> Callable[[Number], Number]:
    """A function that is known to some 15 digits."""

    def run(number: Number) -> Number:
        try:
            found = work(float(number.value))
        except (ValueError, OverflowError):
            raise ToolFailed(_UNDEFINED) from None
        if not math.isfinite(found) or abs(found) > 1e15:
            raise ToolFailed(_UNDEFINED)
        if abs(found) < 1e-15:
            found = 0.0
        return Number(Fraction(found).limit_denominator(10**17), exact=False)

    return run


def _logarithm(number: Number, base: Number | None = None) -> Number:
    if number.value <= 0 or (base is not None and (base.value <= 0 or base.value == 1)):
        raise ToolFailed(_LOGARITHM)
    if base is None:
        found = _roughly(lambda: CONTEXT.log10(decimal(number)))
    else:
        found = _roughly(lambda: CONTEXT.divide(CONTEXT.ln(decimal(number)), CONTEXT.ln(decimal(base))))
    near = Number(Fraction(round(found.value)))
    # 2^10 is 1024 exactly, and so is the logarithm.
    if number.exact and abs(near.value) < 10_000 and abs(found.value - near.value) < Fraction(1, 10**40):
        by = base or Number(Fraction(10))
        if by.exact and power(by, near).value == number.value:
            return near
    return found


def _natural(number: Number) -> Number:
    if number.value <= 0:
        raise ToolFailed(_LOGARITHM)
    return Number(Fraction(0), number.exact) if number.value == 1 else _roughly(lambda: CONTEXT.ln(decimal(number)))


def _rounded(number: Number, places: Number | None = None) -> Number:
    """Half away from zero, as taught at school."""
    digits = int(places.value) if places is not None and places.value.denominator == 1 else 0
    if abs(digits) > _MOST_PLACES:
        raise ToolFailed(_UNDEFINED)
    scale = Fraction(10) ** digits
    moved = abs(number.value) * scale + Fraction(1, 2)
    value = Fraction(math.floor(moved)) / scale
    return bounded(value if number.value >= 0 else -value, exact=number.exact)


def _whole(number: Number) -> int:
    if number.value.denominator != 1:
        raise ToolFailed(_WHOLE)
    return int(number.value)


def _joined(numbers: tuple[Number, ...], value: Fraction) -> Number:
    return bounded(value, exact=all(number.exact for number in numbers))


def _summed(*numbers: Number) -> Number:
    return _joined(numbers, sum((number.value for number in numbers), Fraction(0)))


def _mean(*numbers: Number) -> Number:
    return _joined(numbers, sum((number.value for number in numbers), Fraction(0)) / len(numbers))


def _no_zero(number: Number) -> Fraction:
    if number.value == 0:
        raise ToolFailed(_BY_ZERO)
    return number.value


CONTEXT = Context(prec=50, Emax=999_999, Emin=-999_999)
PI = Number(Fraction(Decimal("3.14159265358979323846264338327950288419716939937510")), exact=False)
E = Number(Fraction(Decimal("2.71828182845904523536028747135266249775724709369996")), exact=False)
_LARGEST_FACTORIAL = 900
_LONGEST_EXPONENT = 200
"""Bits."""
_MOST_PLACES = 100

FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Number]]] = {
    "sqrt": (1, 1, root),
    "abs": (1, 1, lambda number: Number(abs(number.value), number.exact)),
    "round": (1, 2, _rounded),
    "floor": (1, 1, lambda number: Number(Fraction(math.floor(number.value)), number.exact)),
    "ceil": (1, 1, lambda number: Number(Fraction(math.ceil(number.value)), number.exact)),
    "min": (1, 100, lambda *numbers: min(numbers, key=lambda number: number.value)),
    "max": (1, 100, lambda *numbers: max(numbers, key=lambda number: number.value)),
    "sum": (1, 100, _summed),
    "avg": (1, 100, _mean),
    "mean": (1, 100, _mean),
    "mod": (2, 2, rest),
    "pow": (2, 2, power),
    "gcd": (2, 2, lambda one, other: Number(Fraction(math.gcd(_whole(one), _whole(other))))),
    "lcm": (2, 2, lambda one, other: bounded(Fraction(math.lcm(_whole(one), _whole(other))), exact=True)),
    "ln": (1, 1, _natural),
    "log": (1, 2, _logarithm),
    "log10": (1, 1, _logarithm),
    "log2": (1, 1, lambda number: _logarithm(number, Number(Fraction(2)))),
    "exp": (1, 1, lambda number: _roughly(lambda: CONTEXT.exp(decimal(number)))),
    "sin": (1, 1, _by_float(math.sin)),
    "cos": (1, 1, _by_float(math.cos)),
    "tan": (1, 1, _by_float(math.tan)),
    "asin": (1, 1, _by_float(math.asin)),
    "acos": (1, 1, _by_float(math.acos)),
    "atan": (1, 1, _by_float(math.atan)),
}
"""By name: the fewest and most arguments, and what it does."""

_LARGE = Words("数太大了，算不了。", "The numbers become too large.")
_BY_ZERO = Words("不能除以零。", "Nothing can be divided by zero.")
_NEGATIVE = Words("负数没有实数的这个根。", "A negative number has no such root among the real numbers.")
_FACTORIAL = Words(
    f"阶乘只算 0 到 {_LARGEST_FACTORIAL} 的整数。", f"Factorials are of whole numbers from 0 to {_LARGEST_FACTORIAL}."
)
_LOGARITHM = Words("对数只有正数有，底不能是 1。", "Logarithms are of positive numbers, and their base is not 1.")
_WHOLE = Words("这要整数。", "That takes whole numbers.")
_UNDEFINED = Words("这里没有值。", "There is no value there.")
