"""Which addresses may be asked for: plain names in the public network, and nothing that only looks like one."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import FetchFailed
from qingtuan.net.addresses import is_public, parsed


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTP://Example.COM:80/a?b=c#frag", "http://example.com/a?b=c"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://example.com/图书馆?座位=二楼", "https://example.com/%E5%9B%BE%E4%B9%A6%E9%A6%86?%E5%BA%A7%E4%BD%8D=%E4%BA%8C%E6%A5%BC"),
        ("https://xn--fiqs8s.xn--fiqz9s/", "https://xn--fiqs8s.xn--fiqz9s/"),
        ("https://中国.中国/图", "https://xn--fiqs8s.xn--fiqs8s/%E5%9B%BE"),
        ("https://www.图书馆a.com/", "https://www.xn--a-tt6ax8yt35e.com/"),
        ("https://a_b.example.com/%20x", "https://a_b.example.com/%20x"),
    ],
)  # fmt: skip
def test_ordinary_addresses(text: str, result: str) -> None:
    assert str(parsed(text)) == result


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "http:///path",
        "http://",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://@example.com/",
        "https://example.com@127.0.0.1/",
        "https://127.0.0.1\\@example.com/",
        "https://example.com\\.evil.example/",
        "http://localhost/",
        "http://localhost.:8080/",
        "http://LOCALHOST/",
        "http://intranet/",
        "http://printer.local/",
        "http://db.internal/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://nas.home.arpa/",
        "http://hidden.onion/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.0x1/",
        "http://1.1.1.1/",
        "http://8.8.8.8.:80/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://[2606:4700::1111]/",
        "http://１２７.０.０.１/",
        "http://exa\u3002mple.com/",
        "http://еxample.com/",
        "http://中е国.com/",
        "http://本机.local/",
        "http://一二七/",
        "http://中国.１２７/",
        "http://" + "中" * 40 + ".com/",
        "http://ex\u00adample.com/",
        "https://example.com:22/",
        "https://example.com:6379/",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://example.com:8o/",
        "https://example.com/a b",
        "https://example.com/a\r\nHost: evil",
        "https://example.com/\x00",
        "https://example.com/\u202egnp",
        "https://-example.com/",
        "https://exam..ple.com/",
        "https://example.c/",
        f"https://{'a' * 64}.com/",
        "https://" + "a." * 130 + "com/",
        "https://example.com/" + "a" * 5000,
        "https://[::1/",
        "https://example.com\ud800/",
    ],
)
def test_addresses_that_are_refused(text: str) -> None:
    with pytest.raises(FetchFailed):
        parsed(text)


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    for candidate in (text, f"https://{text}", f"https://example.com/{text}"):
        try:
            address = parsed(candidate)
        except FetchFailed:
            continue
        assert parsed(str(address)) == address
        assert str(address).isascii()
        assert "@" not in address.authority


@pytest.mark.parametrize(
    "number",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.170",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "2606:4700::1111%eth0",
        "fec0::1",
        "ff02::1",
        "",
        "localhost",
        "127.1",
        "2130706433",
    ],
)
def test_numbers_that_are_not_public(number: str) -> None:
    assert not is_public(number)


@pytest.mark.parametrize("number", ["1.1.1.1", "8.8.8.8", "223.5.5.5", "2606:4700::1111", "2400:3200::1"])
def test_numbers_that_are(number: str) -> None:
    assert is_public(number)


@given(st.ip_addresses(v=4))
def test_no_way_of_writing_a_number_changes_what_it_is(number: ipaddress.IPv4Address) -> None:
    if number.is_private or number.is_loopback or number.is_link_local or number.is_multicast:
        assert not is_public(str(number))
    value = int(number)
    for mapped in (value, 0xFFFF << 32 | value, 0x64FF9B << 96 | value, 0x2002 << 112 | value << 80):
        assert not is_public(str(ipaddress.IPv6Address(mapped)))
