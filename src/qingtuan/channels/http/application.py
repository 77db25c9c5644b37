"""The application behind the front: all routes of the HTTP channel, and their description."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from qingtuan import __version__
from qingtuan.channels.entry import EntryHealth
from qingtuan.channels.http import problems
from qingtuan.channels.http.capabilities import capability_routes
from qingtuan.channels.http.chat import chat_routes
from qingtuan.channels.http.completions import completion_routes
from qingtuan.channels.http.front import CALLER, Caller
from qingtuan.channels.http.images import image_routes
from qingtuan.channels.http.page import POLICY, page
from qingtuan.channels.http.ports import Ports
from qingtuan.channels.http.problems import Declined, Problem
from qingtuan.channels.http.routes import described
from qingtuan.channels.http.streaming import Left
from qingtuan.channels.http.talk import Talk
from qingtuan.language import Words

_DESCRIPTION = """\
What programs can ask of Qingtuan. A caller has a key (`qingtuan key add`), in the header `Authorization: Bearer …`; \
a key speaks for one person, has sessions of its own, and sees no more than its scope.

Errors are JSON: `{"error": {"code", "message"}}`."""
_OPEN = ("/health", "/openapi.json", "/docs", "/image/{id}")


class Up(BaseModel):
    """Whether it works."""

    status: str


class ChannelState(BaseModel):
    """How one channel is."""

    name: str
    state: str
    words: str | None
    account: str | None
    last_inbound: str | None
    last_outbound: str | None


class Detail(BaseModel):
    """How everything is."""

    status: str
    version: str
    channels: list[ChannelState]


def application(talk: Talk, ports: Ports) -> FastAPI:
    """All routes."""
    app = FastAPI(
        title="小青团 Qingtuan",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    _handlers(app, ports)
    app.include_router(chat_routes(talk, ports))
    app.include_router(completion_routes(talk, ports))
    app.include_router(image_routes(ports))
    app.include_router(capability_routes(ports))
    _about(app, ports)
    return app


def _about(app: FastAPI, ports: Ports) -> None:
    @app.get("/health", summary="Whether it works", responses=described(ok=Up))
    async def health() -> Response:
        return JSONResponse({"status": "up"}, headers={"cache-control": "no-store"})

    @app.get(
        "/health/detail",
        summary="How each channel is; for the owner",
        responses=described(401, 403, 429, 503, ok=Detail),
    )
    async def detail(request: Request) -> Response:
        caller: Caller = request.scope[CALLER]
        if not ports.owners(caller.key):
            raise Declined(problems.OWNER_ONLY)
        channels = [_state(one, ports) for one in ports.health()]
        return JSONResponse({"status": "up", "version": __version__, "channels": channels})

    @app.get("/openapi.json", summary="This description", responses={200: {"description": "OpenAPI 3.1."}})
    async def description() -> Response:
        return Response(json.dumps(schema_of(app), ensure_ascii=False), media_type="application/json")

    @app.get(
        "/docs",
        summary="The same, to read",
        response_class=HTMLResponse,
        responses={200: {"description": "A page.", "content": {"text/html": {}}}},
    )
    async def docs(request: Request) -> Response:
        written = page(schema_of(app), str(request.base_url).rstrip("/"))
        return HTMLResponse(written, headers={"content-security-policy": POLICY})


def _state(health: EntryHealth, ports: Ports) -> dict[str, Any]:
    return {
        "name": health.name,
        "state": health.state,
        "words": health.words.say(ports.language) if health.words else None,
        "account": health.account,
        "last_inbound": health.last_inbound.isoformat() if health.last_inbound else None,
        "last_outbound": health.last_outbound.isoformat() if health.last_outbound else None,
    }


def _handlers(app: FastAPI, ports: Ports) -> None:
    def answer(request: Request, problem: Problem) -> Response:
        return Response(
            problem.body(request.url.path, ports.language),
            problem.status,
            {"cache-control": "no-store", **problem.headers},
            "application/json",
        )

    async def declined(request: Request, error: Exception) -> Response:
        assert isinstance(error, Declined)
        return answer(request, error.problem)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(request, problems.malformed(_wrong(error)).problem)

    async def routed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        known = {404: problems.NOTHING_THERE, 405: problems.NOT_THAT_WAY}.get(error.status_code, problems.BROKE)
        return answer(request, Problem(known.status, known.code, known.words, {**known.headers, **headers}))

    async def broke(request: Request, _: Exception) -> Response:
        return answer(request, problems.BROKE)  # the front writes it down

    async def left(_: Request, __: Exception) -> Response:
        return Response(status_code=204)  # nobody hears it

    app.add_exception_handler(Declined, declined)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, routed)
    app.add_exception_handler(Left, left)
    app.add_exception_handler(Exception, broke)


def _wrong(error: RequestValidationError) -> Words:
    """Where a request is not what it should be, and how. What stands there is not repeated."""
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"] if step != "body")[:200]
    return Words(f"{place}：{first['msg']}", f"{place}: {first['msg']}")


def schema_of(app: FastAPI) -> Mapping[str, Any]:
    """The description of all routes, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, ways in made["paths"].items():
            for one in ways.values():
                if "HTTPValidationError" in str(one["responses"].get("422")):
                    del one["responses"]["422"]  # FastAPI's own way to say what is 400 here
                if path not in _OPEN:
                    one["security"] = [{"key": []}]
        for unused in ("HTTPValidationError", "ValidationError"):
            made["components"]["schemas"].pop(unused, None)
        app.openapi_schema = made
    return app.openapi_schema
