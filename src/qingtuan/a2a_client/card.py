"""The card of an agent: taken apart, made harmless to show, and hashed. Pure.

What a card says is text of a stranger that stands in a request. So it is bounded, nothing is hidden in it, and the
whole is compared by a hash with what was seen at first (`pins`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from qingtuan.a2a_client.config import AgentConfig, origin_of
from qingtuan.errors import ToolFailed
from qingtuan.language import Words
from qingtuan.storage.files import content_hash
from qingtuan.tools.plain import line, plain
from qingtuan.tools.strict_json import canonical, deeper_than

LARGEST = 256 * 1024
"""Bytes of a card."""
_DEEPEST = 24
_MOST_SKILLS = 20
_MOST_WAYS = 20
_LONGEST = 600
"""Characters of what an agent says of itself; of each skill, a third of it."""
_LONGEST_URL = 2048
_SIGNED = ("signatures",)
"""What may be another each time though the card is the same."""

Binding = Literal["JSONRPC", "HTTP+JSON"]
_BINDINGS: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON")


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which an agent can be called."""

    url: str
    binding: Binding
    version: str
    """`1.0` or `0.3`."""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """What an agent says of itself."""

    name: str
    about: str
    skills: tuple[tuple[str, str], ...]
    """Name and description of each, bounded."""
    way: Way
    streaming: bool
    hash: str
    """Of all that the card says."""

    def is_at(self, config: AgentConfig) -> bool:
        """Whether it leads to where the settings say the agent is."""
        return origin_of(self.way.url) == origin_of(config.url)

    @property
    def described(self) -> str:
        """What it says of itself, for a model."""
        skills = [f"- {name}: {about}" if about else f"- {name}" for name, about in self.skills]
        return "\n".join([f"{self.name}: {self.about}" if self.about else self.name, *skills])


def card_of(data: bytes, config: AgentConfig) -> Card:
    """The card that `data` is, with the way that serves best: one at the address of the settings before any other.

    Raises:
        ToolFailed: it is none that can be used.
    """
    raw = _parsed(data)
    ways = _ways(raw)
    if not ways:
        raise ToolFailed(_NO_WAY)
    here = origin_of(config.url)
    way = min(ways, key=lambda way: (origin_of(way.url) != here, way.version != "1.0", way.binding != "JSONRPC"))
    capabilities = raw.get("capabilities")
    streaming = isinstance(capabilities, Mapping) and capabilities.get("streaming") is True
    said = {key: value for key, value in raw.items() if key not in _SIGNED}
    return Card(
        name=_line(raw.get("name"), 100) or config.name,
        about=plain(_text(raw.get("description")), _LONGEST).strip(),
        skills=tuple(_skills(raw.get("skills"))),
        way=way,
        streaming=streaming,
        hash=content_hash(canonical(said).encode("utf-8", "surrogatepass")),
    )


def _parsed(data: bytes) -> Mapping[str, Any]:
    try:
        raw = json.loads(data.decode("utf-8"), parse_constant=_constant)
        canonical(raw).encode()
    except (ValueError, RecursionError) as error:
        raise ToolFailed(_NO_CARD, detail=repr(error)) from None
    if not isinstance(raw, dict) or deeper_than(raw, _DEEPEST):
        raise ToolFailed(_NO_CARD)
    return raw


def _constant(name: str) -> float:
    raise ValueError(name)


def _ways(raw: Mapping[str, Any]) -> list[Way]:
    """Every way that the card names and that is known here, in its order; cards of version 0.3 name them otherwise."""
    named = raw.get("supportedInterfaces")
    if isinstance(named, list):
        found = [
            (_text(one.get("url")), one.get("protocolBinding"), _text(one.get("protocolVersion")), one.get("tenant"))
            for one in named[:_MOST_WAYS]
            if isinstance(one, Mapping)
        ]
    else:
        version = _text(raw.get("protocolVersion")) or "0.3"
        found = [(_text(raw.get("url")), raw.get("preferredTransport", "JSONRPC"), version, "")]
        more = raw.get("additionalInterfaces")
        found += [
            (_text(one.get("url")), one.get("transport"), version, "")
            for one in (more[:_MOST_WAYS] if isinstance(more, list) else ())
            if isinstance(one, Mapping)
        ]
    return [way for one in found if (way := _way(*one)) is not None]


def _way(url: str, binding: Any, version: str, tenant: Any) -> Way | None:
    known = next((one for one in _BINDINGS if one == binding), None)
    short = ".".join(version.split(".")[:2])
    if known is None or short not in ("1.0", "0.3", "0.2") or len(url) > _LONGEST_URL or origin_of(url) is None:
        return None
    return Way(url, known, "1.0" if short == "1.0" else "0.3", _text(tenant)[:200])


def _skills(skills: Any) -> list[tuple[str, str]]:
    named = skills if isinstance(skills, list) else []
    found = [
        (_line(skill.get("name") or skill.get("id"), 100), _line(skill.get("description"), _LONGEST // 3))
        for skill in named[:_MOST_SKILLS]
        if isinstance(skill, Mapping)
    ]
    return [(name, about) for name, about in found if name]


def _line(value: Any, limit: int) -> str:
    return line(_text(value), limit)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_NO_CARD = Words("它的名片读不了。", "Its card cannot be read.")
_NO_WAY = Words(
    "它的名片里没有这里会用的方式（JSON-RPC 或 HTTP+JSON）。",
    "Its card names no way that is known here (JSON-RPC or HTTP+JSON).",
)
