"""The tools by which the model makes tools for itself, mends them, and looks at them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from qingtuan.capabilities.bounds import MAX_CASES, MAX_CODE, MAX_HOSTS
from qingtuan.capabilities.catalog import Catalog
from qingtuan.capabilities.definition import Definition, DefinitionRefused, Fault, read
from qingtuan.capabilities.ledger import By, Held
from qingtuan.capabilities.registry import Capabilities
from qingtuan.capabilities.sandbox.runtime import RUNTIME
from qingtuan.capabilities.values import Card, Deployed
from qingtuan.errors import NotThere, ToolFailed
from qingtuan.events.log import Place
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Reader, Role, Visibility
from qingtuan.identity.trust import Risk
from qingtuan.language import Language, Words
from qingtuan.messages import Origin
from qingtuan.tools.tool import Tool, ToolContext, ToolResult, tool, tools_of

TIMEOUT = 150.0
"""Seconds for compiling and for all cases."""
_SCHEMA = "parameters: JSON Schema of an object, each property with a description"
_CODE = f"the module, at most {MAX_CODE} characters"
_CASES = (
    f"calls that must pass, at most {MAX_CASES}: {{arguments, expected?, note?}}; without expected it only has to run"
)
_HOSTS = f"hosts that fetch may reach, as api.example.com or name:port, at most {MAX_HOSTS}; none: no network"
_KIND = "persistent, normal or ephemeral (ends after ttl)"
_EXAMPLES = "things a person says that call for it, in their language"
_KINDS = {"enum": ["persistent", "normal", "ephemeral"]}
_OWNERS = ("code", "cases")
"""What of a definition its owner alone is shown."""
_SHOWN = ("name", "description", "parameters", "code", "cases", "hosts")

_CREATE = f"""\
Write a new tool in TypeScript or JavaScript and keep it for good: when nothing that capability_search finds does the \
job. It is compiled and its cases are run first; if something is wrong, everything wrong comes back with line numbers \
and nothing changes. Then the system asks the owner, who sees the whole; after the yes it can be called under its name.
{RUNTIME.en}
What fetch returns, the code has to check: Response.ok, and the shape of the JSON. Cases of a tool with hosts run \
after the yes."""


class MakingTools:
    """`tools()` gives them."""

    def __init__(self, capabilities: Capabilities, catalog: Catalog) -> None:
        self._capabilities = capabilities
        self._catalog = catalog

    def tools(self) -> list[Tool]:
        """With what is looked at before a person is asked."""
        first = {"capability_create": self._before_create, "capability_update": self._before_update}
        return [replace(made, before=first.get(made.name)) for made in tools_of(self)]

    @tool(
        # What the runtime can do stands there whole: a first try has to work.
        description=_CREATE,
        risk=Risk.ACT,
        returns="own",
        core=False,
        timeout=TIMEOUT,
        whole=frozenset({"code", "schema", "cases"}),
        examples=(
            "造个工具", "写个工具", "做一个小工具", "自己写代码", "写一个函数", "以后都能用的新功能", "make a tool",
            "write a tool", "build a new capability", "write code that runs",
        ),
        about=Words("自己写一个新工具（要你点头）", "write a new tool (with your yes)"),
        heading=Words("要做一个新工具，以后都能调用：", "About to make a new tool, there to be called from now on:"),
    )  # fmt: skip
    async def capability_create(
        self,
        context: ToolContext,
        name: Annotated[str, "lower-case letters, digits, underscores, such as sha256_hash"],
        description: Annotated[str, "what it does, for whoever looks for it, in one or two sentences"],
        schema: Annotated[dict[str, Any], _SCHEMA],
        code: Annotated[str, _CODE],
        cases: Annotated[list[dict[str, Any]], _CASES],
        hosts: Annotated[list[str] | None, _HOSTS] = None,
        tags: Annotated[list[str] | None, "a few words"] = None,
        examples: Annotated[list[str] | None, _EXAMPLES] = None,
        kind: Annotated[str | None, _KIND, _KINDS] = None,
        ttl: Annotated[int | None, "seconds, for ephemeral"] = None,
    ) -> ToolResult:
        given = {
            "name": name, "description": description, "schema": schema, "code": code, "cases": cases, "hosts": hosts,
            "tags": tags, "examples": examples, "kind": kind, "ttl": ttl,
        }  # fmt: skip
        definition = read({key: value for key, value in given.items() if value is not None})
        done = await self._deploy(definition, context, over=0)
        return _told(done, context.language)

    @tool(
        risk=Risk.ACT,
        returns="own",
        core=False,
        timeout=TIMEOUT,
        whole=frozenset({"code", "schema", "cases"}),
        examples=("改一改那个工具", "修好那个工具", "fix the tool", "change the tool", "update a capability"),
        about=Words("改自己写的工具（要你点头）", "change a self-made tool (with your yes)"),
        heading=Words("要改一个自己写的工具：", "About to change a self-made tool:"),
    )
    async def capability_update(
        self,
        context: ToolContext,
        name: Annotated[str, "the one to change"],
        version: Annotated[int, "the version that you saw in capability_inspect"],
        description: Annotated[str | None, "as for capability_create; leave out whatever stays"] = None,
        schema: Annotated[dict[str, Any] | None, _SCHEMA] = None,
        code: Annotated[str | None, _CODE] = None,
        cases: Annotated[list[dict[str, Any]] | None, _CASES] = None,
        hosts: Annotated[list[str] | None, _HOSTS] = None,
        tags: Annotated[list[str] | None, "a few words"] = None,
        examples: Annotated[list[str] | None, _EXAMPLES] = None,
        kind: Annotated[str | None, _KIND, _KINDS] = None,
        ttl: Annotated[int | None, "seconds, for ephemeral"] = None,
    ) -> ToolResult:
        """Change a tool that you made: looks, tests and asks like capability_create. Only what changes is given."""
        changes = {
            "description": description, "schema": schema, "code": code, "cases": cases, "hosts": hosts, "tags": tags,
            "examples": examples, "kind": kind, "ttl": ttl,
        }  # fmt: skip
        held = self._held(name)
        definition = _changed(held, {key: value for key, value in changes.items() if value is not None})
        inherited = held.version.origin if held.version.origin.foreign else None
        done = await self._deploy(definition, context, over=version, inherited=inherited)
        return _told(done, context.language)

    @tool(
        risk=Risk.READ,
        returns="own",
        core=False,
        examples=("看看那个工具的代码", "那个工具怎么写的", "show the code of a tool", "why does the tool fail"),
        about=Words("看一个工具的全部", "look at a tool, whole"),
    )
    async def capability_inspect(
        self, context: ToolContext, name: Annotated[str, "as capability_search gives it"]
    ) -> ToolResult:
        """Everything about a tool: description and schema, and of one that you made its code, cases, hosts, version, \
