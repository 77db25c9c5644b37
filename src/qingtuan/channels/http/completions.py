"""`/v1`: the interface of OpenAI's chat completions, for the programs that speak it.

Only the last message of the person counts: what was said before is known here, and what a program adds for a system is
its own affair.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr
from starlette.responses import JSONResponse, Response

from qingtuan.channels.following import Followed
from qingtuan.channels.http import sse
from qingtuan.channels.http.chat import LONGEST, begun
from qingtuan.channels.http.files import MOST, Keep, kept, linked
from qingtuan.channels.http.front import CALLER, Caller
from qingtuan.channels.http.housekeeping import Spoken, apart, kept_out
from qingtuan.channels.http.ports import Ports
from qingtuan.channels.http.problems import NOTHING_THERE, Declined, malformed
from qingtuan.channels.http.reconciling import Shown
from qingtuan.channels.http.routes import OpenAIProblem, Prepared, described
from qingtuan.channels.http.streaming import EventStream, unless_left
from qingtuan.channels.http.talk import Said, Talk, header_text, session_name
from qingtuan.channels.outcome import Done
from qingtuan.language import Words
from qingtuan.messages import Attachment, Material, Origin, Outbound, Remote
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.progress import ToolRuns

MODEL = "qingtuan"
_PATH = "/v1/chat/completions"


class Message(BaseModel):
    """One message of a conversation."""

    model_config = ConfigDict(extra="allow")
    role: StrictStr
    content: Annotated[
        StrictStr | list[dict[str, Any]] | None,
        Field(description="Text, or parts: `text` and `image_url` (a data URL, or a web address)."),
    ] = None


class StreamOptions(BaseModel):
    """What comes with a stream."""

    model_config = ConfigDict(extra="allow")
    include_usage: StrictBool | None = None


class CompletionRequest(BaseModel):
    """A conversation, of which the last message of the user counts. Whatever else stands here is ignored."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[StrictStr, Field(description="Any; there is one, `qingtuan`.")] = MODEL
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None


class Reply(BaseModel):
    """What the assistant says."""

    role: Literal["assistant"]
    content: str


class Choice(BaseModel):
    """The one answer."""

    index: int
    message: Reply
    finish_reason: Literal["stop"]


class CompletionUsage(BaseModel):
    """Tokens of all requests to the model that led to the answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    """The answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage


