"""What a tool is, and the decorator that makes one of an async function.

    @tool(risk=Risk.READ, returns="own", roles=EVERYONE)
    async def calculate(context: ToolContext, expression: Annotated[str, "like 3*(4+5)"]) -> ToolResult:
        '''Work out an arithmetic expression.'''
        ...

A part whose tools share something makes them methods of a class and gives out `tools_of(instance)`. Whatever
has no Python signature (MCP, self-made code, other agents) constructs `Tool` itself.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack

from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Piece, Risk, inherit
from qingtuan.language import Language, Words
from qingtuan.messages import Attachment, Origin
from qingtuan.models.chat import ImagePart, ToolSpec
from qingtuan.storage.files import content_hash
from qingtuan.tools.signature import signature_of
from qingtuan.tools.strict_json import canonical

OWNER_ONLY = frozenset({Role.OWNER})
MEMBERS = frozenset({Role.OWNER, Role.MEMBER})
EVERYONE = frozenset(Role)

Returns = Literal["own", "foreign"]
"""Whether results are our own words (memory, clock, lists) or material."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom, where and when a call runs. A tool learns of the turn what stands here and nothing else."""

    reader: Reader
    session: str
    turn: str
    call: str
    """Id of the `tool.started` event; what the tool writes names it as its cause."""
    words: str
    """The speaker's own words of this turn."""
    material: tuple[Piece, ...]
    """The foreign material in the request that led to the call."""
    now: datetime
    """When the turn began, aware, in the person's zone: `now.tzinfo` is that zone."""
    language: Language
    report: Callable[[str], None] = lambda _: None
    """Shows one line about how far the call has come to whoever watches the turn; nothing depends on it."""
    asking: Callable[[], AbstractContextManager[None]] = nullcontext
    """To be entered while a person is asked something for this call: its time stands still."""

    @property
    def foreign(self) -> bool:
        """Whether the call was made with material in view."""
        return bool(self.material)

    @property
    def origin(self) -> Origin:
        """The origin that whatever is written from this call inherits."""
        speaker = Origin.OWNER if self.reader.role is Role.OWNER else Origin.PERSON
        return inherit((speaker, *(piece.origin for piece in self.material)))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives back."""

    text: str
    """For the model: whole; `run` bounds and labels it."""
    data: Any = None
    """The same as JSON, for pages and programs; None if there is nothing but text."""
    origin: Origin | None = None
    """Where the text comes from, if not simply from the tool: an own list can hold what a page said."""
    undo: bool = False
    """Whether `/undo` takes it back."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the model to look at."""
    attachments: tuple[Attachment, ...] = ()
    """Files and pictures to send with the reply."""


