"""Finding tools by what they are for, with the engine that finds memories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qingtuan.identity.scopes import Role
from qingtuan.indexes.base import Entry, Query
from qingtuan.indexes.indexes import Index
from qingtuan.tools.tool import Tool

_SCOPE = "capabilities"


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that a search found."""

    name: str
    score: float


class CapabilitySearch:
    """The index of tools. Its methods block: call them in a thread."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def put(self, source: str, tools: Sequence[Tool]) -> None:
        """Make `tools` all that is known of a source. `Tool.roles` are the roles that may find it."""
        entries = [_entry(source, tool) for tool in tools]
        if entries:
            self._index.replace(_SCOPE, source, entries)
        else:
            self._index.remove(_SCOPE, source)

    def find(self, query: str, role: Role, limit: int = 8) -> list[Found]:
        """The tools that people of `role` may use and that fit the query best, best first."""
        allowed = None if role is Role.OWNER else _labels_seen_by(role)
        hits = self._index.search(Query(query, {_SCOPE: allowed}, limit=limit))
        return [Found(hit.entry_id, hit.score) for hit in hits]


def _entry(source: str, tool: Tool) -> Entry:
    words = " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+", tool.name))
    text = "\n".join([words, tool.description, *tool.examples])
    return Entry(tool.name, source, _SCOPE, _label(tool.roles), text, 0.0)


def _label(roles: frozenset[Role]) -> str:
    return ",".join(sorted(roles))


def _labels_seen_by(role: Role) -> frozenset[str]:
    others = [other for other in Role if other is not role]
    return frozenset(
        _label(frozenset({role, *(other for n, other in enumerate(others) if chosen >> n & 1)}))
        for chosen in range(2 ** len(others))
    )
