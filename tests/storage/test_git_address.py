"""Addresses of another copy: three kinds, and nothing in them that git, ssh or a shell could take for more."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import SettingsWrong
from qingtuan.storage.git_address import Address


@pytest.mark.parametrize(
    ("text", "way", "user"),
    [
        ("/srv/git/wiki.git", "file", None),
        ("/media/usb stick/wiki.git", "file", None),
        ("file:///srv/git/wiki.git", "file", None),
        ("git@git.example.com:me/wiki.git", "ssh", "git"),
        ("git.example.com:wiki.git", "ssh", None),
        ("nas:~/wiki.git", "ssh", None),
        ("ssh://git@git.example.com:2222/me/wiki.git", "ssh", "git"),
        ("ssh://[2001:db8::1]/wiki.git", "ssh", None),
        ("https://git.example.com/me/wiki.git", "https", None),
        ("https://me@git.example.com:3000/me/wiki.git", "https", "me"),
        ("  https://git.example.com/我的/wiki.git  ", "https", None),
    ],
)
def test_the_three_kinds(text: str, way: str, user: str | None) -> None:
    address = Address.parse(text)
    assert (address.way, address.user) == (way, user)
    assert address.url == text.strip().removeprefix("file://")


def test_a_folder_of_the_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Address.parse("~/wiki.git").url == str(tmp_path / "wiki.git")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wiki.git",
        "./wiki.git",
        "../wiki.git",
        "/srv/../etc",
        "C:/wiki",
        "C:\\wiki",
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=x",
        "ext::sh -c touch% /tmp/x",
        "fd::3",
        "git://host/wiki.git",
        "http://host/wiki.git",
        "ftp://host/wiki.git",
        "svn+ssh://host/wiki",
        "ssh://-oProxyCommand=touch/x",
        "ssh://git@-oProxyCommand=touch/x",
        "ssh://-l@host/x",
        "ssh://host/wiki;touch x",
        "ssh://host/wiki`x`",
        "ssh://host/wiki$(x)",
        "ssh://host:x/wiki",
        "ssh://host",
        "-oProxyCommand=x:wiki",
        "git@-host:wiki",
        "git@host:-x",
        "git@host:--upload-pack=x",
        "git@host:a b",
        "host:wiki'x",
        "https://host",
        "https://me:secret@host/wiki.git",
        "https://host/wiki.git?x=1",
        "https://host/wiki.git#x",
        "ssh://me:secret@host/wiki.git",
        "https://host/a\nb",
        "/srv/a\nb",
        "/srv/a\0b",
        "/" + "a" * 2000,
        "a::b:c",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(SettingsWrong):
        Address.parse(text)


def test_a_secret_in_it_is_not_repeated() -> None:
    with pytest.raises(SettingsWrong) as caught:
        Address.parse("https://me:hunter2@host/wiki.git")
    assert "hunter2" not in str(caught.value)
    assert "QINGTUAN_WIKI__TOKEN" in caught.value.words.zh


@given(st.text(alphabet=":/@-.ab~[]=;$` \n\0h", max_size=30) | st.text(max_size=30))
def test_whatever_passes_is_no_option_and_holds_nothing_for_a_shell(text: str) -> None:
    try:
        address = Address.parse(text)
    except SettingsWrong:
        return
    assert not address.url.startswith("-")
    assert "::" not in address.url or "[" in address.url or address.way == "file"
    if address.way == "ssh":
        host = address.url.removeprefix("ssh://").rpartition("@")[2] if "@" in address.url else address.url
        assert not host.removeprefix("ssh://").startswith("-")
        assert not set(" \n\0;$`") & set(address.url)
