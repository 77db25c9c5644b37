"""Talking with one agent by the SDK's client. Imports the SDK: loaded with the first question."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.client.errors import A2AClientError
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Error as ProtobufError

from qingtuan.a2a_client.answer import Endless, Gathered, Piece, State
from qingtuan.a2a_client.card import Card
from qingtuan.a2a_client.config import AgentConfig, origin_of
from qingtuan.a2a_client.failures import ENDLESS, GARBLED, LARGE, Failure, said, status_failure, unreached
from qingtuan.clock import Clock
from qingtuan.errors import FetchFailed
from qingtuan.net.addresses import Address
from qingtuan.net.answers import Limits
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.net.transport import SafeTransport

HOPS_HEADER = "x-qingtuan-hops"
HOPS = "qingtuan/hops"
"""Where a message says through how many agents it came."""
_LARGEST = 8 * 1024 * 1024
"""Bytes of one answer, or of one stream."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 10.0
"""Seconds between two looks at a task; they double."""
_TRIES = 3
"""Looks in a row that may fail."""
_LONGEST_ID = 256
_MOST_FILE = 4 * 1024 * 1024

_STATES: dict[int, State] = {
    TaskState.TASK_STATE_COMPLETED: "completed",
    TaskState.TASK_STATE_INPUT_REQUIRED: "input-required",
    TaskState.TASK_STATE_AUTH_REQUIRED: "auth-required",
    TaskState.TASK_STATE_REJECTED: "rejected",
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "canceled",
}


@dataclass(frozen=True, slots=True)
class Line:
    """How one agent is called."""

    config: AgentConfig
    card: Card
    fetcher: SafeFetcher
    clock: Clock
    hops: int
    """Through how many agents what is asked came, this one counted."""

    async def ask(self, text: str, gathered: Gathered, report: Callable[[str], None]) -> None:
        """Say something, and gather what comes of it until there is nothing to wait for on this line. `gathered` names
        the talk, and the task that is gone on with; whatever becomes of the call, what came stands in it.

        Raises:
            Failure: it could not be asked, or its answer cannot be used.
        """
        async with self._client(streaming=self.card.streaming) as client:
            request = SendMessageRequest(message=self._message(text, gathered))
            if not self.card.streaming:
                request.configuration.return_immediately = True
            gathered.state = "working"
            with _Failing():
                await self._follow(client.send_message(request), gathered, report)
        if gathered.over:
            return
        if not gathered.task:
            raise Failure(GARBLED, sent=True)  # neither an answer nor anything to be asked about later
        await self.wait(gathered, report)

    async def wait(self, gathered: Gathered, report: Callable[[str], None]) -> None:
        """Look at the open task, ever more slowly, until there is nothing to wait for. Raises `Failure`."""
        pause, failed = _FIRST_WAIT, 0
        async with self._client(streaming=False) as client:
            while True:
                try:
                    with _Failing():
                        _take_task(await client.get_task(GetTaskRequest(id=gathered.task)), gathered, report)
                    failed = 0
                except Failure as failure:
                    failed += 1
                    if failure.final or failed >= _TRIES:
                        raise
                if gathered.over:
                    return
                await self.clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_WAIT)

    async def cancel(self, task: str) -> None:
        """Tell the agent that nobody wants its task any more. Whatever it says, there is nothing more to do."""
        with suppress(Failure):
            async with self._client(streaming=False) as client:
                with _Failing():
                    await client.cancel_task(CancelTaskRequest(id=task))

    def _message(self, text: str, gathered: Gathered) -> Message:
        message = Message(
            message_id=uuid4().hex,
            role=Role.ROLE_USER,
            parts=[Part(text=text)],
            context_id=gathered.context,
            task_id=gathered.task,
        )
        message.metadata.update({HOPS: self.hops})
        return message

    async def _follow(
        self, stream: AsyncIterator[StreamResponse], gathered: Gathered, report: Callable[[str], None]
    ) -> None:
        try:
            async for event in stream:
                gathered.count()
                _take(event, gathered, report)
                if gathered.over:
                    return
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    @asynccontextmanager
    async def _client(self, *, streaming: bool) -> AsyncIterator[Client]:
        """A client of the one way that was chosen: nothing else of the card is looked at."""
        way, config = self.card.way, self.config
        here = origin_of(way.url)

        def allowed(address: Address) -> bool:
            return (address.scheme, address.host, address.port) == here

        at_home = here == origin_of(config.url)
        fetcher = self.fetcher.allow_private_of(config.url) if at_home else self.fetcher
        limits = Limits(size=_LARGEST, seconds=config.timeout, redirects=0, idle=config.timeout)
        headers = {"a2a-version": way.version, HOPS_HEADER: str(self.hops), "user-agent": "Qingtuan"}
        if config.key and at_home:
            # The key was given to whom the settings name, and goes to no other host that a card names.
            headers["authorization"] = f"Bearer {config.key}"
        transport = SafeTransport(fetcher, limits, allowed)
        async with httpx.AsyncClient(
            transport=transport, headers=headers, timeout=config.timeout, trust_env=False
        ) as http:
            found = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[way.binding])
            yield ClientFactory(found).create(_card(self.card, streaming=streaming))


