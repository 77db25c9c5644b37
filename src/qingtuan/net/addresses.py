"""Which addresses may be asked for at all. Pure (sandbox.md, The host side).

An address comes from a message, a page or a program: whoever wrote it would have us look into the owner's own network,
which nobody outside can. So a name must be a plain one, and every number that it stands for a public one. What the
owner's settings name themselves is different: that very host and port may stand anywhere in the owner's network.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from qingtuan.errors import FetchFailed
from qingtuan.language import Words

LONGEST = 4096
"""Characters of an address."""
Place = tuple[str, int]
"""A host, in lower case, and a port."""
PORTS = frozenset({80, 443, 8080, 8443})
"""Where web servers are; what else listens on a machine speaks no HTTP and may act on what it reads."""


class NotSent(FetchFailed):
    """It failed before anything was sent: it is safe to try again, or elsewhere."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address that may be asked for, in its parts."""

    scheme: str
    host: str
    """In lower case."""
    port: int
    target: str
    """Path and query, percent-encoded."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _USUAL[self.scheme] else f"{host}:{self.port}"

    @property
    def place(self) -> Place:
        """Where it leads."""
        return self.host, self.port

    @property
    def origin(self) -> tuple[str, str, int]:
        """What keys and bodies may not leave: scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def name(self) -> str:
        """The last part of the path: what a file from there may be called. Foreign text."""
        return unquote(self.target.partition("?")[0].rpartition("/")[2])


def parsed(text: str, trusted: frozenset[Place] = frozenset(), *, any_port: bool = False) -> Address:
    """The address that `text` is. `trusted` are hosts with their ports that the caller itself vouches for. `any_port`:
    the caller looks at the port itself.

    Raises:
        NotSent: it is none that may be asked for.
    """
    if not text or len(text) > LONGEST or _ODD.search(text):
        raise NotSent(_MALFORMED)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise NotSent(_MALFORMED) from None
    scheme = parts.scheme.lower()
    if scheme not in _USUAL:
        raise NotSent(_SCHEME)
    if "@" in parts.netloc:
        raise NotSent(_USER)
    host = _in_letters((parts.hostname or "").lower().removesuffix("."))
    if port is None:
        port = _USUAL[scheme]
    if (host, port) not in trusted:
        if not _is_plain(host):
            raise NotSent(_HOST)
        if port not in PORTS and not (any_port and port > 0):
            raise NotSent(_PORT)
    path = quote(parts.path or "/", safe=_KEPT)
    query = f"?{quote(parts.query, safe=_KEPT + '?')}" if parts.query else ""
    return Address(scheme, host, port, (path if path.startswith("/") else f"/{path}") + query)


def place_of(address: str) -> Place | None:
    """The host and port of an address from the settings; None if it is no web address."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    scheme, host = parts.scheme.lower(), _in_letters((parts.hostname or "").lower().removesuffix("."))
    if scheme not in _USUAL or not host:
        return None
    return host, _USUAL[scheme] if port is None else port


def is_near(number: str) -> bool:
    """Whether an IP address is one at which the owner may have a server of their own: this machine, the network it is
    in, or the public one; never one that every machine of a data centre has (metadata), nor many at once."""
    try:
        address = ipaddress.ip_address(number)
    except ValueError:
        return False
    if any(address in network for network in _OWN if network.version == address.version):
        return number not in _METADATA
    return is_public(number)


def is_public(number: str) -> bool:
    """Whether an IP address is one of the public network, and stands for no other that is not."""
    try:
        address = ipaddress.ip_address(number)
    except ValueError:
        return False
    # Each way of writing an IPv4 address as an IPv6 one leads to the IPv4 one, or to whoever runs the translator.
    translated = address.version == 6 and ("%" in number or any(address in network for network in _TRANSLATED))
    return (
        not translated
        and address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in _CLOSED if network.version == address.version)
    )


def _in_letters(host: str) -> str:
    """A Chinese name as it is asked for (RFC 5890). Other letters than Latin ones look too much like each other."""
    if host.isascii():
        return host
    return ".".join(
        f"xn--{label.encode('punycode').decode()}" if _CHINESE.fullmatch(label) and not label.isascii() else label
        for label in host.split(".")
    )


def _is_plain(host: str) -> bool:
    """Whether this is an ordinary name with a domain, and no number in any spelling."""
    if len(host) > 253 or "." not in host:
        return False
    labels = host.split(".")
    # A last label that begins with a digit is read as a number by some (0x7f.1, 2130706433, 127.1, 0177.0.0.1).
    return (
        all(map(_LABEL.fullmatch, labels))
        and _TOP.fullmatch(labels[-1]) is not None
        and labels[-1] not in _NO_DOMAINS
        and ".".join(labels[-2:]) != "home.arpa"
    )


_USUAL = {"http": 80, "https": 443}
_ODD = re.compile(r"[\x00-\x20\x7f-\xa0\\\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff]")
_CHINESE = re.compile(r"[a-z0-9\u3400-\u4dbf\u4e00-\u9fff](?:[a-z0-9\u3400-\u4dbf\u4e00-\u9fff-]{0,30})")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_TOP = re.compile(r"[a-z][a-z0-9-]{0,61}[a-z0-9]")
_NO_DOMAINS = frozenset(
    {"localhost", "local", "internal", "intranet", "lan", "corp", "home", "private", "onion", "test"}
)
_KEPT = "/!$&'()*+,;=:@~%-._"
_TRANSLATED = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "::/96",  # v4-compatible
        "::ffff:0:0/96",  # v4-mapped
        "::ffff:0:0:0/96",  # v4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # local NAT64
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
    )
)
_METADATA = frozenset({"100.100.100.200", "168.63.129.16", "fd00:ec2::254"})
"""Numbers of private networks, or like them, where data centres tell machines their keys."""
_OWN = tuple(
    ipaddress.ip_network(network)
    for network in (
        "10.0.0.0/8",
        "100.64.0.0/10",  # also Tailscale's
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "198.18.0.0/15",  # what local proxies stand in with
        "::1/128",
        "fc00::/7",
    )
)
_CLOSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        # Said once more, since what counts as global differs between versions of Python.
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "224.0.0.0/3",
        "168.63.129.16/32",  # the metadata service of Azure, which is a public number
        "100.100.100.200/32",  # that of Alibaba Cloud
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
        "fd00:ec2::254/128",
    )
)

_MALFORMED = Words("这个地址写得不对。", "That address is malformed.")
_SCHEME = Words("只能打开 http 和 https 的地址。", "Only http and https addresses can be opened.")
_USER = Words("带用户名或密码的地址不打开。", "An address with a user name or password is not opened.")
_HOST = Words(
    "这个地址的主机不能打开：只能是公网上的域名。",
    "The host of that address cannot be opened: it must be a name in the public network.",
)
_PORT = Words("这个地址的端口不能打开。", "The port of that address cannot be opened.")
