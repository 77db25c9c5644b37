"""However a model behaves, summaries and what is not yet one stay within bounds, and nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qingtuan.errors import ModelUnreachable
from qingtuan.language import Words
from qingtuan.memory.compressing import MAX_CHARS, SummaryRules
from qingtuan.storage.sqlite import Database
from tests.fakes.talk import Scripted
from tests.fakes.talk import Summarised as Talk

DOWN = ModelUnreachable(Words("连不上", "unreachable"))


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(Path(":memory:"))
    yield database
    database.close()


@pytest.mark.parametrize("most", [1, 4, 9])
async def test_nothing_is_rolled_up_that_may_stand_in_a_request(database: Database, most: int) -> None:
    talk = Talk(database, SummaryRules(max_stored=6, keep_recent=2, batch=4, min_source=2, max_in_context=most))
    talk.chat(0, 2 * most + 1)
    for number in range(most):
        await talk.summaries.compress(talk.session, Scripted(), manual=True)
        assert talk.summaries.status(talk.session).summaries == number + 1


async def test_a_model_that_never_writes_one_does_not_let_requests_grow_without_end(database: Database) -> None:
    talk = Talk(database, SummaryRules(max_stored=20, keep_recent=4, batch=10, min_source=4, longest=30))
    longest, by_code = 0, 0
    for number in range(300):
        talk.say(f"决定在第{number}天做这件事，不做别的", "好")
        done = await talk.summaries.compress(talk.session, Scripted(DOWN, DOWN))
        by_code += done.by_code
        status = talk.summaries.status(talk.session)
        assert status.messages + status.covered_messages == 2 * number + 2, "nothing is in no layer"
        longest = max(longest, status.messages)
        assert sum(map(len, talk.context())) < 8 * MAX_CHARS
    assert longest <= 30 + 10 + 2
    assert by_code > 10
    assert "决定在第299天做这件事" in talk.raw()[-2]
    (done,) = [await talk.summaries.compress(talk.session, Scripted("- 定了", "- 定了"), manual=True)]
    assert (done.outcome, done.by_code) == ("written", False)
