"""The embedded model itself, where its weights are cached: what a newcomer with no key sees."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bench.embedded_cases import CASES, Case, Outcome, opened, run_case
from bench.table import Skipped

pytestmark = pytest.mark.large_model

MAIN = (
    "我以后图书馆优先坐二楼安静区",
    "我一般喜欢坐图书馆哪里？",
    "你好",
    "明天早上八点提醒我交作业",
    "帮我约明天上午9点到12点二楼安静区的座位",
    "我女朋友生日是哪天？",
    "I prefer window seats in the library",
    "hi there",
)
"""The dialogue that must hold: remembering, recall with and without a memory, talk, a reminder, a booking."""


async def _run(cases: Sequence[Case]) -> list[Outcome]:
    async with opened() as (model, _):
        return [await run_case(model, case) for case in cases]


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    try:
        return asyncio.run(_run([case for case in CASES if case.words in MAIN]))
    except Skipped as reason:
        pytest.skip(str(reason))


def test_the_main_dialogue_holds(outcomes: list[Outcome]) -> None:
    assert {outcome.case.words for outcome in outcomes} == set(MAIN)
    assert [f"{outcome.case.words}: {outcome.problem}" for outcome in outcomes if outcome.problem] == []


def test_days_are_those_that_were_said(outcomes: list[Outcome]) -> None:
    reminder = next(outcome for outcome in outcomes if outcome.case.words == "明天早上八点提醒我交作业")
    assert "2026-12-02T08:00" in reminder.calls[-1].arguments
