"""What all routes share: bodies that are read already, and answers as OpenAPI describes them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.responses import Response

from qingtuan.channels.http.front import BODY


class _Read(Request):
    """A request whose body the front has read."""

    async def body(self) -> bytes:
        return b"read" if BODY in self.scope else b""

    async def json(self) -> Any:
        return self.scope[BODY]


class Prepared(APIRoute):
    """A route behind the front."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await handle(_Read(request.scope, request.receive))

        return handler


class Error(BaseModel):
    """What went wrong."""

    code: str
    message: str


class Problem(BaseModel):
    """An answer that is an error."""

    error: Error
    session: str | None = None
    turn: str | None = None
    faults: Annotated[
        list[dict[str, Any]] | None, Field(description="All that is wrong with a capability: field, words, line.")
    ] = None


class OpenAIError(BaseModel):
    """What went wrong, as OpenAI says it."""

    message: str
    type: str
    param: str | None
    code: str


class OpenAIProblem(BaseModel):
    """An answer that is an error."""

    error: OpenAIError


_MEANING = {
    400: "The request is not what it should be.",
    401: "No valid key.",
    403: "This key, or its person, may not do that.",
    404: "Nothing of that name.",
    408: "The request came in too slowly.",
    409: "Received before, or stopped by its person.",
    413: "Too large.",
    415: "Not JSON.",
    422: "The arguments, or the capability, are not what they should be: each is named.",
    429: "Too much, too fast, or a limit of the person.",
    500: "Something broke on the server's side.",
    502: "It broke on the way: a turn, whose message was taken in, or the code of a capability.",
    503: "No model can be reached, or the server is stopping; an answer that is still to come waits for the next call.",
}


def described(
    *statuses: int,
    ok: type[BaseModel] | None = None,
    stream: str | None = None,
    problem: type[BaseModel] = Problem,
) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: the good one, and the problems."""
    good: dict[str, Any] = {"description": "Done."}
    if ok is not None:
        good["model"] = ok
    if stream is not None:
        good["content"] = {"text/event-stream": {"schema": _EVENT}}
        good["description"] = stream if ok is None else f"Done. With `stream`:\n\n{stream}"
    found: dict[int | str, dict[str, Any]] = {200: good}
    for status in (*statuses, *((500,) if statuses else ())):
        headers = {"WWW-Authenticate": _header("How to say who calls.")} if status == 401 else {}
        if status == 429:
            headers = {"Retry-After": _header("Seconds.")}
        found[status] = {"model": problem, "description": _MEANING[status], "headers": headers}
    return found


_EVENT = {
    "type": "object",
    "description": "One event of the stream.",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
    "required": ["data"],
}


def _header(meaning: str) -> dict[str, Any]:
    return {"description": meaning, "schema": {"type": "string"}}