how its calls went and the last error."""
        await self._catalog.arrived()
        found = self._catalog.registry.find(name, context.reader)
        if found is None and context.reader.role is not Role.OWNER:
            raise ToolFailed(_NONE.filled(name=name[:60]))
        try:
            card = self._capabilities.card(name)
        except NotThere:
            if found is None:
                raise ToolFailed(_NONE.filled(name=name[:60])) from None
            text = json.dumps({"name": found.name, "description": found.description, "schema": found.parameters})
            return ToolResult(text, origin=Origin.TOOL if found.foreign_words else None)
        shown = _card(card, context.reader)
        text = json.dumps(shown, ensure_ascii=False, indent=1)
        foreign = "last_error" in shown or card.held.version.origin.foreign or card.held.version.author != OWNER
        return ToolResult(text, origin=Origin.TOOL if foreign else None)

    # Before somebody is asked

    async def _before_create(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        definition = read({key: value for key, value in arguments.items() if value is not None})
        if self._there(definition.name):
            version = self._held(definition.name).version.number
            raise DefinitionRefused([Fault("name", _EXISTS.filled(name=definition.name, version=version))])
        await self._capabilities.check(definition, reaching=False)
        return _beside(definition, arguments, None)

    async def _before_update(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        held = self._held(str(arguments["name"]))
        if held.version.number != arguments["version"]:
            told = _OTHER.filled(version=held.version.number)
            raise DefinitionRefused([Fault("version", told)])
        changes = {
            key: value for key, value in arguments.items() if key not in ("name", "version") and value is not None
        }
        definition = _changed(held, changes)
        if definition.hash == held.version.hash:
            raise DefinitionRefused([Fault("version", _SAME)])
        await self._capabilities.check(definition, reaching=False)
        return _beside(definition, arguments, held)

    def _held(self, name: str) -> Held:
        try:
            return self._capabilities.get(name)
        except NotThere as error:
            raise ToolFailed(error.words) from None

    def _there(self, name: str) -> bool:
        return any(held.name == name for held in self._capabilities.all())

    async def _deploy(
        self, definition: Definition, context: ToolContext, *, over: int, inherited: Origin | None = None
    ) -> Deployed:
        place = Place(context.session, context.reader.space, context.turn, context.reader.person)
        by = By(
            person=context.reader.person,
            sure=context.reader.role is Role.OWNER,
            how="asked",
            place=place,
            origin=inherited or context.origin,
            cause=context.call,
        )
        return await self._capabilities.deploy(definition, by, over=over)


def _changed(held: Held, changes: Mapping[str, Any]) -> Definition:
    fields = {("parameters" if key == "schema" else key): value for key, value in changes.items()}
    if "kind" in fields and fields["kind"] != "ephemeral":
        fields.setdefault("ttl", None)
    return held.definition.with_(**fields)


def _beside(definition: Definition, arguments: Mapping[str, Any], held: Held | None) -> dict[str, Any]:
    """What the question shows besides the arguments, so that it shows the whole: what stays as it is, and whom the code
    may reach also where it may reach nobody."""
    shown: dict[str, Any] = {}
    if not definition.hosts:
        shown["hosts"] = []
    if held is not None:
        whole = definition.json
        given = {"parameters" if key == "schema" else key for key, value in arguments.items() if value is not None}
        shown |= {key: whole[key] for key in _SHOWN if key not in given}
    shown["sha256"] = definition.hash[:16]
    return {key: value for key, value in shown.items() if key not in arguments or arguments[key] is None}


def _told(done: Deployed, language: Language) -> ToolResult:
    if done.waits:
        return ToolResult(_WAITS.filled(name=done.name, version=done.version).say(language))
    text = _DONE.filled(name=done.name, version=done.version).say(language)
    return ToolResult(text, {"found": [done.name]})


def _card(card: Card, reader: Reader) -> dict[str, Any]:
    """What this reader may see of it: how it is called, whoever may call it; how it is made, the owner; and of the last
    error, which holds what somebody asked for, only if nobody reads along."""
    held, use = card.held, card.use
    owners = reader.role is Role.OWNER and reader.ceiling is Visibility.PRIVATE
    shown = {
        **{key: value for key, value in held.definition.json.items() if owners or key not in _OWNERS},
        "version": held.version.number,
        "owner": held.owner,
        "state": "off" if held.off else "broken" if held.broken else "works",
        "calls": use.calls,
        "failures": use.failures,
    }
    if use.calls:
        shown["mean_seconds"] = round(use.seconds / use.calls, 3)
    if use.error and reader.is_owner_alone:
        shown["last_error"] = use.error
    if held.expires is not None:
        shown["expires"] = held.expires.isoformat()
    if card.waiting and owners:
        shown["waiting_for_owner"] = [waiting.version.number for waiting in card.waiting]
    return shown


_DONE = Words(
    "做好了：{name}，版本 {version}。现在就能调用。", "Done: {name}, version {version}. It can be called now."
)
_WAITS = Words(
    "{name} 的版本 {version} 存好了，等主人看过才算数；在那之前什么都没变。",
    "Version {version} of {name} is stored and waits for the owner; until then nothing has changed.",
)
_NONE = Words("没有叫 {name} 的工具。", "There is no capability {name}.")
"""Also where there is one that this reader may not use."""
_EXISTS = Words(
    "{name} 已经有了（版本 {version}）：改它用 capability_update，不然换个名字",
    "{name} exists (version {version}): change it with capability_update, or take another name",
)
_OTHER = Words(
    "现在是版本 {version}：先用 capability_inspect 看过", "it is version {version} now: see capability_inspect"
)
_SAME = Words("和现在的一模一样，没有要改的", "equals what there is; nothing is to be changed")
