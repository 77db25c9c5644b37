"""Whom a capability may ask: hosts as they were approved, and what is added to requests to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from qingtuan.errors import FetchFailed
from qingtuan.net.addresses import Address, Place, parsed


def places_of(entry: str) -> tuple[Place, ...]:
    """The hosts with ports that an entry stands for: `name` for those of https and http, `name:port` for one. None if
    it is neither: an IP address in any spelling, a pattern, an address with a path."""
    name, colon, port = entry.strip().lower().partition(":")
    if not name or (colon and not _PORT.fullmatch(port)):
        return ()
    try:
        address = parsed(f"https://{entry.strip().lower()}/", any_port=True)
    except FetchFailed:
        return ()
    if name.removesuffix(".") != address.host or address.target != "/":
        return ()
    return (address.place,) if colon else ((address.host, 443), (address.host, 80))


class Approved:
    """What one call may reach. Without an entry nothing."""

    def __init__(self, hosts: Iterable[str], headers: Mapping[str, Mapping[str, str]]) -> None:
        self._places = frozenset(place for entry in hosts for place in places_of(entry))
        self._headers = {place: (entry, added) for entry, added in headers.items() for place in places_of(entry)}
        self.shown = ", ".join(hosts) or "none"
        """For an error."""

    def allows(self, address: Address) -> bool:
        return address.place in self._places

    def added(self, address: Address) -> Mapping[str, str]:
        """Our own headers for a request. They go over plain http only where the entry names a port for it: on their
        way anybody could read them."""
        entry, added = self._headers.get(address.place, ("", {}))
        if address.scheme == "https" or (":" in entry and address.port != 443):
            return {name.lower(): value for name, value in added.items()}
        return {}

    @property
    def secrets(self) -> Iterator[str]:
        """What must not come back to the code: the values of our headers, and what stands behind a scheme in them."""
        for _, added in self._headers.values():
            for value in added.values():
                yield from (part for part in (value, value.rpartition(" ")[2]) if len(part) >= _SECRET)


_PORT = re.compile(r"[1-9][0-9]{0,4}")
_SECRET = 6
"""Characters from which on a value is one: shorter ones stand in every text."""
