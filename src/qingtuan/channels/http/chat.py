"""`/chat`: say something, and get all that comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from qingtuan.channels.connected import CaughtUp, Over
from qingtuan.channels.following import Followed
from qingtuan.channels.http import sse
from qingtuan.channels.http.files import MOST, kept
from qingtuan.channels.http.front import CALLER, Caller
from qingtuan.channels.http.ports import Ports
from qingtuan.channels.http.problems import Declined, malformed
from qingtuan.channels.http.routes import Prepared, described
from qingtuan.channels.http.streaming import EventStream, unless_left
from qingtuan.channels.http.talk import Answered, Said, Talk, own_id, session_name
from qingtuan.channels.outcome import Done, Pending
from qingtuan.language import Words
from qingtuan.messages import Outbound
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.desk import Taken
from qingtuan.turn.progress import ToolRuns

LONGEST = 200_000
"""Characters of one message."""


class File(BaseModel):
    """A file that comes along."""

    model_config = ConfigDict(extra="forbid", strict=True)
    data: Annotated[str, Field(description="A data URL, such as `data:image/png;base64,…`.")]
    name: Annotated[str, Field(max_length=200, description="The file's name, for people.")] = ""


class ChatRequest(BaseModel):
    """Something to say."""

    model_config = ConfigDict(extra="forbid", strict=True)
    message: Annotated[str, Field(max_length=LONGEST, description="What is said. Commands begin with a slash.")]
    session: Annotated[
        str | None,
        Field(max_length=128, description="Name or id of a session of this key; without it, the running one."),
    ] = None
    attachments: Annotated[list[File], Field(max_length=MOST, description="Pictures and files.")] = []
    stream: Annotated[bool, Field(description="Answer with server-sent events.")] = False


class Open(BaseModel):
    """A question that waits for a yes. A key never gives it: the person does, in a chat."""

    code: str | None
    summary: str
    expires: str


class SentFile(BaseModel):
    """A file that goes with a message."""

    name: str
    media_type: str
    size: int
    url: Annotated[str, Field(description="Where it can be had for an hour; without a host, on this server.")]


class Told(BaseModel):
    """A message that waited for somebody to ask: a notice, a reminder, an answer that nobody had waited for."""

    id: str
    kind: str
    text: str
    session: str | None
    attachments: list[SentFile] | None = None


class ChatReply(BaseModel):
    """What came of it."""

    reply: str
    session: str | None
    turn: Annotated[str | None, Field(description="`null` for a command: no model was asked.")]
    pending: Annotated[list[Open] | None, Field(description="Questions that are open; missing if there are none.")] = (
        None
    )
    attachments: Annotated[list[SentFile] | None, Field(description="Files of the reply.")] = None
    waiting: Annotated[list[Told] | None, Field(description="What else had waited for this key.")] = None


_STREAM = """\
Server-sent events. For `POST`: `taken` {session, turn}, then any of `delta` {text}, `back` {} (forget the deltas so
far), `tool` {name, line}, `message` {id, kind, text, session, attachments?, late?}, and in the end `done` (the object
that is answered without `stream`) or `error`. For `GET`: `message`, without end. A comment comes every 15 seconds."""


def chat_routes(talk: Talk, ports: Ports) -> APIRouter:
    """The routes."""
    router = APIRouter(route_class=Prepared)

    @router.post(
        "/chat",
        summary="Say something",
        responses=described(400, 401, 403, 408, 409, 413, 415, 429, 502, 503, ok=ChatReply, stream=_STREAM),
    )
    async def chat(
        asked: ChatRequest,
        request: Request,
        idempotency_key: Annotated[
            str | None, Header(description="An id of the caller's own: what comes twice with one is heard once.")
        ] = None,
    ) -> Response:
        caller: Caller = request.scope[CALLER]
        if not asked.message.strip() and not asked.attachments:
            raise malformed(_EMPTY)
        keep = ports.keep(caller.key)
        said = Said(
            asked.message,
            session_name(asked.session),
            tuple([await asyncio.to_thread(kept, file.data, file.name, keep) for file in asked.attachments]),
            message_id=own_id(idempotency_key),
        )
        if not asked.stream:
            answered = await unless_left(request, talk.answer(caller, said))
            return JSONResponse(_reply(answered, talk, ports))
        pieces = talk.follow(caller, said)
        first = await unless_left(request, begun(pieces))
        return EventStream(_events(_Streamed(talk, ports, caller), first, pieces, ports))

    @router.get(
        "/chat",
        summary="Hear what comes unasked",
        responses=described(401, 429, 503, stream=_STREAM),
    )
    async def attend(request: Request) -> Response:
        caller: Caller = request.scope[CALLER]
        shown = _Streamed(talk, ports, caller)
        return EventStream(_unasked(shown, talk.attend(caller), ports))

    return router


async def begun(pieces: AsyncGenerator[Followed, None]) -> Taken:
    """The first piece of what follows from a message.

    Raises:
        Declined: the message is not answered.
    """
    first = await anext(pieces)
    if isinstance(first, Taken) and first.kind == "ignored":
        async for _ in pieces:
            pass
    assert isinstance(first, Taken)
    return first


class _Streamed:
    """Puts what a caller gets into the shape of events."""

    def __init__(self, talk: Talk, ports: Ports, caller: Caller) -> None:
        self.talk = talk
        self.ports = ports
        self.caller = caller
        self._replies: list[Outbound] = []

    def event(self, piece: Followed) -> bytes:
        """One piece as an event; nothing for what callers need not know."""
        match piece:
            case Taken():
                return sse.event("taken", {"session": piece.session, "turn": piece.turn})
            case TextDelta(text):
                return sse.event("delta", {"text": text})
            case TakenBack():
                return sse.event("back", {})
            case ToolRuns(name, line):
                return sse.event("tool", {"name": name, "line": line})
            case Outbound():
                if piece.kind != "notice":
                    self._replies.append(piece)
                return sse.event("message", told(piece, self.talk, self.ports))
            case Done():
                return sse.event("done", _reply(Answered(piece, tuple(self._replies), ()), self.talk, self.ports))
            case CaughtUp() | Over():
                return b""

    def late(self, message: Outbound) -> bytes:
        """A message that had waited."""
        return sse.event("message", {**told(message, self.talk, self.ports), "late": True})


async def _events(
    shown: _Streamed, first: Taken, pieces: AsyncGenerator[Followed, None], ports: Ports
) -> AsyncIterator[bytes]:
    async with aclosing(pieces):
        yield shown.event(first)
        async with aclosing(shown.talk.waiting(shown.caller)) as late:
            async for message in late:
                yield shown.late(message)
        try:
            async for piece in sse.beating(pieces, ports.clock):
                if piece is None:
                    yield sse.BEAT
                elif event := shown.event(piece):
                    yield event
        except Declined as declined:
            yield sse.event("error", declined.problem.shown("/chat", ports.language))


async def _unasked(shown: _Streamed, messages: AsyncGenerator[Outbound, None], ports: Ports) -> AsyncIterator[bytes]:
    yield sse.BEAT
    async for message in sse.beating(messages, ports.clock):
        yield sse.BEAT if message is None else sse.event("message", told(message, shown.talk, ports))


def _reply(answered: Answered, talk: Talk, ports: Ports) -> dict[str, Any]:
    done = answered.done
    value: dict[str, Any] = {"reply": done.reply, "session": done.session, "turn": done.turn}
    if done.pending:
        value["pending"] = [_open(asked) for asked in done.pending]
    if files := [file for message in answered.replies for file in _files(message, ports)]:
        value["attachments"] = files
    if answered.waiting:
        value["waiting"] = [told(message, talk, ports) for message in answered.waiting]
    return value


def told(message: Outbound, talk: Talk, ports: Ports) -> dict[str, Any]:
    """A message as JSON has it."""
    files = _files(message, ports)
    plain = {"id": message.id, "kind": message.kind, "text": message.text, "session": talk.session_of(message)}
    return {**plain, **({"attachments": files} if files else {})}


def _files(message: Outbound, ports: Ports) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "media_type": one.media_type, "size": one.size, "url": ports.link(one)}
        for one in message.attachments
    ]


def _open(asked: Pending) -> dict[str, Any]:
    return {"code": asked.code, "summary": asked.summary, "expires": asked.expires.isoformat()}


_EMPTY = Words("message 是空的。", "The message is empty.")
