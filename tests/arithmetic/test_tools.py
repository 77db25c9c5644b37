"""The tool that calculates, as a model is given it."""

from __future__ import annotations

from qingtuan.arithmetic.tools import calculate
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import EVERYONE
from tests.fakes.calling import context


async def test_the_result_is_our_own_and_stands_beside_what_was_asked() -> None:
    assert (calculate.risk, calculate.returns, calculate.roles, calculate.core) == (Risk.READ, "own", EVERYONE, False)
    result = await calculate.run(context(), {"expression": "80 * (1+15%)"})
    assert (result.text, result.data, result.origin) == (
        "80 * (1+15%) = 92",
        {"value": "92", "exact": True},
        None,
    )
    assert (await calculate.run(context(), {"expression": "1/3"})).text == "1/3 ≈ 0.333333333333333"
