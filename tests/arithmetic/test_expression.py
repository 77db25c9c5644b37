"""Arithmetic as people write it: exact, bounded, and with the place of what is wrong."""

from __future__ import annotations

import ast
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.arithmetic.expression import value_of
from qingtuan.arithmetic.numbers import FUNCTIONS
from qingtuan.arithmetic.shown import shown
from qingtuan.errors import ArgumentsRefused, ToolFailed


def worked_out(expression: str) -> str:
    text, exact = shown(value_of(expression))
    return text if exact else f"≈{text}"


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0.1+0.2", "0.3"),
        ("(1/3)*3", "1"),
        ("1/3", "≈0.333333333333333"),
        ("-2^2", "-4"),
        ("2^-2", "0.25"),
        ("2^2^3", "256"),
        ("2**10", "1024"),
        ("7//2", "3"),
        ("-7//2", "-4"),
        ("10%3", "1"),
        ("10 mod 3", "1"),
        ("10%(3)", "1"),
        ("50%", "0.5"),
        ("80*(1+15%)", "92"),
        ("100+5%", "100.05"),
        ("12万*3%", "3600"),
        ("12.5 万的3%".replace("的", "*"), "3750"),
        ("1.5亿/3", "50000000"),
        ("3亿5千万", "350000000"),
        ("2千万+1", "20000001"),
        ("1,234,567.5+1", "1234568.5"),
        ("max(1,234)", "234"),
        ("sum(1,000,(2))", "3"),
        ("１２×３÷４＝？", "9"),
        ("3 x 4", "12"),
        ("128 乘以 37 减 6 除以 2", "4733"),
        ("2(3+4)", "14"),
        ("2π", "≈6.28318530717959"),
        ("√16+5!", "124"),
        ("3²+2³", "17"),
        ("sqrt(16/9)*3", "4"),
        ("sin(30°)", "≈0.5"),
        ("log(1000)", "3"),
        ("log(1024, 2)", "10"),
        ("log2(8)", "3"),
        ("ln(1)", "0"),
        ("round(2.5)", "3"),
        ("round(-10/3, 2)", "-3.33"),
        ("¥80*8.5/10", "68"),
        ("2^200", str(2**200)),
        ("0^0", "1"),
        ("1e400", "≈1e+400"),
        ("exp(-99999)", "≈0"),
        ("avg(1,2,4)*3", "7"),
        ("gcd(12,18)+lcm(4,6)", "18"),
        ("1-1e-18", "0.999999999999999999"),
    ],
)
def test_results(expression: str, result: str) -> None:
    assert worked_out(expression) == result


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("1+*2", 3), ("(1", 1), ("1)", 2), ("1+", 2), ("3 4", 3), ("foo(3)", 1), ("1+import", 3), ("3万5", 1),
        ("1.2.3", 4), ("sqrt 2", 1), ("sqrt()", 6), ("sqrt(1,2)", 1), ("a=3", 2), ("1;2", 2), ("'a'", 1),
        ("__import__('os')", 1), ("9..real", 2), ("1,2", 2), ("3千5万", 1), ("你好", 1), ("1\x002", 2),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(expression: str, place: int) -> None:
    with pytest.raises(ArgumentsRefused) as caught:
        value_of(expression)
    assert caught.value.words.zh.startswith(f"第 {place} 个字")
    assert caught.value.words.en.startswith(f"At character {place}")


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9", "9^9^9^9", "99999^99999", "2^-99999", "0.5^20000", "901!", "900!!", "1e9999*1e9999", "exp(1000000)",
        "e^e^9", "10^(10^10)", "1/0", "0^-1", "5%0", "7//0", "√(-1)", "(-8)^(1/3)", "ln(0)", "log(5,1)", "asin(2)",
        "tan(90°)", "2.5!", "gcd(1.5,2)", "(" + "*".join(["999999999"] * 48) + ")^9", "round(1, 10^9)", "1.1^9999999",
    ],
)  # fmt: skip
def test_what_has_no_value_or_too_large_a_one(expression: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        value_of(expression)
    assert "个字" in caught.value.words.zh


@pytest.mark.parametrize("expression", ["", "  ", "=", "1" * 501, "(" * 100, "-" * 200 + "1", "((((" * 30 + "1"])
def test_no_expressions(expression: str) -> None:
    with pytest.raises(ArgumentsRefused):
        value_of(expression)


_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_EXPRESSIONS = st.recursive(
    st.integers(0, 999).map(str) | st.decimals(0, 99, places=2).map(str),
    lambda inner: (
        st.builds(lambda a, sign, b: f"({a} {sign} {b})", inner, st.sampled_from("+-*/"), inner)
        | inner.map(lambda a: f"-({a})")
    ),
    max_leaves=12,
)


def by_python(node: ast.expr) -> Fraction:
    match node:
        case ast.BinOp(left, sign, right):
            kinds = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
            result = _SIGNS[kinds[type(sign)]](by_python(left), by_python(right))
            assert isinstance(result, Fraction)
            return result
        case ast.UnaryOp(ast.USub(), operand):
            return -by_python(operand)
        case ast.Constant(value):
            return Fraction(str(value))
    raise AssertionError(node)


@given(_EXPRESSIONS)
def test_agrees_with_exact_fractions(expression: str) -> None:
    try:
        expected = by_python(ast.parse(expression, mode="eval").body)
    except ZeroDivisionError:
        with pytest.raises(ToolFailed):
            value_of(expression)
        return
    assert value_of(expression).value == expected


_PIECES = st.sampled_from([*"0123456789.,+-*/^%!()°²√π万亿千x ", "**", "e", "1e9", "mod", *FUNCTIONS])


@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_anything_has_a_value_or_a_sentence(expression: str) -> None:
    try:
        said = shown(value_of(expression))[0]
    except (ArgumentsRefused, ToolFailed) as error:
        said = error.words.zh
    assert 0 < len(said) < 400


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1.001^3650", "≈38.4045605073795"),
        ("(1+0.0345678/365)^3650", "≈1.4129244466331"),
        ("0.9999^10000", "≈0.36786104643293"),
        ("e^100", "≈2.68811714181614e+43"),
        ("e^-100", "≈3.72007597602084e-44"),
        ("10000*(1+0.05/12)^360", "≈44677.4431400613"),
        ("(-1.001)^3651", "≈-38.4429650678868"),
        ("(-1.001)^3650", "≈38.4045605073795"),
        ("1.001^-3650", "≈0.0260385742419276"),
        ("2x3", "6"), ("128x37", "4736"), ("(1+10^-40)^(10^40)", "≈2.71828182845905"),
        ("2X(3)", "6"), ("2x√4", "4"), ("3x.5", "1.5"), ("3 x4", "12"), ("2xpi", None), ("0x10", None), ("10x3", "30"),
    ],
)  # fmt: skip
def test_ordinary_powers_and_products(expression: str, result: str | None) -> None:
    if result is None:
        with pytest.raises(ArgumentsRefused):
            value_of(expression)
    else:
        assert worked_out(expression) == result


def test_what_is_small_and_not_exact_stays() -> None:
    # Its denominator grows long, and it is far from nothing.
    assert worked_out("sqrt(0.5)^59*sqrt(0.5)^41") == "≈8.88178419700125e-16"
    assert worked_out("10^15*sqrt(0.5)^59*sqrt(0.5)^41") == "≈0.888178419700125"
    assert worked_out("1-0.9999^3650") == "≈0.305816018939949"
