"""What the protocol's methods do. Imports the SDK: loaded with the first request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import uuid4

from a2a.server.context import ServerCallContext
from a2a.server.events import Event as Update
from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import decode_page_token, encode_page_token, validate_history_length, validate_page_size
from starlette.requests import Request

from qingtuan.channels.http.front import CALLER, LASTS, Caller
from qingtuan.errors import NotAllowed, StorageFailed
from qingtuan.servers.a2a.book import AgentTask
from qingtuan.servers.a2a.ports import Ports
from qingtuan.servers.a2a.speech import (
    HOPS_HEADER,
    artifacts_of,
    checked_id,
    content_of,
    hops_of,
    rejected,
    state_of,
    status_of,
    task_of,
)
from qingtuan.servers.a2a.standing import Standing
from qingtuan.servers.a2a.tasks import Asked, Brief, NotTaken, Over, Tasks
from qingtuan.servers.a2a.unoffered import Unoffered
from qingtuan.storage.files import content_hash

PATIENCE = 600.0
"""Seconds that a request waits for the end of its task; then it is told how far it has come, and asks again."""
_STREAM_PATIENCE = 3600.0


class Contexts(DefaultServerCallContextBuilder):
    """Puts who calls, as the front found it, beside each call, and by what the front is told that an answer lasts."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state["caller"] = request.scope[CALLER]
        context.state["lasts"] = request.scope[LASTS]
        return context


