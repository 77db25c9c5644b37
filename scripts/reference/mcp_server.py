"""`mcp-server.md`: what our MCP server offers other programs, as they are shown it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qingtuan.language import Language, Words
from qingtuan.servers.mcp.offers import OFFERS, Offer
from scripts.reference.instance import Instance
from scripts.reference.text import code, plain, prose, table

TITLE = Words("MCP 服务的工具", "Tools of the MCP server")

_INTRODUCTION = Words(
    """\
Claude Code、Cursor 这样的程序经过 `/mcp` 或 `qingtuan mcp` 能用的工具。怎么接上、密钥能做多少，看
[guide/mcp-server.md](../guide/mcp-server.md)。说明是程序里的模型读到的原文。
""",
    """\
What programs such as Claude Code and Cursor may use, through `/mcp` or `qingtuan mcp`. How to connect them, and how
much a key may do: [guide/mcp-server.md](../guide/mcp-server.md#for-claude-code-and-cursor-the-mcp-server). Descriptions
are what their model reads, word for word.
""",
)
_HEADS = (Words("工具", "tool"), Words("做什么", "what it does"), Words("谁能用", "for which keys"))
_PARAMETERS = (Words("参数", "parameter"), Words("类型和范围", "type and range"), Words("说明", "description"))
_RETURNS = (Words("给回", "gives back"), *_PARAMETERS[1:])
_ALL = Words("每一把", "each")
_WRITING = Words("不是 `--writes none` 的，替主人或成员的", "those of the owner and members, but for `--writes none`")
_OWNERS = Words("主人的", "the owner's")


def write(language: Language, _: Instance) -> str:
    """The page below its title."""
    rows = ((code(offer.name), offer.title.say(language), _for_whom(offer).say(language)) for offer in OFFERS)
    parts = [prose(_INTRODUCTION, language), table([words.say(language) for words in _HEADS], rows)]
    for offer in OFFERS:
        parts += _offer(offer, language)
    return "\n\n".join(parts)


def _for_whom(offer: Offer) -> Words:
    if offer.reaches_people:
        return _OWNERS
    return _ALL if offer.reads else _WRITING


def _offer(offer: Offer, language: Language) -> Iterator[str]:
    yield f"## {code(offer.name)}"
    yield f"> {plain(offer.description)}"
    for heads, schema in ((_PARAMETERS, offer.parameters), (_RETURNS, offer.returns)):
        yield table([words.say(language) for words in heads], list(_rows(schema)))


def _rows(schema: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str, str]]:
    for name, one in schema.get("properties", {}).items():
        needed = "" if name in schema.get("required", ()) else "?"
        yield code(f"{before}{name}{needed}"), _kind(one), plain(one.get("description", ""))
        if one.get("items", {}).get("type") == "object":
            yield from _rows(one["items"], f"{name}[].")


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " ".join(code(choice) for choice in schema["enum"])
    least = schema.get("minimum", schema.get("minLength"))
    most = schema.get("maximum", schema.get("maxLength"))
    bounds = "" if least is None and most is None else f" {least or 0}–{'' if most is None else most}"
    return f"{schema['type']}{bounds}"
