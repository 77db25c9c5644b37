"""What is left to do after the record has been cleared: a part of the log, so that a start can go on with it, and the
last thing to be deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from qingtuan.memory.erasing.rules import Entry, WikiRules
from qingtuan.memory.erasing.words import Needles


@dataclass(frozen=True, slots=True)
class Plan:
    """What an erasure takes out of files, indexes and the git history. Scopes are written as folders of the wiki."""

    gone: Sequence[str] = ()
    """Scopes of which nothing stays."""
    entries: Mapping[str, Sequence[tuple[int, Sequence[str]]]] = field(default_factory=dict)
    """By scope, numbers of entries with what they ever said."""
    nameless: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By scope, numbers of entries that stay and name nobody any more."""
    called: Sequence[str] = ()
    """What whoever wrote these is called."""
    names: Sequence[str] = ()
    """What names whoever goes, and nobody else."""
    commits: Sequence[str] = ()
    """Commits that were made for what goes."""
    within: Sequence[str] = ()
    """What no line of a commit's message may hold."""
    told: Sequence[str] = ()
    """What none may tell behind its label."""
    logged: Sequence[str] = ()
    """What no line of a log, or of what was typed on a terminal, may hold."""
    paths: Sequence[str] = ()
    """Pages about which the record has lost events."""
    talk: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By space, the sessions of which messages or replies were erased."""
    media: Sequence[str] = ()
    """Hashes of files that nothing refers to any more."""
    people: Sequence[str] = ()
    """Ids of persons who leave `people.toml`."""

    def to_bytes(self) -> bytes:
        """The plan as a part of the log."""
        return json.dumps(asdict(self), ensure_ascii=False).encode("utf-8", "replace")

    @classmethod
    def from_bytes(cls, data: bytes) -> Plan:
        """The reverse."""
        values: dict[str, Any] = json.loads(data)
        return cls(**values)

    @property
    def rules(self) -> WikiRules:
        """What it makes of pages and of their history."""
        return WikiRules(
            gone=frozenset(self.gone),
            entries={
                folder: tuple(Entry(number, tuple(texts)) for number, texts in entries)
                for folder, entries in self.entries.items()
            },
            nameless={folder: tuple(numbers) for folder, numbers in self.nameless.items()},
            called=tuple(self.called),
            names=tuple(self.names),
            commits=frozenset(self.commits),
            quotes=Needles.of(self.within, (), self.told),
        )
