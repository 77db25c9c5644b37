"""Weeks of talk of three people in two groups: what is left is what should be believed, and nothing else.

`python -m bench --only year` lives through all 365 days and prints the figures; this is the same for two months.
"""

from __future__ import annotations

from pathlib import Path

from tests.fakes.year import instance, lived


async def test_two_months_leave_what_they_should_and_no_more(tmp_path: Path) -> None:
    async with instance(tmp_path) as chat:
        result = await lived(chat, 60)
    assert result.leaks == []
    assert result.secrets == []
    assert result.stray == []
    assert {key: result.believed.get(key) for key in result.wanted} == result.wanted
    assert result.sampled == 50
    assert result.wrong_days == []
    assert result.differences == 0
    assert result.commits == result.writes
    assert len(result.wanted) > 15
