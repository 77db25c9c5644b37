"""`tools.md`: every built-in tool as the model is shown it, and what code holds it to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.language import Language, Words
from qingtuan.tools.tool import Returns, Tool
from scripts.reference.instance import Instance
from scripts.reference.text import NoWords, code, plain, prose, say, table

TITLE = Words("内置的工具", "Built-in tools")

_INTRODUCTION = Words(
    """\
工具是模型可以调用的事。
人不用记名字，直接说就行；这一页给想知道它能做什么、会不会先问的人。
说明和参数是模型读到的原文，用英文写，不管聊天用什么语言。
[MCP 服务器](../guide/servers.md)和插件带来的工具不在这里，`/tools` 列出你现在能用的。
结果是「材料」的工具，结果里的要求不算数。
""",
    """\
A tool is something that the model can call. Nobody need know their names to use them; this page is for whoever wants
to know what it can do and whether it asks first. Descriptions and parameters are what the model reads, word for word.
Tools of [MCP servers](../guide/servers.md) and plug-ins are not here; `/tools` lists those that you can use now.
What a tool gives back as material is read, but requests in it do not count.
""",
)
_RISKS: Mapping[Risk, Words] = {
    Risk.READ: Words("只看", "only looks"),
    Risk.WRITE: Words("改自己的数据，`/undo` 能撤销", "changes your own data; `/undo` takes it back"),
    Risk.ACT: Words(
        "有外部影响，或者收不回来：先问，除非主人用 `/授权` 先点过头",
        "has an effect outside, or one that cannot be taken back: asks first, unless `/allow` gave a yes ahead",
    ),
    Risk.CRITICAL: Words(
        "同样，但每次都问，而且要打出问题里的代码",
        "the same, but always asks, and the code of the question must be typed",
    ),
}
_RETURNS: Mapping[Returns, Words] = {
    "own": Words("自己的", "our own"),
    "foreign": Words("材料", "material"),
}
_ROLES: Mapping[Role, Words] = {
    Role.OWNER: Words("主人", "the owner"),
    Role.MEMBER: Words("成员", "members"),
    Role.GUEST: Words("访客", "guests"),
}
_HEADS = (
    Words("工具", "tool"),
    Words("风险", "risk"),
    Words("谁能用", "who may use it"),
    Words("给模型看", "shown to the model"),
    Words("结果", "what it gives back"),
)
_RISK_HEADS = (_HEADS[1], Words("意思", "meaning"))
_PARAMETER_HEADS = (Words("参数", "parameter"), Words("类型", "type"), Words("说明", "description"))
_ALWAYS = Words("一直", "always")
_FOUND = Words("搜到以后", "once a search found it")
_SAID = Words("会用到它的话：", "Said, for example: ")


def write(language: Language, built: Instance) -> str:
    """The page below its title."""
    risks = [(code(risk), say(_RISKS[risk], language, f"risk {risk}")) for risk in Risk]
    parts = [
        prose(_INTRODUCTION, language),
        table([words.say(language) for words in _HEADS], (_row(tool, language) for tool in built.tools)),
        table([words.say(language) for words in _RISK_HEADS], risks),
    ]
    for tool in built.tools:
        parts += _tool(tool, language)
    return "\n\n".join(parts)


def _row(tool: Tool, language: Language) -> tuple[str, ...]:
    comma = Words("、", ", ").say(language)
    roles = comma.join(_ROLES[role].say(language) for role in Role if role in tool.roles)
    shown = _ALWAYS if tool.core else _FOUND
    returns = _RETURNS[tool.returns].say(language)
    return f"[{code(tool.name)}](#{_anchor(tool, language)})", code(tool.risk), roles, shown.say(language), returns


def _anchor(tool: Tool, language: Language) -> str:
    """Both halves have a heading for it; code hosts number the second one."""
    return tool.name.lower() + ("-1" if language == "en" else "")


def _tool(tool: Tool, language: Language) -> Iterator[str]:
    if not tool.description.strip():
        raise NoWords(f"tool {tool.name}")
    yield f"## {code(tool.name)}"
    if tool.about is not None:
        yield say(tool.about, language, f"tool {tool.name}")
    yield code(f"{tool.name}({', '.join(_signature(tool))})")
    yield f"> {plain(tool.description)}"
    parameters = [(code(name), _type(schema), _about(schema)) for name, schema in _parameters(tool).items()]
    if parameters:
        yield table([words.say(language) for words in _PARAMETER_HEADS], parameters)
    if tool.examples:
        yield f"{_SAID.say(language)}{' · '.join(map(plain, tool.examples))}"


def _parameters(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    return found


def _signature(tool: Tool) -> Iterator[str]:
    for name, schema in _parameters(tool).items():
        if name in tool.parameters.get("required", ()):
            yield name
        elif "default" in schema:
            yield f"{name}={json.dumps(schema['default'], ensure_ascii=False)}"
        else:
            yield f"{name}?"


def _type(schema: Mapping[str, Any]) -> str:
    if choices := [choice for choice in schema.get("enum", ()) if choice is not None]:
        return " ".join(code(str(choice)) for choice in choices)
    kinds = schema.get("format") or schema.get("type", "any")
    names = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return " ".join(names)


def _about(schema: Mapping[str, Any]) -> str:
    return plain(schema.get("description", ""))
