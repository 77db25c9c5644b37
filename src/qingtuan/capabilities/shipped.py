"""Capabilities that come with the product: as if the owner had approved them, until they decide otherwise.

They stand in no folder and in no event, for they are part of the version that runs. What the owner brings under such a
name stands before it; deleting is remembered like everything the owner decides, and taken back by enabling.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.ledger import Held, Ledger, Version
from qingtuan.identity.accounts import OWNER
from qingtuan.messages import Origin

NUMBER = 0
"""The version of all of them: versions that somebody brings begin at 1."""
_BUILT = datetime(1970, 1, 1, tzinfo=UTC)


class Shipped:
    """The shipped ones, as the ledger knows them."""

    def __init__(self, definitions: Iterable[Definition], ledger: Ledger) -> None:
        self._definitions = {one.name: one for one in definitions}
        self._ledger = ledger

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def get(self, name: str) -> Held | None:
        """The one of this name, unless the owner deleted it."""
        return self._held(self._definitions[name]) if name in self._definitions else None

    def beside(self, held: Iterable[Held]) -> list[Held]:
        """All that there is, by name: these, and the shipped ones whose names are free."""
        every = {one.name: one for one in held}
        for name, definition in self._definitions.items():
            if name not in every and (one := self._held(definition)) is not None:
                every[name] = one
        return [every[name] for name in sorted(every)]

    def version(self, name: str) -> Version:
        """What stands for it among the versions of its name."""
        return _version(self._definitions[name])

    def definition(self, version: Version) -> Definition | None:
        """What a version is, if it is one of these."""
        return self._definitions.get(version.name) if version.number == NUMBER else None

    def _held(self, definition: Definition) -> Held | None:
        name = definition.name
        state = self._ledger.state(name)
        if state.deleted > state.cleared:
            return None
        broken = self._ledger.is_broken(name, state.cleared)
        waiting = tuple(version for version in self._ledger.versions(name) if version.waits)
        return Held(name, OWNER, _version(definition), definition, state.off, broken, waiting)


def _version(definition: Definition) -> Version:
    return Version(
        event="",
        name=definition.name,
        number=NUMBER,
        author=OWNER,
        hash=definition.hash,
        time=_BUILT,
        origin=Origin.SYSTEM,
        how="starter",
        note="",
        waits=False,
        counted=NUMBER,
        began=None,
    )
