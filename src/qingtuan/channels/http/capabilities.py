"""`/capabilities`: the registry of self-made tools for programs. A key reads and runs what its person's role may; it
brings versions, which wait for the owner, and approves none; the owner's own key deletes, and decides nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from qingtuan.capabilities import shapes
from qingtuan.capabilities.definition import DefinitionRefused, read
from qingtuan.channels.http.front import CALLER, Caller
from qingtuan.channels.http.ports import Ports
from qingtuan.channels.http.problems import NOTHING_THERE, OWNER_ONLY, Declined, Problem, malformed
from qingtuan.channels.http.routes import Prepared, described
from qingtuan.errors import ArgumentsRefused, NotAllowed, NotThere, StorageFailed, ToolFailed, UsageWrong
from qingtuan.language import Words
from qingtuan.turn.direct import Direct

ROOT = "/capabilities/"
_LONGEST_QUERY = 1000
_OWNERS = ("code", "cases", "versions", "waiting")
"""What of a capability its owner alone is shown."""
_OWNERS_OF_USE = ("last", "error")
"""And of its use: when others called it, and what their calls had to do with."""


class Trial(BaseModel):
    """A call that has to pass before a version is stored."""

    model_config = ConfigDict(extra="forbid", strict=True)
    arguments: dict[str, Any] = {}
    expected: Annotated[Any, Field(description="What must come out; without it, it only has to run.")] = None
    note: str = ""


class Deploy(BaseModel):
    """A capability, whole. A version of that name that is there already is not written over: this is the next one."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(description="`[a-z][a-z0-9_]{1,47}`")]
    description: Annotated[str, Field(description="What it does, for the model that looks for it.")]
    schema_: Annotated[dict[str, Any], Field(alias="schema", description="JSON Schema of its arguments, an object.")]
    code: Annotated[
        str, Field(description="A module in TypeScript or JavaScript: `export default async function (input) { … }`.")
    ]
    cases: Annotated[list[Trial], Field(description="They must pass; what reaches a host is tried after the yes.")] = []
    hosts: Annotated[list[str], Field(description="Whom its `fetch` may ask: `name` or `name:port`.")] = []
    tags: list[str] = []
    examples: Annotated[list[str], Field(description="Things a person says that call for it.")] = []
    kind: Literal["persistent", "normal", "ephemeral"] = "normal"
    ttl: Annotated[int | None, Field(description="Seconds that an ephemeral one lives.")] = None


class Deployed(BaseModel):
    """What became of it."""

    name: str
    version: int
    waits: Annotated[bool, Field(description="Whether it waits for the owner; until then the earlier one runs.")]
    same: Annotated[bool, Field(description="Whether it equals what runs already.")]


class Hit(BaseModel):
    """A capability, as whoever calls it has to know it."""

    name: str
    description: str
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    tags: list[str]
    examples: list[str]
    hosts: list[str]
    kind: str
    version: int
    broken: Annotated[bool, Field(description="Whether its last three calls all failed.")]


class Found(BaseModel):
    """Hits, best first; without words, all of them by name."""

    items: list[Hit]
    total: Annotated[int, Field(description="On all pages.")]
    cursor: Annotated[str | None, Field(description="Where the next page begins; `null` after the last one.")]


class Use(BaseModel):
    """How calls went."""

    calls: int
    failures: int
    seconds: float
    last: Annotated[str | None, Field(description="When it was called last; for the owner.")]
    error: Annotated[str | None, Field(description="Of the last call that failed; for the owner.")]


class Whole(Hit):
    """A capability with what its owner may see besides; `null` for others."""

    use: Use
    code: str | None
    cases: list[dict[str, Any]] | None
    versions: list[dict[str, Any]] | None
    waiting: Annotated[list[dict[str, Any]] | None, Field(description="Versions that wait for the owner.")]


class Reached(BaseModel):
    """One request that the code made."""

    method: str
    url: str
    status: int | None
    sent: int
    received: int
    refused: str


class Ran(BaseModel):
    """What a call gave."""

    name: str
    version: int
    result: Any
    seconds: float
    fetched: list[Reached]
    printed: Annotated[str, Field(description="What the code wrote to its console.")]


class Counted(BaseModel):
    """How the registry is, counted."""

    stored: int
    resident: int
    most_resident: int
    evictions: int
    cold_starts: int
    waiting: int
    broken: int
    off: int
    calls: int
    failures: int
    troubles: Annotated[list[str], Field(description="Folders that are not taken as they are.")]


class Gone(BaseModel):
    """What was deleted."""

    deleted: str


def capability_routes(ports: Ports) -> APIRouter:
    """The routes."""
    router = APIRouter(route_class=Prepared)
    _reading(router, ports)
    _changing(router, ports)
    return router


def _reading(router: APIRouter, ports: Ports) -> None:
    @router.get(
        f"{ROOT}query",
        summary="Look for capabilities, or list them",
        responses=described(400, 401, 403, 429, 503, ok=Found),
    )
    async def query(
        request: Request,
        q: Annotated[str, Query(max_length=_LONGEST_QUERY, description="What it should do.")] = "",
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        cursor: Annotated[str | None, Query(max_length=40, description="From the page before.")] = None,
    ) -> Response:
        direct = _direct(request, ports)
        with _told():
            return JSONResponse(shapes.page_json(await direct.query(_clean(q), limit, cursor)))

    @router.get(
        f"{ROOT}inspect/{{name}}",
        summary="All about one capability; code and versions for its owner",
        responses=described(401, 403, 404, 429, 503, ok=Whole),
    )
    async def inspect(name: str, request: Request) -> Response:
        with _told():
            return JSONResponse(_inspected(_direct(request, ports), name, ports))

    @router.get(
        f"{ROOT}status",
        summary="How the registry is; for the owner",
        responses=described(401, 403, 429, 503, ok=Counted),
    )
    async def status(request: Request) -> Response:
        _owner(request, ports)
        return JSONResponse(shapes.status_json(_direct(request, ports).capabilities.status()))


