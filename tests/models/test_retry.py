"""Trying again with models that only pretend: waits, order, and whose failure is told."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.language import Words
from qingtuan.models.chat import (
    Answer,
    ChatEvent,
    ChatMessage,
    Params,
    Recorder,
    Request,
    TakenBack,
    TextDelta,
    Usage,
    WireRequest,
)
from qingtuan.models.failures import Interrupted, refused, retry_after
from qingtuan.models.retry import Attempt, Persistent
from tests.fakes.model_session import Record

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
GOOD = Answer("好", (), "stop", Usage(1, 1), "m")
EMPTY = Answer("", (), "stop", Usage(1, 1), "m")
Outcome = Answer | Exception


class Pretender:
    """A `ChatModel` that goes through its outcomes, each after one delta."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)

    def encode(self, request: Request) -> WireRequest:
        return WireRequest((), None, b"{}")

    async def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        recorder.requested(self.encode(request), request.params.model)
        outcome = self.outcomes.pop(0)
        if outcome is not EMPTY:
            yield TextDelta("好")
        if isinstance(outcome, Exception):
            raise outcome
        yield outcome


def attempt(name: str, *outcomes: Outcome) -> Attempt:
    return Attempt(Pretender(*outcomes), Request((ChatMessage("user", "你好"),), (), Params(name)))


async def run(clock: ManualClock, *attempts: Attempt) -> tuple[list[ChatEvent], Record, BaseException | None]:
    record = Record()
    events: list[ChatEvent] = []
    try:
        async for event in Persistent(clock, random.Random(2)).stream(attempts, record):
            events.append(event)  # noqa: PERF401 (kept when it raises)
    except (ModelUnreachable, ModelRefused) as error:
        return events, record, error
    return events, record, None


def down(after: float | None = None) -> Interrupted:
    return Interrupted("down", retry_after=after)


async def test_what_streamed_before_a_failure_is_taken_back() -> None:
    events, record, error = await run(ManualClock(NOW), attempt("a", down(), GOOD))
    assert (events, error) == ([TextDelta("好"), TakenBack(), TextDelta("好"), GOOD], None)
    assert record.failures == [("a", "down", True)]


async def test_waits_grow_and_stay_bounded() -> None:
    clock = ManualClock(NOW)
    await run(clock, attempt("a", down(), down(), GOOD))
    assert 0.25 + 0.5 <= clock.monotonic() <= 0.5 + 1


@given(st.floats(0, 60))
async def test_never_earlier_than_asked(seconds: float) -> None:
    clock = ManualClock(NOW)
    await run(clock, attempt("a", down(seconds), GOOD))
    assert seconds <= clock.monotonic() <= seconds + 0.5


async def test_who_asks_for_more_than_a_minute_is_not_waited_for() -> None:
    clock = ManualClock(NOW)
    events, record, _ = await run(clock, attempt("a", down(61)), attempt("b", GOOD))
    assert (events[-1], record.models, clock.monotonic()) == (GOOD, ["a", "b"], 0)


async def test_all_are_down() -> None:
    events, record, error = await run(ManualClock(NOW), attempt("a", *[down()] * 3), attempt("b", *[down()] * 3))
    assert events[-1] == TakenBack()
    assert record.models == ["a"] * 3 + ["b"] * 3
    assert [again for *_, again in record.failures] == [True] * 5 + [False]
    assert isinstance(error, ModelUnreachable)


async def test_an_empty_answer_is_not_taken_to_the_fallback() -> None:
    events, record, error = await run(ManualClock(NOW), attempt("a", EMPTY, EMPTY), attempt("b", GOOD))
    assert (events, record.models) == ([], ["a", "a"])
    assert isinstance(error, ModelUnreachable)
    assert error.say("en") == "The model gave no answer; please try saying it another way."


async def test_an_empty_answer_after_a_failure_is_asked_for_once_more_too() -> None:
    clock = ManualClock(NOW)
    events, record, error = await run(clock, attempt("a", down(), down(), EMPTY, GOOD))
    assert (events[-1], error) == (GOOD, None)
    assert record.failures[-1] == ("a", "an empty answer", True)


@pytest.mark.parametrize(
    ("reason", "models"),
    [("key", "ab"), ("balance", "ab"), ("model", "ab"), ("content", "a"), ("history", "a"), ("request", "a")],
)
async def test_which_refusals_another_model_may_get_round(reason: str, models: str) -> None:
    refusal = refused(reason)  # type: ignore[arg-type]
    _, record, error = await run(ManualClock(NOW), attempt("a", refusal), attempt("b", GOOD))
    assert "".join(record.models) == models
    assert (error is None) == (models == "ab")


async def test_a_model_with_words_of_its_own_keeps_them() -> None:
    own = ModelUnreachable(Words("内置模型起不来", "The embedded model does not start"))
    _, record, error = await run(ManualClock(NOW), attempt("embedded", own))
    assert (error, record.models) == (own, ["embedded"])


async def test_no_model_at_all() -> None:
    _, _, error = await run(ManualClock(NOW))
    assert isinstance(error, ModelUnreachable)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5), ("0", 0), ("-1", 0), ("1.5", 1.5), ("Mon, 30 Nov 2026 08:01:00 GMT", 60),
        ("Mon, 30 Nov 2026 07:00:00 GMT", 0), ("Mon, 30 Nov 2026 16:01:00 +0800", 60), ("soon", None), ("", None),
    ],
)  # fmt: skip
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds
    assert retry_after({}, NOW) is None