class Model(BaseModel):
    """A model, as OpenAI describes one."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(BaseModel):
    """All of them: there is one."""

    object: Literal["list"]
    data: list[Model]


_STREAM = "Server-sent events: `chat.completion.chunk` objects, then `[DONE]`. A comment comes every 15 seconds."
_THE_MODEL = {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}


def completion_routes(talk: Talk, ports: Ports) -> APIRouter:
    """The routes."""
    router = APIRouter(route_class=Prepared)

    @router.get(
        "/v1/models",
        summary="Which models there are: `qingtuan`",
        responses=described(401, 429, 503, ok=Models, problem=OpenAIProblem),
    )
    async def models() -> Response:
        return JSONResponse({"object": "list", "data": [_THE_MODEL]})

    @router.get(
        "/v1/models/{model}",
        summary="One of them",
        responses=described(401, 404, 429, 503, ok=Model, problem=OpenAIProblem),
    )
    async def model_of(model: str) -> Response:
        if model != MODEL:
            raise Declined(NOTHING_THERE)
        return JSONResponse(_THE_MODEL)

    @router.post(
        _PATH,
        summary="Say something, as OpenAI's clients do",
        responses=described(
            400, 401, 403, 408, 409, 413, 415, 429, 502, 503, ok=Completion, stream=_STREAM, problem=OpenAIProblem
        ),
    )
    async def complete(
        asked: CompletionRequest,
        request: Request,
        x_session_id: Annotated[str | None, Header(description="Name of the conversation.")] = None,
        x_openwebui_chat_id: Annotated[str | None, Header(description="The same, as Open WebUI sends it.")] = None,
    ) -> Response:
        caller: Caller = request.scope[CALLER]
        head = _Head(ports)
        if (title := kept_out([Spoken(one.role, _text(one.content)) for one in asked.messages])) is not None:
            return _at_once(head, title, asked)
        session = session_name(header_text(x_session_id or x_openwebui_chat_id)) or session_of(
            caller.account, asked.messages
        )
        said = await _said(asked.messages, session, ports.keep(caller.key))
        if not asked.stream:
            answered = await unless_left(request, talk.answer(caller, said, of_session=True))
            texts = (_with_files(message, ports) for message in (*answered.waiting, *answered.replies))
            return JSONResponse(head.whole("\n\n".join(filter(None, texts)), answered.done))
        pieces = talk.follow(caller, said)
        first = await unless_left(request, begun(pieces))
        late = talk.waiting(caller, first.session)
        return EventStream(_chunks(head, late, pieces, ports, usage=_wants_usage(asked)))

    return router


def session_of(account: str, messages: Sequence[Message]) -> str:
    """The name of the session of a conversation that says none: by who speaks, and what was said first."""
    first = next((message for message in messages if message.role == "user"), None)
    said = json.dumps([account, first.content if first else None], sort_keys=True)
    return f"v1-{hashlib.sha256(said.encode()).hexdigest()[:16]}"


async def _said(messages: Sequence[Message], session: str, keep: Keep) -> Said:
    last = next((message for message in reversed(messages) if message.role == "user"), None)
    if last is None:
        raise malformed(_NO_USER)
    text, context = apart(_text(last.content))
    images = [] if not isinstance(last.content, list) else [_image(part) for part in last.content if _is_image(part)]
    if len(images) > MOST:
        raise malformed(_TOO_MANY)
    attached: list[Attachment] = []
    remotes: list[Remote] = []
    for image in images:
        if image[:5].lower() == "data:":
            attached.append(await asyncio.to_thread(kept, image, "", keep))
        else:
            remotes.append(linked(image))
    if not text.strip() and not images:
        raise malformed(_EMPTY)
    if len(text) + len(context) > LONGEST:
        raise malformed(_TOO_LONG)
    materials = (Material(Origin.FILE, "files of the program", context),) if context else ()
    return Said(text, session, tuple(attached), materials, tuple(remotes))


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        texts = (part.get("text") for part in content if part.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))
    return content or ""


def _is_image(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    if kind not in ("text", "image_url"):
        raise malformed(_OTHER_PART)
    return bool(kind == "image_url")


def _image(part: dict[str, Any]) -> str:
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, dict) else given
    if not isinstance(url, str):
        raise malformed(_OTHER_PART)
    return url


def _wants_usage(asked: CompletionRequest) -> bool:
    return asked.stream_options is not None and asked.stream_options.include_usage is True


class _Head:
    """What all pieces of one answer carry."""

    def __init__(self, ports: Ports) -> None:
        self._id = f"chatcmpl-{uuid4().hex}"
        self._created = round(ports.clock.now().timestamp())

    def _base(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": MODEL}

    def whole(self, text: str, done: Done | None) -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {**self._base("chat.completion"), "choices": [choice], "usage": _usage(done)}

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse.data({**self._base("chat.completion.chunk"), "choices": [choice]})

    def usage(self, done: Done | None) -> bytes:
        return sse.data({**self._base("chat.completion.chunk"), "choices": [], "usage": _usage(done)})


def _usage(done: Done | None) -> dict[str, int]:
    prompt, completion = (done.usage.prompt, done.usage.completion) if done else (0, 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _at_once(head: _Head, text: str, asked: CompletionRequest) -> Response:
    if not asked.stream:
        return JSONResponse(head.whole(text, None))

    async def chunks() -> AsyncIterator[bytes]:
        yield head.chunk({"role": "assistant", "content": text})
        yield head.chunk({}, "stop")
        if _wants_usage(asked):
            yield head.usage(None)
        yield sse.data("[DONE]")

    return EventStream(chunks())


async def _chunks(
    head: _Head,
    late: AsyncGenerator[Outbound, None],
    pieces: AsyncGenerator[Followed, None],
    ports: Ports,
    *,
    usage: bool,
) -> AsyncIterator[bytes]:
    shown = Shown()
    async with aclosing(pieces), aclosing(late):
        yield head.chunk({"role": "assistant", "content": ""})
        async for message in late:
            if text := shown.message(_with_files(message, ports)):
                yield head.chunk({"content": text})
        try:
            async for piece in sse.beating(pieces, ports.clock):
                text = _grown(shown, piece, ports)
                if piece is None:
                    yield sse.BEAT
                elif text:
                    yield head.chunk({"content": text})
                elif isinstance(piece, Done):
                    yield head.chunk({}, "stop")
                    if usage:
                        yield head.usage(piece)
        except Declined as declined:
            yield sse.data(declined.problem.shown(_PATH, ports.language))
        yield sse.data("[DONE]")


def _grown(shown: Shown, piece: Followed | None, ports: Ports) -> str:
    match piece:
        case TextDelta(text):
            return shown.delta(text)
        case TakenBack():
            shown.take_back()
        case ToolRuns():
            shown.apart()
        case Outbound():
            return shown.message(_with_files(piece, ports))
    return ""


def _with_files(message: Outbound, ports: Ports) -> str:
    """A message with its files as links, where those lead somewhere from elsewhere, else with their names."""
    lines = []
    for one in message.attachments:
        url = ports.link(one)
        mark = "!" if one.kind == "image" else ""
        lines.append(f"{mark}[{one.name}]({url})" if "://" in url else _FILE.say(ports.language).format(name=one.name))
    return "\n\n".join(filter(None, (message.text, *lines)))


_FILE = Words("（文件：{name}。设了 server.public_url 才有链接）", "(File: {name}. Links need server.public_url.)")
_NO_USER = Words("messages 里没有 role 是 user 的消息。", "There is no message of the role user.")
_EMPTY = Words("最后一条 user 消息是空的。", "The last message of the user is empty.")
_TOO_LONG = Words(f"太长了，最多 {LONGEST} 个字。", f"Too long: at most {LONGEST} characters.")
_TOO_MANY = Words(f"图片太多，最多 {MOST} 张。", f"Too many pictures: at most {MOST}.")
_OTHER_PART = Words(
    "最后一条 user 消息里只能有 text 和 image_url。",
    "The last message of the user can have parts of the types text and image_url.",
)
