"""By what name and from where the server may be called. Pure.

A page in a browser can call this machine: by its own address, and, after it has let its own name point here, by that
(DNS rebinding). It has no key, and still gets no further than this: pages have no business here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from qingtuan.channels.http.problems import Declined, Problem
from qingtuan.language import Words

_LOCAL = "localhost"


@dataclass(frozen=True, slots=True)
class Guard:
    """What is let in."""

    names: Collection[str] = frozenset()
    """Names of hosts, besides `localhost` and addresses in numbers: those need no name that could be turned."""

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Look at the headers of a request.

        Raises:
            Declined: it was sent by a page, or to a name that is not ours.
        """
        found: dict[bytes, list[str]] = {b"host": [], b"origin": []}
        for name, value in headers:
            if name in found:
                found[name].append(value.decode("latin-1"))
        hosts, origins = found[b"host"], found[b"origin"]
        if len(hosts) != 1 or not self._ours(_host_of(f"//{hosts[0]}")):
            raise Declined(NOT_THIS_NAME)
        if origins and not (len(origins) == 1 and self._of_this_machine(origins[0])):
            raise Declined(NOT_FROM_PAGES)

    def _ours(self, host: str | None) -> bool:
        return host is not None and (host == _LOCAL or host in self.names or _numbers(host) is not None)

    def _of_this_machine(self, origin: str) -> bool:
        """Whether it is a page of a program on this machine, such as an inspector, or of a host that is ours."""
        host = _host_of(origin)
        if host is None:
            return False
        address = _numbers(host)
        return host == _LOCAL or host in self.names or (address is not None and address.is_loopback)


def _host_of(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        if parts.username is not None or parts.password is not None:
            return None
        _ = parts.port
        return parts.hostname
    except ValueError:
        return None


def _numbers(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


NOT_THIS_NAME = Problem(
    421,
    "wrong_host",
    Words(
        "不认识这个主机名。用 IP 地址或 localhost，或者把名字写进 mcp.names。",
        "That is no name of this server. Use an IP address or localhost, or put the name into mcp.names.",
    ),
)
NOT_FROM_PAGES = Problem(403, "wrong_origin", Words("网页不能调用这里。", "Pages may not call this."))
