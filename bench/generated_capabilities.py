"""Ten thousand capabilities as servers have them, made from the words in `capability_words.json`.

Always the same ones: everything that varies is drawn from a generator that is seeded by the server's name. Each server
has most of the abilities of its domain, so that near ones abound: the same act on another thing, the same thing in
another act, and both on another server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import EVERYONE, Tool, ToolContext, ToolResult

_WORDS = Path(__file__).parent / "capability_words.json"
_SHARE = 0.82
"""Of the abilities of its domain, how many a server has."""
_READING = frozenset({"list", "search", "get", "count", "compare", "preview", "export", "download"})


@dataclass(frozen=True, slots=True)
class _Ability:
    """One act on one thing, in both languages."""

    verb: str
    english_verb: str
    chinese_verb: str
    thing: str
    chinese_thing: str


@dataclass(frozen=True, slots=True)
class _Server:
    """Where abilities come from, and how it words them."""

    name: str
    shown: str
    chinese: bool
    place: tuple[str, str]
    fields: tuple[tuple[str, str], ...]


def generated_tools(count: int) -> list[Tool]:
    """The first `count` of about 11,000 tools, taken from all servers alike; names are `server__name`.

    Raises:
        ValueError: there are not so many.
    """
    tools = {tool.name: tool for _, tool in _all()}
    if count > len(tools):
        raise ValueError(f"there are only {len(tools)} generated tools")
    mixed = list(tools.values())
    Random(1).shuffle(mixed)
    return mixed[:count]


def of_all_kinds(tools: Sequence[Tool]) -> dict[str, dict[str, Tool]]:
    """The same abilities as an instance has them, by source and by the name of the tool in `tools`: most are an MCP
    server's, every 20th was made by the assistant, another is an agent's, and every 40th is built in.
    """
    found: dict[str, dict[str, Tool]] = {}
    for number, tool in enumerate(tools):
        server, _, own = tool.name.partition("__")
        name = _snake(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", own))
        match number % 40:
            case 3 | 23:
                source, changed = "self-made", replace(tool, name=f"{name}_{_snake(server)}", foreign_words=False)
            case 7 | 27:
                source, changed = "agents", _agent(tool, f"ask_{_snake(server)}_{number}")
            case 11:
                source, changed = "built in", replace(tool, name=f"{_snake(server)}_{name}", foreign_words=False)
            case _:
                source, changed = f"mcp {server}", tool
        found.setdefault(source, {})[tool.name] = changed
    return found


def _agent(tool: Tool, name: str) -> Tool:
    """An agent whose card names one skill."""
    about = f"Ask the agent {name.removeprefix('ask_')}. Its skills: {tool.description}"
    parameters = schema({"message": "What to ask it, or to have it do"}, ["message"])
    return replace(tool, name=name, description=about, parameters=parameters, risk=Risk.ACT, sends_out=True)


def names_of(ability: str) -> frozenset[str]:
    """The names of all tools for an ability, such as `meeting room:list search`: a thing, and any of the verbs."""
    thing, _, verbs = ability.partition(":")
    return frozenset(tool.name for one, tool in _all() if one.thing == thing and one.verb in verbs.split(" "))


def made(name: str, description: str, parameters: Mapping[str, Any], *, reading: bool = True) -> Tool:
    """A tool of a server, which answers nothing."""
    risk = Risk.READ if reading else Risk.ACT
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        risk=risk,
        run=_nothing,
        roles=EVERYONE,
        core=False,
        foreign_words=True,
    )


def schema(properties: Mapping[str, str], required: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of an object of strings, given the description of each."""
    described = {name: {"type": "string", "description": text} for name, text in properties.items()}
    return {"type": "object", "properties": described, "required": list(required), "additionalProperties": False}


async def _nothing(_: ToolContext, __: dict[str, Any]) -> ToolResult:
    return ToolResult("")


@cache
def _all() -> tuple[tuple[_Ability, Tool], ...]:
    """Every ability with the tool that a server makes of it."""
    return tuple(_made_of(json.loads(_WORDS.read_text("utf-8"))))


def _made_of(words: Mapping[str, Any]) -> Iterator[tuple[_Ability, Tool]]:
    verbs = {name: _pair(text) for name, text in words["verbs"].items()}
    for domain in words["domains"]:
        abilities = [ability for line in domain["objects"] for ability in _abilities(line, verbs)]
        for server in _servers(domain):
            chance = Random(server.name)
            style, naming = chance.choice(_STYLES), chance.choice(_NAMINGS)
            for ability in abilities:
                if chance.random() < _SHARE:
                    yield ability, _tool(server, ability, chance, style, naming)


def _pair(text: str) -> tuple[str, str]:
    first, second = text.split("|")
    return first, second


def _servers(domain: Mapping[str, Any]) -> Iterator[_Server]:
    fields = tuple(_pair(field.replace("_", " ")) for field in domain["fields"].split(" "))
    for chinese, names in ((False, domain["servers"]), (True, domain["chinese"])):
        for name, shown in (text.split(":") for text in names):
            yield _Server(name, shown, chinese, _pair(domain["in"]), fields)


def _abilities(line: str, verbs: Mapping[str, tuple[str, str]]) -> Iterator[_Ability]:
    thing, chinese, acts = (*line.split("|"), "lgscud")[:3]
    for word in acts.split():
        for verb in [word] if word in verbs else list(word):
            yield _Ability(verbs[verb][0].replace(" ", "_"), *verbs[verb], thing, chinese)