class Handler(Unoffered):
    """Every method, for callers whom the front let in."""

    def __init__(self, tasks: Tasks, ports: Ports) -> None:
        self._tasks = tasks
        self._ports = ports

    # Asking

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        asked = await self._ask(params, context)
        if isinstance(asked, Task):
            return asked
        now = self._tasks.standing(asked)
        if not params.configuration.return_immediately:
            now = await self._waited(asked, now)
        return await task_of(now, self._ports, _history(params.configuration))

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Update]:
        asked = await self._ask(params, context)
        if isinstance(asked, Task):
            yield asked
            return
        context.state["lasts"]()
        async with aclosing(self._updates(asked, _history(params.configuration))) as updates:
            async for update in updates:
                yield update

    async def _ask(self, params: SendMessageRequest, context: ServerCallContext) -> AgentTask | Task:
        """Take a message in; a `Task` is one that was refused."""
        caller, message = _caller(context), params.message
        validate_history_length(params.configuration)
        if params.configuration.HasField("task_push_notification_config"):
            raise PushNotificationNotSupportedError
        task = self._named(caller, message)
        name = checked_id(message.context_id, "contextId") or (task.context if task else uuid4().hex)
        text, materials, files = await content_of(message, self._ports.keep(caller.key))
        # Some clients give several messages one id: only the very same message is the same.
        same = content_hash(message.SerializeToString(deterministic=True))[:16]
        message_id = f"{checked_id(message.message_id, 'messageId')}:{same}"
        hops = hops_of(message, context.state["headers"].get(HOPS_HEADER))
        asked = Asked(text, message_id, name, hops, materials, files)
        try:
            return await self._tasks.ask(caller, asked, task)
        except NotTaken as refused:
            return rejected(f"task_{uuid4().hex}", name, refused.words, self._ports, self._ports.clock.now())
        except Over:
            raise UnsupportedOperationError("the task has ended; ask anew without its taskId") from None
        except (NotAllowed, StorageFailed) as error:
            raise InternalError(error.words.say(self._ports.language)) from error

    def _named(self, caller: Caller, message: Message) -> AgentTask | None:
        """The task that a message says it belongs to."""
        if not message.task_id:
            return None
        task = self._found(caller, message.task_id)
        if message.context_id and message.context_id != task.context:
            raise InvalidParamsError("the task belongs to another contextId")
        return task

    async def _waited(self, task: AgentTask, now: Standing) -> Standing:
        """The task when there is nothing more to wait for on this line."""
        late = asyncio.ensure_future(self._ports.clock.sleep(PATIENCE))
        following = self._tasks.follow(task)
        try:
            while not (now.over or now.state == "auth-required"):
                coming = asyncio.ensure_future(anext(following))
                try:
                    await asyncio.wait([coming, late], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not coming.done():
                        coming.cancel()
                        await asyncio.wait([coming])
                if coming.cancelled():
                    break
                now = coming.result()
            return now
        finally:
            late.cancel()
            await following.aclose()

    # Following

    async def _updates(self, task: AgentTask, history: int | None) -> AsyncGenerator[Update]:
        """The task, then what becomes of it, until it is over, or for an hour: whoever still wants to know by then
        subscribes anew."""
        first, until = True, asyncio.get_running_loop().time() + _STREAM_PATIENCE
        async with aclosing(self._tasks.follow(task)) as standings:
            while (now := await _next(standings, until)) is not None:
                if first:
                    yield await task_of(now, self._ports, history, artifacts=now.over)
                    first = False
                    continue
                for artifact in await artifacts_of(now, self._ports):
                    yield TaskArtifactUpdateEvent(
                        task_id=task.id, context_id=task.context, artifact=artifact, last_chunk=True
                    )
                yield TaskStatusUpdateEvent(task_id=task.id, context_id=task.context, status=status_of(now))

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Update]:
        task = self._found(_caller(context), params.id)
        if self._tasks.standing(task).over:
            raise UnsupportedOperationError("the task has ended")
        context.state["lasts"]()
        async with aclosing(self._updates(task, None)) as updates:
            async for update in updates:
                yield update

    # Looking, and ending

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        validate_history_length(params)
        task = self._found(_caller(context), params.id)
        return await task_of(self._tasks.standing(task), self._ports, _history(params))

    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        validate_history_length(params)
        size = params.page_size if params.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
        validate_page_size(size)
        known = self._tasks.of(_caller(context), params.context_id or None)
        wanted = await self._picked(known, params)
        begin = 0
        if params.page_token:
            names = [brief.task.id for brief in wanted]
            last = decode_page_token(params.page_token)
            if last not in names:
                raise InvalidParamsError("that page is not known")
            begin = names.index(last) + 1
        page = wanted[begin : begin + size]
        more = len(wanted) > begin + size
        tasks = [
            await task_of(
                self._tasks.standing(brief.task),
                self._ports,
                _history(params) or 0,
                artifacts=params.include_artifacts,
            )
            for brief in page
        ]
        return ListTasksResponse(
            tasks=tasks,
            page_size=size,
            total_size=len(wanted),
            next_page_token=encode_page_token(page[-1].task.id) if more and page else "",
        )

    async def _picked(self, known: list[AgentTask], params: ListTasksRequest) -> list[Brief]:
        """The tasks that a listing asks for, those first that changed last."""
        since = params.status_timestamp_after.ToDatetime() if params.HasField("status_timestamp_after") else None
        found = [
            brief
            for brief in await self._tasks.brief(known)
            if params.status in (0, state_of(brief.state))
            and (since is None or brief.since.replace(tzinfo=None) >= since)
        ]
        return sorted(found, key=lambda brief: (brief.since, brief.task.id), reverse=True)

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        caller = _caller(context)
        task = self._found(caller, params.id)
        try:
            return await task_of(self._tasks.cancel(caller, task), self._ports)
        except Over:
            raise TaskNotCancelableError from None

    def _found(self, caller: Caller, name: str) -> AgentTask:
        task = self._tasks.find(caller, name)
        if task is None:
            raise TaskNotFoundError
        return task


async def _next(standings: AsyncGenerator[Standing], until: float) -> Standing | None:
    """The next of them; None if there is no more, or none by then, in the loop's time. The time is measured here and
    not around what is yielded: there it would end whatever the reader is at."""
    try:
        async with asyncio.timeout_at(until):
            return await anext(standings, None)
    except TimeoutError:
        return None


def _caller(context: ServerCallContext) -> Caller:
    caller = context.state["caller"]
    assert isinstance(caller, Caller)
    return caller


def _history(config: object) -> int | None:
    """How many messages are wanted; None for all."""
    if config.HasField("history_length"):  # type: ignore[attr-defined]
        return int(config.history_length)  # type: ignore[attr-defined]
    return None
