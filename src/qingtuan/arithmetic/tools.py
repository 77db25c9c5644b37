"""The tool that calculates."""

from __future__ import annotations

from typing import Annotated

from qingtuan.arithmetic.expression import value_of
from qingtuan.arithmetic.shown import shown
from qingtuan.arithmetic.tokens import LONGEST
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool


@tool(
    risk=Risk.READ,
    returns="own",
    roles=EVERYONE,
    core=False,
    timeout=5.0,
    about=Words("算一个算式", "work out an expression"),
    examples=(
        "算一下 3.5*12+8", "128 乘以 37 等于多少", "打八五折是多少钱", "12.5 万的 3% 是多少", "calculate 15% of 2400",
        "what is 2^64",
    ),
)  # fmt: skip
async def calculate(
    context: ToolContext,  # noqa: ARG001 (a tool takes one)
    expression: Annotated[
        str, {"minLength": 1, "maxLength": LONGEST}, "such as (3.5+2)*4, 12万*3%, 2^10, round(10/3, 2)"
    ],
) -> ToolResult:
    """Work out an arithmetic expression exactly. 5% is 0.05, so 15% more than 80 is 80*(1+15%). Knows + - * / // ^ % !,
    万 亿, pi, e, sqrt, round, min, max, sum, avg, log, ln, sin and the like (radians; 30° for degrees)."""
    number = value_of(expression)
    text, exact = shown(number)
    sign = "=" if exact else "≈"
    return ToolResult(f"{' '.join(expression.split())} {sign} {text}", data={"value": text, "exact": exact})