# How it is worded


def _listed(ability: _Ability) -> str:
    return _plural(ability.thing) if ability.verb in ("list", "search", "count", "compare") else ability.thing


def _plain(server: _Server, ability: _Ability) -> str:
    thing = _listed(ability)
    article = "" if thing != ability.thing else "an " if thing[0] in "aeiouAEIO" else "a "
    return f"{ability.english_verb.capitalize()} {article}{thing} in {server.shown}."


def _third_person(server: _Server, ability: _Ability) -> str:
    verb = ability.english_verb
    ending = "es" if verb.endswith(("h", "s", "x")) else "s"
    spelt = f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}{ending}"
    article = "" if _listed(ability) != ability.thing else "the "
    return f"{spelt.capitalize()} {article}{_listed(ability)} of the given {server.place[0]}."


def _for_the_user(server: _Server, ability: _Ability) -> str:
    return (
        f"Use this tool when the user wants to {ability.english_verb} {_listed(ability)} of a {server.place[0]}. "
        f"Works on {server.shown}."
    )


def _terse(_: _Server, ability: _Ability) -> str:
    return f"{ability.english_verb.capitalize()} {_listed(ability)}."


_STYLES: tuple[Callable[[_Server, _Ability], str], ...] = (_plain, _third_person, _for_the_user, _terse, _plain)

_NAMINGS: tuple[Callable[[_Server, _Ability], str], ...] = (
    lambda _, ability: f"{ability.verb}_{_snake(_listed(ability))}",
    lambda _, ability: _camel(f"{ability.verb}_{_snake(_listed(ability))}"),
    lambda _, ability: f"{_snake(ability.thing)}_{ability.verb}",
    lambda _, ability: f"{ability.verb}-{_snake(_listed(ability))}".replace("_", "-"),
    lambda server, ability: f"{server.name}_{ability.verb}_{_snake(_listed(ability))}",
    lambda _, ability: f"{ability.verb}_{_snake(_listed(ability))}",
)

_MORE = (
    "Results are paginated; pass the cursor of the previous response to get the next page.",
    "Requires write permission.",
    "Returns JSON.",
    "This action cannot be undone.",
    "Rate limited to 60 requests per minute.",
    "Ids can be found with the matching list tool.",
    "All times are in UTC.",
    "Fails if it does not exist or you lack access.",
    "Supports partial matches and filters.",
    "Returns the complete object after the change.",
    "Prefer this over the batch variant for single items.",
    "For details see the API documentation.",
)
_MORE_CHINESE = (
    "支持分页。",
    "需要写权限。",
    "返回 JSON。",
    "操作不可撤销，请谨慎使用。",
    "每分钟最多 60 次。",
    "时间均为北京时间。",
)


def _described(server: _Server, ability: _Ability, chance: Random, style: Callable[[_Server, _Ability], str]) -> str:
    if server.chinese:
        place = chance.choice(("", f"{server.place[1]}中的", f"{server.shown}里"))
        ending = "列表" if ability.verb == "list" else ""
        text = f"{ability.chinese_verb}{place}{ability.chinese_thing}{ending}。"
        return text + "".join(chance.sample(_MORE_CHINESE, chance.randrange(3)))
    return " ".join([style(server, ability), *chance.sample(_MORE, chance.randrange(4))])


def _parameters(server: _Server, ability: _Ability, chance: Random) -> dict[str, Any]:
    place = server.place[server.chinese]
    thing = ability.chinese_thing if server.chinese else ability.thing
    own = {_snake(server.place[0]): place if server.chinese else f"The {place}"}
    match ability.verb:
        case "list" | "count" | "export":
            own |= {"limit": "最多返回多少条" if server.chinese else "Maximum number of results", "cursor": "Cursor"}
        case "search":
            own |= {"query": "搜索词" if server.chinese else f"Words to find {_plural(thing)} by"}
        case "create" | "update":
            own |= {"name": f"{thing}名称" if server.chinese else f"Name of the {thing}"}
        case _:
            own |= {f"{_snake(ability.thing)}_id": f"{thing} ID" if server.chinese else f"Id of the {thing}"}
    for name, chinese in chance.sample(server.fields, min(2, len(server.fields))):
        own[_snake(name)] = chinese if server.chinese else name.capitalize()
    return schema(own, list(own)[:2])


def _tool(
    server: _Server,
    ability: _Ability,
    chance: Random,
    style: Callable[[_Server, _Ability], str],
    naming: Callable[[_Server, _Ability], str],
) -> Tool:
    name = f"{server.name}__{naming(server, ability)}"
    description = _described(server, ability, chance, style)
    return made(name, description, _parameters(server, ability, chance), reading=ability.verb in _READING)


def _snake(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _camel(snake: str) -> str:
    first, *others = snake.split("_")
    return first + "".join(word.capitalize() for word in others)


def _plural(thing: str) -> str:
    if thing.endswith("ss"):
        return f"{thing}es"
    if thing.endswith(("s", "ing", "data")):
        return thing
    if thing.endswith("y") and thing[-2] not in "aeiou":
        return f"{thing[:-1]}ies"
    return f"{thing}es" if thing.endswith(("x", "ch", "sh")) else f"{thing}s"
