"""Names and origins, whatever they look like."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.http.problems import Declined
from qingtuan.errors import UsageWrong
from qingtuan.servers.mcp import reading
from qingtuan.servers.mcp.guard import Guard

NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,30}\.(com|org|io|local)", fullmatch=True)


def refused(*headers: tuple[bytes, bytes]) -> bool:
    try:
        Guard().check(headers)
    except Declined:
        return True
    return False


@given(st.text(st.characters(max_codepoint=255), max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    value = text.encode("latin-1")
    refused((b"host", value))
    refused((b"host", b"localhost"), (b"origin", value))


@given(NAMES, st.integers(0, 65535))
def test_a_name_is_nobody_here(name: str, port: int) -> None:
    for host in (name, f"{name}:{port}", f"localhost.{name}", f"127.0.0.1.{name}", f"localhost@{name}"):
        assert refused((b"host", host.encode()))
        assert refused((b"host", b"localhost"), (b"origin", f"http://{host}".encode()))


@given(st.ip_addresses(), st.integers(1, 65535))
def test_an_address_in_numbers_is_taken(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
    shown = f"[{address}]" if address.version == 6 else str(address)
    assert not refused((b"host", f"{shown}:{port}".encode()))
    assert refused((b"host", b"localhost"), (b"origin", f"http://{shown}".encode())) is not address.is_loopback


def test_what_stands_there_twice_is_refused() -> None:
    assert refused()
    assert refused((b"host", b"localhost"), (b"host", b"localhost"))
    assert refused((b"host", b"localhost"), (b"origin", b"http://localhost"), (b"origin", b"http://localhost"))


@given(st.text(max_size=80))
def test_a_cursor_leads_back(path: str) -> None:
    encoded = path.encode("utf-8", "replace").decode()
    assert reading._after(reading._cursor(encoded)) == encoded


@given(st.text(max_size=80))
def test_no_cursor_breaks_it(text: str) -> None:
    try:
        assert isinstance(reading._after(text), str)
    except UsageWrong:
        return


def test_a_cursor_has_an_end() -> None:
    with pytest.raises(UsageWrong):
        reading._after("A" * 4000)