def _changing(router: APIRouter, ports: Ports) -> None:
    @router.post(
        f"{ROOT}deploy",
        summary="Bring a version, which waits for the owner",
        responses=described(400, 401, 403, 408, 413, 415, 422, 429, 502, 503, ok=Deployed),
    )
    async def deploy(given: Deploy, request: Request) -> Response:
        direct = _direct(request, ports)
        # A case without `expected` is another one than a case that expects null.
        wanted = given.model_dump(by_alias=True, exclude_unset=True)
        with _told():
            made = await direct.deploy(read(wanted), "http")
        return JSONResponse({"name": made.name, "version": made.version, "waits": made.waits, "same": made.same})

    @router.post(
        f"{ROOT}run/{{name}}",
        summary="Call a capability",
        responses=described(400, 401, 403, 404, 408, 413, 415, 422, 429, 502, 503, ok=Ran),
    )
    async def run(name: str, arguments: dict[str, Any], request: Request) -> Response:
        """The body holds the arguments. One that stands in the address instead (`?value=3`) is read by the schema, and
        goes before one of the body."""
        direct = _direct(request, ports)
        with _told():
            done = await direct.call(name, {**arguments, **direct.read(name, _in_address(request))})
        return JSONResponse(shapes.called_json(name, done))

    @router.delete(
        f"{ROOT}{{name}}",
        summary="Delete a capability; its versions stay. For the owner",
        responses=described(401, 403, 404, 429, 503, ok=Gone),
    )
    async def delete(name: str, request: Request) -> Response:
        _owner(request, ports)
        with _told():
            await _direct(request, ports).delete(name, "http")
        return JSONResponse({"deleted": name})


def _inspected(direct: Direct, name: str, ports: Ports) -> dict[str, Any]:
    card = direct.card(name)
    told = {**shapes.card_json(card, direct.capabilities.history(name), ports.language), "broken": card.held.broken}
    kept = (*(field.alias or name for name, field in Whole.model_fields.items()),)
    mine = direct.reader.is_owner_alone
    if mine:
        return {field: told[field] for field in kept}
    told["use"] |= dict.fromkeys(_OWNERS_OF_USE)
    return {field: None if field in _OWNERS else told[field] for field in kept}


def _in_address(request: Request) -> dict[str, str | list[str]]:
    """The arguments that stand in the address; of one that stands there several times, all."""
    given = request.query_params
    return {key: values if len(values := given.getlist(key)) > 1 else given[key] for key in given}


def _direct(request: Request, ports: Ports) -> Direct:
    """What this caller may do.

    Raises:
        Declined: nobody has that key any more, or whoever has it is answered nowhere.
    """
    caller: Caller = request.scope[CALLER]
    if not ports.answered(caller.key):
        raise Declined(REFUSED)
    try:
        reader = ports.host.kit.people.reader(caller.account, caller.space)
    except NotAllowed as error:
        raise Declined(replace(REFUSED, words=error.words)) from error
    return Direct(ports.host.kit, ports.capabilities, caller.account, reader)


def _owner(request: Request, ports: Ports) -> None:
    caller: Caller = request.scope[CALLER]
    if not ports.owners(caller.key):
        raise Declined(OWNER_ONLY)


@contextmanager
def _told() -> Iterator[None]:
    """Let what goes wrong be the answer. Raises `Declined`."""
    try:
        yield
    except DefinitionRefused as error:
        faults = [fault.json for fault in error.faults]
        raise Declined(replace(NOT_DEPLOYED, words=error.words, more={"faults": faults})) from error
    except ArgumentsRefused as error:
        raise Declined(replace(INVALID_ARGUMENTS, words=error.words)) from error
    except NotThere as error:
        raise Declined(replace(NOTHING_THERE, words=error.words)) from error
    except NotAllowed as error:
        raise Declined(replace(REFUSED, words=error.words)) from error
    except UsageWrong as error:
        raise malformed(error.words) from error
    except ToolFailed as error:
        raise Declined(replace(FAILED, words=error.words)) from error
    except StorageFailed as error:
        raise Declined(NOT_STORED) from error


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "")


NOT_DEPLOYED = Problem(
    422,
    "not_deployed",
    Words(
        "这个工具不对，没有部署；faults 里是每一处。", "The capability is not right and was not deployed; see `faults`."
    ),
)
INVALID_ARGUMENTS = Problem(
    422,
    "invalid_arguments",
    Words("参数缺了或者不对，message 说是哪个。", "Arguments are missing or wrong; each is named."),
)
REFUSED = Problem(
    403,
    "refused",
    Words("这个人不能这样，或者要有人点头。", "This person may not do that, or somebody would have to say yes to it."),
)
FAILED = Problem(
    502,
    "failed",
    Words("工具没有给出结果，message 说为什么。", "The capability gave no result; the message says why."),
    {"x-should-retry": "false"},
)
NOT_STORED = Problem(
    503, "not_stored", Words("没能存下来，请再发一次。", "It could not be stored; please send it again.")
)
