"""When something was written: what names, front matter, headings and lines say, and no more than they say."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.importing import dates
from qingtuan.memory.importing.found import When
from tests.memory.importing.moved import TODAY
from tests.memory.world import ZONE


def days(first: str | None, last: str | None = None) -> When:
    return When(date.fromisoformat(first) if first else None, date.fromisoformat(last or first or ""))


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-06-20", days("2026-06-20")),
        ("2026/6/2", days("2026-06-02")),
        ("2026.06.20", days("2026-06-20")),
        ("20260620", days("2026-06-20")),
        ("2026年6月20日", days("2026-06-20")),
        ("2026-06", days("2026-06-01", "2026-06-30")),
        ("2026年2月", days("2026-02-01", "2026-02-28")),
        ("2024-02", days("2024-02-01", "2024-02-29")),
        ("2025", days("2025-01-01", "2025-12-31")),
        ("2025年", days("2025-01-01", "2025-12-31")),
        ("2026-W25", days("2026-06-15", "2026-06-21")),
        ("2026-06-20 21:30", days("2026-06-20")),
        ("2026-06-20T21:30:00Z", days("2026-06-20")),
        ("2026-06-31", None),
        ("2026-13", None),
        ("1234", None),
        ("20261", None),
        ("六月", None),
        ("", None),
    ],
)
def test_what_a_text_means(text: str, when: When | None) -> None:
    assert dates.named(text) == when


@pytest.mark.parametrize(
    ("path", "when"),
    [
        ("memory/2026-06-20.md", days("2026-06-20")),
        ("memory/2026-06-20-library.md", days("2026-06-20")),
        ("日记 2026年6月20日.md", days("2026-06-20")),
        ("journal/20260620.md", days("2026-06-20")),
        ("2026-06.md", days("2026-06-01", "2026-06-30")),
        ("2025.md", days("2025-01-01", "2025-12-31")),
        ("2026/06/20.md", days("2026-06-20")),
        ("2026/06.md", days("2026-06-01", "2026-06-30")),
        ("Windows 2000.md", None),
        ("2048 game.md", None),
        ("v1.2026.md", None),
        ("图书馆.md", None),
    ],
)
def test_what_the_name_of_a_file_says(path: str, when: When | None) -> None:
    assert dates.in_path(path) == when


@pytest.mark.parametrize(
    ("front", "when"),
    [
        ({"date": date(2026, 6, 20)}, days("2026-06-20")),
        ({"created": datetime(2026, 6, 20, 23, tzinfo=UTC)}, days("2026-06-21")),
        ({"Created": "2026-06"}, days("2026-06-01", "2026-06-30")),
        ({"date": 2025}, days("2025-01-01", "2025-12-31")),
        ({"create_time": 1781913600}, days("2026-06-20")),
        ({"created": date(2025, 1, 1), "updated": date(2026, 6, 20)}, days("2025-01-01", "2026-06-20")),
        ({"updated": date(2026, 6, 20)}, days(None, "2026-06-20")),
        ({"日期": "2026年6月20日"}, days("2026-06-20")),
        ({"date": "soon", "title": "2026"}, None),
        ({"date": True}, None),
        ({"date": [1]}, None),
    ],
)
def test_what_front_matter_says(front: dict[str, object], when: When | None) -> None:
    assert dates.in_front_matter(front, ZONE) == when


@pytest.mark.parametrize(
    ("line", "when", "rest"),
    [
        ("[2026-06-20] 换了座位", days("2026-06-20"), "换了座位"),
        ("2026-06-20: 换了座位", days("2026-06-20"), "换了座位"),
        ("2026-06-20：换了座位", days("2026-06-20"), "换了座位"),
        ("（2026-06）换了座位", days("2026-06-01", "2026-06-30"), "换了座位"),
        ("换了座位（2026-06-20）", days("2026-06-20"), "换了座位"),
        ("换了座位 (2025)", days("2025-01-01", "2025-12-31"), "换了座位"),
        ("2026-06-20 - moved", days("2026-06-20"), "moved"),
        ("2026-06-20", None, "2026-06-20"),
        ("到 2026-06-20 为止", None, "到 2026-06-20 为止"),
        ("买了 2025 款", None, "买了 2025 款"),
        ("2026-06-20换座位", None, "2026-06-20换座位"),
    ],
)
def test_the_date_of_a_line(line: str, when: When | None, rest: str) -> None:
    assert dates.at_line(line) == (when, rest)


def test_what_lies_ahead_is_no_date_of_writing() -> None:
    known = days(None, "2026-10-01")
    assert dates.written(days("2027-01-01"), known, TODAY) == known
    assert dates.written(days("2026-11-01", "2026-11-30"), known, TODAY) == days("2026-11-01", "2026-11-29")
    assert dates.written(None, known, TODAY) == known
    assert dates.written(None, days("2027-01-01"), TODAY) == When(None, TODAY)


@given(st.text(max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    for when in (dates.named(text), dates.in_path(text), dates.at_line(text)[0]):
        assert when is None or (when.first is not None and when.first <= when.last)
    assert dates.at_line(text)[1].strip() or not text.strip()


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_day_is_known_again(day: date) -> None:
    for text in (day.isoformat(), f"{day:%Y%m%d}", f"{day.year}年{day.month}月{day.day}日"):
        assert dates.named(text) == dates.in_path(f"x/{text}.md") == When(day, day)