def _card(card: Card, *, streaming: bool) -> AgentCard:
    way = card.way
    interface = AgentInterface(
        url=way.url, protocol_binding=way.binding, protocol_version=way.version, tenant=way.tenant
    )
    return AgentCard(
        name=card.name, supported_interfaces=[interface], capabilities=AgentCapabilities(streaming=streaming)
    )


# What comes


def _take(event: StreamResponse, gathered: Gathered, report: Callable[[str], None]) -> None:
    match event.WhichOneof("payload"):
        case "task":
            _take_task(event.task, gathered, report)
        case "message":
            _names(event.message.context_id, event.message.task_id, gathered)
            gathered.task = ""
            gathered.state, gathered.said = "completed", _pieces(event.message.parts)
        case "status_update":
            update = event.status_update
            _names(update.context_id, update.task_id, gathered)
            _take_status(update.status, gathered, report)
        case "artifact_update":
            made = event.artifact_update
            _names(made.context_id, made.task_id, gathered)
            gathered.put(made.artifact.artifact_id[:_LONGEST_ID], _pieces(made.artifact.parts), append=made.append)
        case _:
            return
    gathered.heard = True


def _take_task(task: Task, gathered: Gathered, report: Callable[[str], None]) -> None:
    _names(task.context_id, task.id, gathered)
    if task.artifacts:
        gathered.replace_all({one.artifact_id[:_LONGEST_ID]: _pieces(one.parts) for one in task.artifacts})
    _take_status(task.status, gathered, report)
    gathered.heard = True


def _take_status(status: TaskStatus, gathered: Gathered, report: Callable[[str], None]) -> None:
    gathered.state = _STATES.get(status.state, "working")
    gathered.said = _pieces(status.message.parts) if status.HasField("message") else []
    if gathered.state == "working" and (told := " ".join(piece.text for piece in gathered.said)).strip():
        report(told[:2000])


def _names(context: str, task: str, gathered: Gathered) -> None:
    if len(context) <= _LONGEST_ID and len(task) <= _LONGEST_ID:
        gathered.context, gathered.task = context or gathered.context, task or gathered.task


def _pieces(parts: Iterable[Part]) -> list[Piece]:
    return [_piece(part) for _, part in zip(range(_MOST_PIECES), parts, strict=False)]


_MOST_PIECES = 300


def _piece(part: Part) -> Piece:
    match part.WhichOneof("content"):
        case "text":
            return Piece(part.text)
        case "data":
            return Piece(json.dumps(MessageToDict(part.data), ensure_ascii=False))
        case "raw":
            return (
                Piece(data=part.raw, name=part.filename) if len(part.raw) <= _MOST_FILE else Piece(name=part.filename)
            )
        case "url":
            return Piece(name=f"{part.filename} {part.url}".strip())
        case _:
            return Piece()


# What goes wrong


class _Failing:
    """Turns whatever the SDK raises into a `Failure`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        if isinstance(error, Exception) and (failure := self._failure(error)) is not None:
            raise failure from None

    def _failure(self, error: Exception) -> Failure | None:
        if isinstance(error, Endless):
            return Failure(ENDLESS, sent=True, final=True)
        cause = error.__cause__ if isinstance(error, A2AClientError) else error
        if isinstance(error, A2AError) and cause in (None, error):
            return Failure(said(str(error)), final=True)  # the agent's own word
        if isinstance(cause, httpx.HTTPStatusError):
            return status_failure(cause.response.status_code)
        if isinstance(cause, httpx.ConnectError):
            return unreached(_fetch_failed(cause))
        if isinstance(cause, httpx.TimeoutException):
            return Failure(GARBLED, sent=True, detail=repr(cause))
        if isinstance(cause, httpx.HTTPError):
            why = _fetch_failed(cause)
            return Failure(LARGE if why is None else why.words, sent=True, detail=repr(cause))
        if isinstance(error, (A2AClientError, ProtobufError, *_GARBLED)):
            return Failure(GARBLED, sent=True, final=True, detail=repr(error)[:500])
        return None


_GARBLED = (ValueError, TypeError, KeyError, AttributeError, LookupError, RecursionError)


def _fetch_failed(error: BaseException) -> FetchFailed | None:
    cause = error.__cause__
    return cause if isinstance(cause, FetchFailed) else None
