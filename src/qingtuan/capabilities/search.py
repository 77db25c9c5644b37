"""Finding tools by what they are for, with the engine that finds memories.

A request and a description of the same thing share few words, and often no language. Four things bring them together,
each measured over 10,000 tools by `bench/capabilities.py` (docs/reference/bench.md has the figures):

- The meaning of description, name and parameters in one vector. Short descriptions lie near to everything; what the
  parameters say sets them apart.
- The English for what a Chinese request names (`glossary`) behind it.
- Crowding: a server whose 90 tools are of one mould loses what that mould gives it.
- Words, which decide where a server or a thing is called by its name, though not as loudly as among what one person
  wrote; and a tool's own name, typed as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from qingtuan.capabilities.glossary import english
from qingtuan.identity.scopes import Role
from qingtuan.indexes.base import Entry, Query
from qingtuan.indexes.indexes import Index
from qingtuan.storage.files import content_hash
from qingtuan.tools.tool import Tool

_SCOPE = "capabilities"
_SHAPE = "1"
"""Rises when an unchanged tool gets another entry than before: then all are indexed again at the next `put`."""

_DESCRIPTION, _PARAMETERS, _EXAMPLES = 600, 300, 300
"""Characters of each that are indexed, so that a description of 10 MB costs no more than another. What a tool is for
stands in its first sentences."""
_MOST_PARAMETERS = 30
_LONGEST_QUERY = 1000
_CROWDING = 0.4
"""Measured: 0.3 to 0.45 are alike; 0.5 begins to hide what several servers offer."""
_WORDS = 0.65
"""Measured: 0.35 to 0.8 are alike; at 1 a stray word of a chat decides too much."""
_AT_ONCE = 250
"""Entries that are embedded without looking whether all is over."""
_SPARE = 30
"""Hits that are asked for beyond the limit, since some may be of sources that are gone or bear the same name."""

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that a search found."""

    name: str
    score: float
    """Orders the hits of one search and means nothing across searches."""


@dataclass(frozen=True, slots=True)
class _Source:
    """What one source offers, and by which stamp the index knows that it holds just this."""

    entries: tuple[Entry, ...]
    stamp: str


