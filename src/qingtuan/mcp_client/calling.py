"""The calls that a server works on, and what it may ask meanwhile: each question belongs to the call of one person."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qingtuan.clock import Clock
from qingtuan.errors import ToolFailed
from qingtuan.mcp_client import failures
from qingtuan.mcp_client.asking import People
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.eliciting import MAX_ASKED, Eliciting
from qingtuan.mcp_client.form import NoForm
from qingtuan.tools.patience import Allowance
from qingtuan.tools.tool import ToolContext

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult, ErrorData, InputRequiredResult

MAX_ROUNDS = 10
"""Times that a call is taken up again with answers (2026-07-28)."""
MAX_STATE = 256 * 1024
"""Characters that a server may have us carry from one round to the next."""
_PAUSE = 0.1
"""Seconds before a round in which the server asked nothing, the first time."""


@dataclass(slots=True, eq=False)
class Calling:
    """One call that is being worked on."""

    context: ToolContext
    allowance: Allowance
    clock: Clock
    eliciting: Eliciting | None
    """None where nobody can be asked."""
    questions: set[asyncio.Task[Any]] = field(default_factory=set)

    async def ask(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Put one question to the person, while the time of the call stands still."""
        from mcp_types import ElicitResult

        if self.eliciting is None:
            return ElicitResult(action="cancel")
        return await self._asking(self.eliciting.answer(params)) or ElicitResult(action="cancel")

    async def _asking(self, question: Coroutine[Any, Any, Any]) -> Any:
        """What came of a question; None if the call ended before."""
        task = asyncio.ensure_future(question)
        self.questions.add(task)
        try:
            with self.allowance.standing_still():
                await asyncio.wait([task])
        finally:
            task.cancel()
            self.questions.discard(task)
        return None if task.cancelled() else task.result()

    async def answers(self, result: InputRequiredResult, rounds: int) -> dict[str, Any] | None:
        """What goes back with the next round (2026-07-28); None if nothing was asked.

        Raises:
            ToolFailed: it asks for what it is not given.
        """
        from mcp_types import ElicitRequest, ErrorData

        requests: Mapping[str, Any] = result.input_requests or {}
        if len(requests) > MAX_ASKED or len(result.request_state or "") > MAX_STATE:
            raise ToolFailed(failures.ASKS_TOO_MUCH)
        if not all(isinstance(request, ElicitRequest) for request in requests.values()):
            raise ToolFailed(failures.WANTS_MORE)
        if not requests:
            await self.clock.sleep(_PAUSE * (rounds + 1))
            return None
        found = {}
        for key, request in requests.items():
            answer = await self.ask(request.params)
            if isinstance(answer, ErrorData):
                raise ToolFailed(failures.ASKS_TOO_MUCH, detail=answer.message)
            found[key] = answer
        return found

    async def visited(self, elicitations: Any) -> bool:
        """Have the person deal with addresses before the call can go on; whether they say that they did."""
        from mcp_types import ElicitationRequiredErrorData
        from pydantic import ValidationError

        if self.eliciting is None:
            return False
        try:
            wanted = ElicitationRequiredErrorData.model_validate(elicitations).elicitations
        except ValidationError:
            return False
        if not 0 < len(wanted) <= MAX_ASKED:
            return False
        try:
            for one in wanted:
                if not await self._asking(self.eliciting.visited(one.message, one.url)):
                    return False
        except NoForm:
            return False
        return True


class Calls:
    """All calls of one connection that are being worked on."""

    def __init__(self, config: ServerConfig, people: People | None, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._people = people
        self._open: list[Calling] = []

    @property
    def can_ask(self) -> bool:
        """Whether there is anybody to be asked."""
        return self._people is not None

    @contextmanager
    def begun(self, context: ToolContext, seconds: float) -> Iterator[Calling]:
        """A call, until the block is left; its questions end with it."""
        eliciting = Eliciting(self._config, self._people, context) if self._people is not None else None
        calling = Calling(context, Allowance(seconds), self._clock, eliciting)
        self._open.append(calling)
        try:
            yield calling
        finally:
            self._open.remove(calling)
            for question in calling.questions:
                question.cancel()

    async def asked(self, context: Any, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG002
        """What the server gets to a question that it asks by itself (2025-11-25). It does not say for which call: where
        it works for several people or in several turns, nobody is asked, and nor is anybody while it works on none."""
        from mcp_types import ElicitResult

        turns = {(calling.context.reader.person, calling.context.turn) for calling in self._open}
        if len(turns) != 1:
            return ElicitResult(action="cancel")
        return await self._open[0].ask(params)
