"""What a server has to be read beside its tools (resources), as one more tool.

The tool's words are ours, and never change: what there is to read is no part of them but a result, bounded and foreign,
listed anew each time. So no server can change what stands in a request by changing its list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qingtuan.errors import ToolFailed
from qingtuan.language import Language, Words
from qingtuan.mcp_client.definition import Definition
from qingtuan.storage.files import content_hash
from qingtuan.tools.plain import covered, line
from qingtuan.tools.tool import ToolResult

if TYPE_CHECKING:
    from mcp_types import Resource, ResourceTemplate

NAME = "read_resource"
MAX_SHOWN = 100
"""Lines of one page of the list."""
MAX_ADDRESS = 2_000
_MAX_CURSOR = 500
_SHOWN = 200

READING = Definition(
    name=NAME,
    description=(
        "Read a resource of this server: a file, record or page that it has. "
        "Without uri: list what there is; cursor goes on with the list."
    ),
    schema={
        "type": "object",
        "properties": {
            "uri": {"type": "string", "description": "as the list or a result gives it", "maxLength": MAX_ADDRESS},
            "cursor": {"type": "string", "description": "for the next page of the list", "maxLength": _MAX_CURSOR},
        },
        "additionalProperties": False,
    },
    output=None,
    read_only=True,
    sentence=None,
    hash=content_hash(b"qingtuan resources 1"),
)
"""The tool of every server that has resources."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of what there is to read."""

    resources: Iterable[Resource]
    templates: Iterable[ResourceTemplate] = ()
    """Addresses with places to be filled in; with the first page alone."""
    next: str | None = None


def address_of(arguments: dict[str, Any]) -> str:
    """The address that a call names, empty for the list. Raises `ToolFailed`: it is none."""
    uri = str(arguments.get("uri") or "").strip()
    if len(uri) > MAX_ADDRESS or (uri and (":" not in uri or not uri.isprintable())):
        raise ToolFailed(_NO_ADDRESS)
    return uri


def listed(page: Page, language: Language, secrets: Iterable[str] = ()) -> ToolResult:
    """A page of the list, for the model."""
    secrets = tuple(secrets)
    resources, templates = list(page.resources), list(page.templates)
    lines = [_line(one.uri, one, secrets) for one in resources[:MAX_SHOWN]]
    lines += [_line(one.uri_template, one, secrets) for one in templates[: MAX_SHOWN - len(lines)]]
    if more := len(resources) + len(templates) - len(lines):
        lines.append(_MORE.say(language).format(more=more))
    if page.next is not None and len(page.next) <= _MAX_CURSOR:
        lines.append(_NEXT.say(language).format(cursor=covered(page.next, secrets)))
    return ToolResult("\n".join(lines) or _NOTHING.say(language))


def _line(address: str, one: Resource | ResourceTemplate, secrets: tuple[str, ...]) -> str:
    about = " ".join(text for text in (one.title or one.name, one.description, one.mime_type) if text)
    texts = (line(covered(text, secrets), limit) for text, limit in ((address, MAX_ADDRESS), (about, _SHOWN)))
    return "- {} {}".format(*texts).rstrip()


_NO_ADDRESS = Words("uri 要是列表里给的那样。", "uri must be as the list gives it.")
_NOTHING = Words("没有可读的。", "There is nothing to read.")
_MORE = Words("[还有 {more} 项没有列出]", "[{more} more are not listed]")
_NEXT = Words("[还有下一页：cursor 写 {cursor}]", "[there is a next page: cursor {cursor}]")
