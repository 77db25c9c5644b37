"""The page at `/docs`: all routes, without anything that is fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

_STYLE = """\
:root { --ink: #222; --pale: #666; --paper: #fff; --code: #f3f3f0; --line: #ddd; --link: #0a58a8;
  color-scheme: light dark }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --pale: #999; --paper: #1b1b1b; --code: #2b2b2b; --line: #444; --link: #8bf } }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); overflow-wrap: anywhere }
a { color: var(--link) } small { color: var(--pale); font-weight: normal }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; background: var(--code); border-radius: 4px }
code { padding: .1em .3em } pre { padding: .8em; overflow-x: auto; overflow-wrap: normal }
h2 { margin: 2.4rem 0 0; border-top: 1px solid var(--line); padding-top: 1.4rem; font-size: 1.2rem }
h2 code { background: none; padding: 0 } h3 { margin: 1.2rem 0 .3rem; font-size: 1rem } p { margin: .4rem 0 }
ul { list-style: none; padding: 0 } dl { margin: 0 } dt { margin-top: .5rem } dd { margin: 0 0 0 1.2rem }
summary { cursor: pointer; margin-top: .8rem; color: var(--pale) }
"""
_EXAMPLE = """\
curl -sS {address}/chat \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{{"message": "你好"}}'"""
_LEAD = (
    "给程序用的接口。先在终端里 `qingtuan key add NAME --person owner` 拿一把密钥，放进变量 `KEY`，说一句试试。"
    "Open WebUI、Cherry Studio 这些用 OpenAI 接口的：地址填 `{address}/v1`，密钥填这把，模型是 `qingtuan`。"
)
_CODE = re.compile(r"`([^`]+)`")


def page(schema: Mapping[str, Any], address: str) -> str:
    """The page for an OpenAPI description. `address`: where whoever reads it has called the server."""
    info = schema["info"]
    operations = [(path, method, one) for path, ways in schema["paths"].items() for method, one in ways.items()]
    schemas = schema["components"]["schemas"]
    routes = "".join(
        f'<li><a href="#{_anchor(path, method)}"><code>{method.upper()} {escape(path)}</code></a>'
        f" {_line(one.get('summary', ''))}</li>"
        for path, method, one in operations
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
        f'<p lang="zh">{_line(_LEAD.format(address=address))}</p>{_paragraphs(info["description"])}'
        f"<pre>{escape(_EXAMPLE.format(address=address))}</pre>"
        f'<p>For programs: <a href="openapi.json">openapi.json</a></p><ul>{routes}</ul>'
        f"{''.join(_operation(path, method, one, schemas) for path, method, one in operations)}</html>"
    )


def _anchor(path: str, method: str) -> str:
    return f"{method}-{re.sub(r'[^a-z0-9]+', '-', path.lower()).strip('-')}"


def _operation(path: str, method: str, one: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """One route: what it takes, what it answers, and, folded, what may go wrong."""
    answers = one["responses"]
    given = "".join(
        _entry(field["name"], field["in"], field.get("description", ""))
        for field in one.get("parameters", ())
        if field.get("description")
    )
    takes = _fields(_body(one.get("requestBody", {})), schemas) + given
    good = "".join(
        _paragraphs(answer["description"]) + _dl(_fields(_body(answer), schemas))
        for status, answer in answers.items()
        if str(status).startswith("2")
    )
    bad = "".join(
        _entry(str(status), "", answer["description"])
        for status, answer in sorted(answers.items())
        if not str(status).startswith("2")
    )
    return (
        f'<h2 id="{_anchor(path, method)}"><code>{method.upper()} {escape(path)}</code></h2>'
        f"<p>{_line(one.get('summary', ''))}</p>{f'<h3>Takes</h3>{_dl(takes)}' if takes else ''}"
        f"<h3>Answers</h3>{good}{f'<details><summary>Errors</summary>{_dl(bad)}</details>' if bad else ''}"
    )


def _body(holder: Mapping[str, Any]) -> str:
    """The name of the JSON object that a request or an answer is; empty where it is none."""
    reference = holder.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
    return str(reference).rpartition("/")[2]


def _fields(name: str, schemas: Mapping[str, Any], before: str = "", above: tuple[str, ...] = ()) -> str:
    """The fields of an object, and those of the objects in it, each by its way from the outermost one."""
    one = schemas.get(name, {})
    shown = []
    for field, what in one.get("properties", {}).items():
        kind, inner = _kind(what)
        needed = "" if field in one.get("required", ()) else "optional"
        about = what.get("description") or schemas.get(inner, {}).get("description", "")
        shown.append(_entry(f"{before}{field}", ", ".join(filter(None, (kind, needed))), about))
        if inner and inner not in above:
            shown.append(_fields(inner, schemas, f"{before}{field}{'[]' if kind == 'list' else ''}.", (*above, inner)))
    return "".join(shown)


def _kind(what: Mapping[str, Any]) -> tuple[str, str]:
    """What a field is, and the name of the object that it is or lists, if any."""
    if "anyOf" in what:
        kinds = [_kind(one) for one in what["anyOf"] if one.get("type") != "null"]
        return " or ".join(kind for kind, _ in kinds), next((inner for _, inner in kinds if inner), "")
    if "$ref" in what:
        return "object", str(what["$ref"]).rpartition("/")[2]
    if what.get("type") == "array":
        return "list", _kind(what.get("items", {}))[1]
    return str(what.get("type", "")), ""


def _entry(name: str, kind: str, about: str) -> str:
    told = f"<dd>{_line(about)}</dd>" if about else ""
    return f"<dt><code>{escape(name)}</code> <small>{escape(kind)}</small></dt>{told}"


def _dl(entries: str) -> str:
    return f"<dl>{entries}</dl>" if entries else ""


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_line(part)}</p>" for part in text.split("\n\n"))


def _line(text: str) -> str:
    """Text with what stands in backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))
