"""What most tests share: a clock that stands still, a prepared data folder, its database and log."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import hypothesis
import pytest

from qingtuan.clock import ManualClock
from qingtuan.events.log import Log
from qingtuan.home import Home
from qingtuan.ids import Ids
from qingtuan.storage.sqlite import Database

# No deadlines: the machines that run this are busy. Where CI is set, hypothesis has a profile of its own.
hypothesis.settings.register_profile("here", deadline=None)
if "CI" not in os.environ:
    hypothesis.settings.load_profile("here")

REPOSITORY = Path(__file__).parents[1]
_SHARED = REPOSITORY.parent / "shared"


@pytest.fixture
def clock() -> ManualClock:
    """Sunday, 29 November 2026, ten in the morning in Shanghai."""
    return ManualClock(datetime(2026, 11, 29, 10, tzinfo=ZoneInfo("Asia/Shanghai")))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A data folder as the first command makes it."""
    home = Home(tmp_path / "home")
    home.prepare()
    return home


@pytest.fixture
def database(home: Home) -> Iterator[Database]:
    database = Database(home.database)
    yield database
    database.close()


@pytest.fixture
def log(database: Database, clock: ManualClock) -> Log:
    """An event log without projections."""
    return Log(database, clock, Ids(clock))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded and measured material beside the repository; tests that need it are skipped without."""
    if not _SHARED.is_dir():
        pytest.skip("no ../shared beside the repository")
    return _SHARED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count and name what was skipped: a skip nobody sees is a test nobody has."""
    reports = terminalreporter.stats.get("skipped", [])
    if not reports:
        return
    reasons = Counter((report.nodeid, _reason(report)) for report in reports)
    terminalreporter.section(f"SKIPPED: {len(reports)}", yellow=True, bold=True)
    for (test, reason), count in sorted(reasons.items()):
        times = f" ({count} times)" if count > 1 else ""
        terminalreporter.write_line(f"{test}{times}: {reason}", yellow=True)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
