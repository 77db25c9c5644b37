"""`qingtuan key`: issued, listed and revoked, also while an instance runs."""

from __future__ import annotations

import re

from qingtuan.home import Home
from tests.cli.conftest import CommandLine


def test_a_key_is_printed_alone_and_listed_without_it(qingtuan: CommandLine) -> None:
    made = qingtuan("key", "add", "laptop", "--person", "owner", "--scope", "own")
    assert made.code == 0
    assert re.fullmatch(r"[A-Za-z0-9_-]{32,}\n", made.out)
    listed = qingtuan("key", "list", "--json")
    assert made.out.strip() not in listed.out
    assert [(key["name"], key["person"], key["scope"], key["revoked"]) for key in listed.json] == [
        ("laptop", "owner", "own", None)
    ]
    assert "laptop" in qingtuan("key", "list").out
    assert qingtuan("key", "revoke", "laptop").code == 0
    assert qingtuan("key", "list", "--json").json[0]["revoked"]
    assert qingtuan("key", "revoke", "laptop").code == 1
    assert made.out.strip().encode() not in Home(qingtuan.home).database.read_bytes()


def test_who_may_be_spoken_for(qingtuan: CommandLine) -> None:
    assert qingtuan("key", "add", "x", "--person", "nobody").code == 1
    assert qingtuan("key", "add", "x", "--person", "http:other").code == 1
    assert qingtuan("key", "add", "X Y", "--person", "owner").code == 2
    guest = qingtuan("key", "add", "bot", "--person", "qq:10002")
    assert guest.code == 0
    assert "access.members" in guest.err
    assert qingtuan("key", "add", "x", "--person", "owner", "--scope", "all").code == 2


def test_by_mcp_a_key_does_what_was_said_of_it(qingtuan: CommandLine) -> None:
    for name, more in (
        ("plain", ()),
        ("narrow", ("--scope", "public", "--writes", "none")),
        ("wide", ("--scope", "private", "--writes", "direct")),
    ):
        assert qingtuan("key", "add", name, "--person", "owner", *more).code == 0
    listed = {
        key["name"]: (key["scope"], key["reads"], key["writes"]) for key in qingtuan("key", "list", "--json").json
    }
    assert listed == {
        "plain": ("private", "public", "review"),
        "narrow": ("public", "public", "none"),
        "wide": ("private", "private", "direct"),
    }
    assert "public" in qingtuan("key", "add", "more", "--person", "owner").err
    assert qingtuan("key", "add", "x", "--person", "owner", "--writes", "all").code == 2
