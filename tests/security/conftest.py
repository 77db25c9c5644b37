"""What several tests of this folder share: a sandbox, and a service that its code may ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.fakes.sandboxes import Trial, trial
from tests.fakes.service import Service
from tests.fakes.service import service as served


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Trial]:
    with trial() as made:
        yield made


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with served() as running:
        yield running