Before = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Looks at a call before a person is asked about it: gives what the question shows besides the arguments, and raises
`ForModel` errors for a call that nobody need be asked about. It has no effect, and after a crash runs again."""
Run = Callable[[ToolContext, dict[str, Any]], Awaitable[ToolResult]]
"""Runs with checked JSON arguments. Raises `ForModel` and `ForPerson` errors for whatever goes wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Anything that the model can call. Its defaults are the narrowest."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""
    risk: Risk
    run: Run
    returns: Returns = "foreign"
    roles: frozenset[Role] = OWNER_ONLY
    core: bool = True
    """Whether it stands in every request. If not, it is paged in by `capability_search` (capabilities.md)."""
    foreign_words: bool = False
    """Whether name, description and schema are somebody else's text: a request that shows them holds material."""
    sends_out: bool = False
    """Whether arguments leave this machine's trust: addresses, search words, messages to other agents."""
    timeout: float = 30.0
    """Seconds, from the moment the call begins."""
    concurrency: int = 4
    """How many calls run at the same time; more wait."""
    examples: tuple[str, ...] = ()
    """Things a person says that call for this tool: what a search looks through."""
    about: Words | None = None
    """What it does, on a line for people; the description is for the model. None where that has to do for both."""
    sentence: Words | None = None
    """The question of a confirmation, each argument as `{name}` (or `{name:day}` for a date)."""
    secrets: frozenset[str] = frozenset()
    """Arguments whose values are never printed."""
    exempt: frozenset[str] = frozenset()
    """Arguments that are labels and need no evidence in the speaker's words (a kind, a predicate)."""
    asked_for: re.Pattern[str] | None = None
    """Words of the speaker that ask for this to be done with a forward, link or file ("记一下"): then no argument needs
    evidence. Only for a `write` whose result stays material."""
    heading: Words | None = None
    """The line over the arguments in a question where no sentence says it all; None for the tool's name."""
    whole: frozenset[str] = frozenset()
    """Arguments that a question shows line by line, as far as anybody would read: code."""
    before: Before | None = field(default=None, repr=False, compare=False)
    """What is done before a person is asked, within `timeout`."""
    patience: timedelta = timedelta(minutes=30)
    """How long a question about a call stays open."""
    version: str = ""
    """What tells two tools of one name apart: a hash of self-made code, the pinned hash of a server's tool."""
    bind: Callable[[Any], Run] | None = field(default=None, repr=False, compare=False)
    """For a tool that was defined in a class: makes `run` for an instance."""

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """Like a function: read from an instance, a tool that a class defines is bound to it."""
        return self if instance is None or self.bind is None else replace(self, run=self.bind(instance), bind=None)

    @property
    def spec(self) -> ToolSpec:
        """What the model is shown."""
        return ToolSpec(wire_name(self.name), self.description, self.parameters)

    @property
    def fingerprint(self) -> str:
        """Hash of all that a yes relies on: name, version, description, parameters and risk."""
        parts = [self.name, self.version, self.description, self.parameters, self.risk]
        return content_hash(canonical(parts).encode())

    def binding(self, arguments: Mapping[str, Any]) -> str:
        """Hash of the tool as it is now with exactly these arguments: what a yes is bound to."""
        return content_hash(canonical([self.fingerprint, arguments]).encode())


_WIRE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def wire_name(name: str) -> str:
    """The name under which a provider of models accepts a tool: itself, wherever it can be.

    Other names become their plain letters with a hash of the whole behind, so that two never meet and a
    registry finds the way back.
    """
    if _WIRE_NAME.fullmatch(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:55]
    return f"{plain or 'tool'}_{content_hash(name.encode('utf-8', 'surrogatepass'))[:8]}"


class Traits(TypedDict, total=False):
    """The fields of `Tool` that have a default; `name` and `description` are those of the function."""

    name: str
    description: str
    returns: Returns
    roles: frozenset[Role]
    core: bool
    sends_out: bool
    timeout: float
    concurrency: int
    examples: tuple[str, ...]
    about: Words
    sentence: Words
    secrets: frozenset[str]
    exempt: frozenset[str]
    asked_for: re.Pattern[str]
    heading: Words
    whole: frozenset[str]
    patience: timedelta
    version: str


ToolFunction = Callable[..., Awaitable[ToolResult]]


def tool(*, risk: Risk, **traits: Unpack[Traits]) -> Callable[[ToolFunction], Tool]:
    """Make a tool of `async def name(context: ToolContext, …) -> ToolResult`, or of such a method.

    Name, description (the docstring) and parameters come from the function.

    Raises:
        TypeError: the function is not async, takes no context first, or has a parameter that JSON cannot
            carry; or a trait names an argument that is not there.
    """

    def make(function: ToolFunction) -> Tool:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__qualname__}: a tool is an async function")
        first = next(iter(inspect.signature(function).parameters), None)
        method = first == "self"
        signature = signature_of(function, leading=2 if method else 1)
        none = frozenset[str]()
        for name in traits.get("secrets", none) | traits.get("exempt", none) | traits.get("whole", none):
            if name not in signature.parameters["properties"]:
                raise TypeError(f"{function.__qualname__}: there is no argument {name}")

        def bind(*instance: Any) -> Run:
            async def run(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
                return await function(*instance, context, **signature.values(arguments))

            return run

        made = Tool(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            parameters=signature.parameters,
            risk=risk,
            run=bind(),
            bind=bind if method else None,
        )
        return replace(made, **traits)

    return make


def tools_of(instance: object) -> list[Tool]:
    """The tools that the class of `instance` defines, bound to it, in the order of their definition."""
    names = [
        name
        for kind in reversed(type(instance).__mro__)
        for name, value in vars(kind).items()
        if isinstance(value, Tool)
    ]
    return [getattr(instance, name) for name in dict.fromkeys(names)]