class CapabilitySearch:
    """The index of tools.

    All methods block and may come from any thread; from a coroutine use `asyncio.to_thread`. Indexing 10,000 tools
    takes about 25 s of CPU, nearly all of it in the embedding model, and a search 10 ms besides embedding its query.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._sources: dict[str, _Source] = {}
        self._closed = False

    def close(self) -> None:
        """Begin no more work: what is being embedded in another thread ends within a second."""
        self._closed = True

    def put(self, source: str, tools: Sequence[Tool]) -> None:
        """Make `tools` all that is known of a source. `Tool.roles` are the roles that may find it, besides the owner.

        Only what is different from what the index holds, from an earlier run too, is indexed and embedded.

        Raises:
            StorageFailed: the disk refuses.
        """
        if not tools:
            self.remove(source)
            return
        entries = tuple(_entry(source, tool) for tool in tools)
        self._sources[source] = _Source(entries, _stamp(entries))
        self._settle()
        # Also when nothing changed: the model may be another one, or have been out of reach when it did.
        self._embed()

    def remove(self, source: str) -> None:
        """Forget a source.

        Raises:
            StorageFailed: the disk refuses.
        """
        self._sources.pop(source, None)
        self._index.remove(_SCOPE, source)

    def retain(self, sources: Collection[str]) -> None:
        """Forget all sources but these: for what an earlier run knew and nobody will put again.

        Raises:
            StorageFailed: the disk refuses.
        """
        for scope, source in self._index.stamps():
            if scope == _SCOPE and source not in sources:
                self.remove(source)

    def scrub(self) -> None:
        """Leave no byte on the disk of what was removed: for what must be forgotten.

        Raises:
            StorageFailed: the disk refuses.
        """
        self._index.scrub(_SCOPE)

    def find(self, query: str, role: Role, limit: int = 8, source: str | None = None) -> list[Found]:
        """The tools that people of `role` may use and that fit the query best, best first; each name once. With
        `source` only what that one offers.

        What they may not use has no part in the search: neither a place among the hits nor in the order of others.
        Only sources that were `put` in this run are searched.

        Raises:
            StorageFailed: the disk refuses.
        """
        if self._settle():
            self._embed()
        allowed = None if role is Role.OWNER else _labels_seen_by(role)
        wanted = self._sources.keys() if source is None else {source} & self._sources.keys()
        asked = Query(_asked(query), {_SCOPE: allowed}, limit=limit + _SPARE, crowding=_CROWDING, words=_WORDS)
        while limit > 0:
            hits = self._index.search(asked)
            found = {hit.entry_id: hit.score for hit in reversed(hits) if hit.document in wanted}
            if len(found) >= limit or len(hits) < asked.limit:
                best = sorted(found.items(), key=lambda pair: -pair[1])
                return [Found(name, score) for name, score in best[:limit]]
            asked = replace(asked, limit=4 * asked.limit)
        return []

    def _settle(self) -> bool:
        """Let the index hold what was put: also after somebody deleted it, as everybody may. Whether it did not."""
        stamps = self._index.stamps()
        changed = False
        for name, source in list(self._sources.items()):
            if stamps.get((_SCOPE, name)) != source.stamp:
                self._index.replace(_SCOPE, name, source.entries, stamp=source.stamp)
                changed = True
        return changed

    def _embed(self) -> None:
        while not self._closed and self._index.catch_up(_AT_ONCE):
            pass


def _entry(source: str, tool: Tool) -> Entry:
    name = _name_words(tool.name)
    parts = [
        _cut(tool.description, _DESCRIPTION),
        f"{name}.",
        _cut(", ".join(_said_of_parameters(tool.parameters)), _PARAMETERS),
        _cut(" ".join(tool.examples), _EXAMPLES),
    ]
    text = " ".join(part for part in parts if part)
    return Entry(tool.name, source, _SCOPE, _label(tool.roles), text, 0.0, _keys(tool.name))


def _asked(query: str) -> str:
    text = query.strip()[:_LONGEST_QUERY]
    known = english(text)
    return f"{text} ({' '.join(known)})" if known else text


def _cut(text: str, most: int) -> str:
    return " ".join(text[: 2 * most].split())[:most]


def _name_words(name: str) -> str:
    """The words of a name, each once: `jira__jira_getIssue` is `jira get issue`."""
    return " ".join(dict.fromkeys(word.lower() for word in _PIECE.findall(name[:_PARAMETERS])))


def _said_of_parameters(parameters: Mapping[str, object]) -> Iterator[str]:
    properties = parameters.get("properties")
    if isinstance(properties, Mapping):
        for name, schema in list(properties.items())[:_MOST_PARAMETERS]:
            said = schema.get("description") if isinstance(schema, Mapping) else None
            yield said[:_PARAMETERS] if isinstance(said, str) and said.strip() else _name_words(str(name))


def _keys(name: str) -> tuple[str, ...]:
    """The name as a key, its server apart; none for a name of one word, which may stand in any sentence."""
    server, _, own = name[:_PARAMETERS].rpartition("__")
    if len(_PIECE.findall(own)) < 2:
        return ()
    return (f"{server}|{own}" if server else own,)


def _stamp(entries: Sequence[Entry]) -> str:
    content = repr([_SHAPE, *((entry.id, entry.label, entry.text, entry.keys) for entry in entries)])
    return content_hash(content.encode())


def _label(roles: frozenset[Role]) -> str:
    return ",".join(sorted(roles))


def _labels_seen_by(role: Role) -> frozenset[str]:
    """The labels of all sets of roles that hold `role`."""
    others = [other for other in Role if other is not role]
    return frozenset(
        _label(frozenset({role, *(other for n, other in enumerate(others) if chosen >> n & 1)}))
        for chosen in range(2 ** len(others))
    )
