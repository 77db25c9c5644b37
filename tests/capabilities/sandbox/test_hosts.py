"""Which hosts an approval stands for, and who gets what we add."""

from __future__ import annotations

import pytest

from qingtuan.capabilities.sandbox.hosts import Approved, places_of
from qingtuan.net.addresses import Address


def at(scheme: str, host: str, port: int) -> Address:
    return Address(scheme, host, port, "/")


@pytest.mark.parametrize(
    ("entry", "places"),
    [
        ("api.example.com", (("api.example.com", 443), ("api.example.com", 80))),
        ("API.Example.com", (("api.example.com", 443), ("api.example.com", 80))),
        ("api.example.com:8443", (("api.example.com", 8443),)),
        ("api.example.com:9000", (("api.example.com", 9000),)),
    ],
)
def test_an_entry_is_a_name_and_perhaps_a_port(entry: str, places: tuple[tuple[str, int], ...]) -> None:
    assert places_of(entry) == places


@pytest.mark.parametrize(
    "entry",
    [
        "", " ", "*", "*.example.com", "example", "localhost", "127.0.0.1", "127.1", "0x7f000001", "2130706433",
        "0177.0.0.1", "[::1]", "::1", "[::ffff:7f00:1]:80", "api.example.com:", "api.example.com:0",
        "api.example.com:99999", "api.example.com:http", "api.example.com/path", "https://api.example.com",
        "user@api.example.com", "api.example.com?x", "api.example.com#x", "a b.example.com", "printer.local",
        "router.lan", "例子.example.com", "api.example.com\\", "api.example.com:80:80",
    ],
)  # fmt: skip
def test_what_is_none_stands_for_nobody(entry: str) -> None:
    assert places_of(entry) == ()
    assert not Approved((entry,), {}).allows(at("https", "api.example.com", 443))


def test_nothing_approved_is_nobody() -> None:
    assert not Approved((), {}).allows(at("https", "api.example.com", 443))


def test_our_headers_go_to_their_host_and_not_in_the_clear() -> None:
    approved = Approved(
        ("api.example.com", "own.example.com:8080"),
        {"api.example.com": {"X-Key": "k"}, "own.example.com:8080": {"X-Key": "o"}},
    )
    assert approved.added(at("https", "api.example.com", 443)) == {"x-key": "k"}
    assert approved.added(at("http", "api.example.com", 80)) == {}
    assert approved.added(at("http", "own.example.com", 8080)) == {"x-key": "o"}
    assert approved.added(at("https", "own.example.com", 443)) == {}
