"""The value of an expression. Pure.

Binds as in mathematics: `^` first, from the right; then signs, then `*` and `/`, then `+` and `-`. A percent sign makes
hundredths; between two numbers it is the rest of a division.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from qingtuan.arithmetic import numbers
from qingtuan.arithmetic.numbers import FUNCTIONS, Number
from qingtuan.arithmetic.tokens import Token, tokens, wrong
from qingtuan.errors import ToolFailed
from qingtuan.language import Words


def value_of(expression: str) -> Number:
    """What an expression comes to.

    Raises:
        ArgumentsRefused: it cannot be understood; says where.
        ToolFailed: it has no value, or one that is too large; says where.
    """
    reader = _Reader(tokens(expression))
    value = reader.sum()
    if reader.now.sort != "end":
        raise wrong(reader.now.place, _STRAY, reader.now.text)
    return value


class _Reader:
    """Goes through the tokens once."""

    def __init__(self, row: list[Token]) -> None:
        self._row = row
        self._next = 0
        self._depth = 0

    @property
    def now(self) -> Token:
        return self._row[self._next]

    @property
    def after(self) -> Token:
        return self._row[min(self._next + 1, len(self._row) - 1)]

    def sum(self) -> Number:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise wrong(self.now.place, _DEEP)
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            other = self._product()
            value = _at(sign, numbers.added if sign.text == "+" else numbers.taken, value, other)
        self._depth -= 1
        return value

    def _product(self) -> Number:
        value = self._signed()
        while True:
            if (sign := self._take("*", "/", "//")) is not None:
                value = _at(sign, _PRODUCTS[sign.text], value, self._signed())
            elif (sign := self._take("%") or self._take_name("mod")) is not None:
                value = _at(sign, numbers.rest, value, self._signed())
            elif self._begins_factor():
                value = _at(self.now, numbers.times, value, self._power())
            else:
                return value

    def _begins_factor(self) -> bool:
        """Whether a factor follows without a sign: 2(3+4), 2π. Two numbers side by side are a mistake."""
        named = self.now.sort == "name" and self.now.text != "mod"
        return named or (self.now.sort == "sign" and self.now.text in ("(", "√"))

    def _signed(self) -> Number:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise wrong(self.now.place, _DEEP)
        if (sign := self._take("-", "+")) is not None:
            value = self._signed()
            value = Number(-value.value, value.exact) if sign.text == "-" else value
        else:
            value = self._power()
        self._depth -= 1
        return value

    def _power(self) -> Number:
        base = self._after_signs()
        if (sign := self._take("^")) is not None:
            return _at(sign, numbers.power, base, self._signed())
        return base

    def _after_signs(self) -> Number:
        """A number with the signs that stand behind it."""
        value = self._atom()
        while self.now.sort == "sign" and self.now.text in _BEHIND:
            if self.now.text == "%" and self._is_rest():
                break
            sign = self.now
            self._next += 1
            value = _at(sign, _BEHIND[sign.text], value)
        return value

    def _is_rest(self) -> bool:
        """Whether a percent sign stands between two numbers."""
        return self.after.sort in ("number", "name") or self.after.text in ("(", "√")

    def _atom(self) -> Number:
        token = self.now
        self._next += 1
        if token.sort == "number":
            return _at(token, numbers.bounded_exact, token.value)
        if token.sort == "name":
            return self._named(token)
        if token.text == "(":
            value = self.sum()
            self._close(token)
            return value
        if token.text == "√":
            return _at(token, numbers.root, self._signed())
        if token.sort == "end":
            raise wrong(token.place - 1, _UNFINISHED)
        raise wrong(token.place, _NO_NUMBER, token.text)

    def _named(self, token: Token) -> Number:
        if token.text in _NAMED:
            return _NAMED[token.text]
        if token.text not in FUNCTIONS:
            raise wrong(token.place, _NO_FUNCTION, token.text)
        opening = self._take("(")
        if opening is None:
            raise wrong(token.place, _BRACKETS, token.text)
        given = [self.sum()]
        while self._take(",") is not None:
            given.append(self.sum())
        self._close(opening)
        fewest, most, run = FUNCTIONS[token.text]
        if not fewest <= len(given) <= most:
            raise wrong(token.place, _ARGUMENTS, token.text)
        return _at(token, run, *given)

    def _close(self, opening: Token) -> None:
        if self._take(")") is None:
            if self.now.sort == "end":
                raise wrong(opening.place, _OPEN, "(")
            raise wrong(self.now.place, _STRAY, self.now.text)

    def _take(self, *signs: str) -> Token | None:
        token = self.now
        if token.sort == "sign" and token.text in signs:
            self._next += 1
            return token
        return None

    def _take_name(self, name: str) -> Token | None:
        token = self.now
        if token.sort == "name" and token.text == name:
            self._next += 1
            return token
        return None


def _at(token: Token, work: Callable[..., Number], *given: object) -> Number:
    """Do something; what goes wrong is said with its place."""
    try:
        return work(*given)
    except ToolFailed as error:
        if error.detail:
            raise
        raise ToolFailed(
            Words(
                f"第 {token.place + 1} 个字「{token.text[:20]}」：{error.words.zh}",
                f"At character {token.place + 1} “{token.text[:20]}”: {error.words.en}",
            ),
            detail=f"at {token.place}",
        ) from None


_DEEPEST = 60
_HUNDREDTH = Number(Fraction(1, 100))
_BEHIND: dict[str, Callable[[Number], Number]] = {
    "%": lambda number: numbers.times(number, _HUNDREDTH),
    "!": numbers.factorial,
    "°": lambda number: numbers.times(number, Number(numbers.PI.value / 180, exact=False)),
    "²": lambda number: numbers.power(number, Number(Fraction(2))),
    "³": lambda number: numbers.power(number, Number(Fraction(3))),
}
_PRODUCTS = {"*": numbers.times, "/": numbers.divided, "//": numbers.whole_part}
_NAMED = {"pi": numbers.PI, "e": numbers.E, "p": numbers.PI}

_STRAY = Words("这里不该有这个。", "that does not belong here.")
_DEEP = Words("括号套得太深。", "the brackets are too deep.")
_UNFINISHED = Words("算式没有写完。", "the expression is not finished.")
_NO_NUMBER = Words("这里应该是一个数。", "a number belongs here.")
_NO_FUNCTION = Words(
    f"没有这个函数。有：{'、'.join(FUNCTIONS)}。", f"there is no such function. There are: {', '.join(FUNCTIONS)}."
)
_BRACKETS = Words("函数后面要有括号。", "a function takes brackets.")
_ARGUMENTS = Words("参数的个数不对。", "it takes another number of arguments.")
_OPEN = Words("括号没有关上。", "the bracket is not closed.")
