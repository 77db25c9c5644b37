"""The page at `/docs`: all routes, without anything that is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

_STYLE = """\
body { font: 16px/1.6 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; background: #f3f3f0; border-radius: 4px }
code { padding: .1em .3em } pre { padding: .8em; white-space: pre-wrap }
h2 { margin-top: 2.2rem; border-top: 1px solid #ddd; padding-top: 1rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } code, pre { background: #2b2b2b }
  h2 { border-color: #444 } a { color: #8bf } }
"""


def page(schema: Mapping[str, Any]) -> str:
    """The page for an OpenAPI description."""
    info = schema["info"]
    parts = [_operation(path, method, one) for path, ways in schema["paths"].items() for method, one in ways.items()]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
        f"{_paragraphs(info['description'])}"
        '<p>For programs: <a href="openapi.json">openapi.json</a></p>'
        f"{''.join(parts)}</html>"
    )


def _operation(path: str, method: str, one: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(str(status))}</th><td>{_paragraphs(answer['description'])}</td></tr>"
        for status, answer in one["responses"].items()
    )
    fields = "".join(
        f"<tr><th><code>{escape(given['name'])}</code></th><td>{escape(given['in'])}</td>"
        f"<td>{escape(given.get('description', ''))}</td></tr>"
        for given in one.get("parameters", ())
    )
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
    takes = f"<p>Takes <code>{escape(body.rpartition('/')[2])}</code> as JSON.</p>" if body else ""
    summary = escape(one.get("summary", ""))
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{summary}</p>{takes}"
        f"{f'<table>{fields}</table>' if fields else ''}<table>{rows}</table>"
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n"))
