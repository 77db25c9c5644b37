"""Trying again: back-off with jitter, what the provider asks for, then the fall-back, then an honest sentence."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import cast

from qingtuan.clock import Clock
from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.language import Words
from qingtuan.models.chat import Answer, ChatEvent, ChatModel, Recorder, Request, TakenBack, TextDelta
from qingtuan.models.failures import NOT_REACHED, Interrupted

_SAID_NOTHING = Words(
    "模型没给出回答，换个说法再试一次吧。", "The model gave no answer; please try saying it another way."
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long."""

    attempts: int = 3
    """Per model, the first one included."""
    first_wait: float = 0.5
    """Seconds before the second attempt; doubled each time."""
    longest_wait: float = 8
    longest_asked: float = 60
    """Seconds that a provider may ask us to wait. Whoever asks for more is left alone: the fall-back comes at once."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A model with the request as it gets it."""

    model: ChatModel
    request: Request


class Silent(Interrupted):
    """An answer with neither text nor call: asked for once more at once, and then said to be none."""

    def __init__(self) -> None:
        super().__init__("an empty answer", words=_SAID_NOTHING)


class Persistent:
    """Gets an answer out of models that may fail."""

    def __init__(self, clock: Clock, chance: random.Random, patience: Patience = Patience()) -> None:
        self._clock = clock
        self._chance = chance
        self._patience = patience

    async def stream(self, attempts: Sequence[Attempt], recorder: Recorder) -> AsyncIterator[ChatEvent]:
        """Ask the models in order until one answers.

        Text that streamed before a failure is taken back. A model that cannot be reached, or refuses for its key,
        its account or its name, makes way for the next; any other refusal is about the request and ends it.

        Raises:
            ModelUnreachable: the first could not be reached, and no other answered.
            ModelRefused: the first refused, and no other answered.
        """
        failure: ModelUnreachable | ModelRefused | None = None
        for number, attempt in enumerate(attempts, 1):
            try:
                async with aclosing(self._insist(attempt, recorder, more=number < len(attempts))) as events:
                    async for event in events:
                        yield event
                return
            except (ModelUnreachable, ModelRefused) as error:
                failure = failure or error
                if not _another_may_do(error):
                    break
        raise failure or ModelUnreachable(NOT_REACHED, detail="no model is set")

    async def _insist(self, attempt: Attempt, recorder: Recorder, *, more: bool) -> AsyncGenerator[ChatEvent]:
        silent = False
        for number in count(1):
            shown = False
            try:
                events = cast("AsyncGenerator[ChatEvent]", attempt.model.stream(attempt.request, recorder))
                async with aclosing(events):
                    async for event in events:
                        if isinstance(event, Answer) and not event.text.strip() and not event.calls:
                            raise Silent
                        shown = isinstance(event, TextDelta)
                        yield event
                return
            except (ModelUnreachable, ModelRefused) as error:
                wait = self._wait(error, number)
                if isinstance(error, Silent):
                    wait, silent = None if silent else 0, True
                again = wait is not None or (more and _another_may_do(error))
                recorder.failed(attempt.request.params.model, error.detail, again=again)
                if shown:
                    yield TakenBack()
                if wait is None:
                    raise
            await self._clock.sleep(wait)

    def _wait(self, error: ModelUnreachable | ModelRefused, number: int) -> float | None:
        """Seconds before the next attempt with the same model; None if there is none."""
        if not isinstance(error, Interrupted) or number >= self._patience.attempts:
            return None
        jitter = self._chance.random()
        if error.retry_after is None:
            longest = min(self._patience.longest_wait, self._patience.first_wait * (1 << (number - 1)))
            return longest * (1 + jitter) / 2
        # Never earlier than asked; and many who were sent away together should not come back together.
        asked = error.retry_after + jitter * self._patience.first_wait
        return asked if error.retry_after <= self._patience.longest_asked else None


def _another_may_do(error: ModelUnreachable | ModelRefused) -> bool:
    if isinstance(error, ModelRefused):
        return error.reason in ("key", "balance", "model")
    return not isinstance(error, Silent)
