"""`mcp.json` as people paste it: what is understood, and what is said of what is not."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.identity.trust import Risk
from qingtuan.mcp_client import jsonc
from qingtuan.mcp_client.config import Command, Configured, Endpoint, ServerConfig
from qingtuan.mcp_client.reading import read

ENVIRON = {"TOKEN": "t0k3n-abcdef", "EMPTY": "", "HOME": "/home-of-somebody"}


def reading(folder: Path, text: str) -> Configured:
    path = folder / "mcp.json"
    path.write_text(text)
    return read(path, ENVIRON)


def entry(folder: Path, name: str = "a", **entry: Any) -> ServerConfig:
    """The one server of a file in which nothing is wrong."""
    found = reading(folder, json.dumps({"mcpServers": {name: entry}}))
    assert found.faults == ()
    (server,) = found.servers
    return server


def faults(folder: Path, entries: dict[str, Any]) -> list[str]:
    return [fault.words.en for fault in reading(folder, json.dumps({"mcpServers": entries})).faults]


def test_the_shapes_of_other_clients(tmp_path: Path) -> None:
    found = reading(
        tmp_path,
        """
        {
          // VS Code
          "inputs": [],
          "servers": {
            "files": {"type": "stdio", "command": "npx", "args": ["-y", "server-files", "/docs"], /* a folder */},
            "git hub": {"type": "http", "url": "https://api.example/mcp",
                        "headers": {"Authorization": "Bearer ${env:TOKEN}"},},
          },
          "mcpServers": { // Claude Desktop, Cursor, Windsurf
            "seats": {"command": "seats", "env": {"KEY": "${TOKEN}", "N": 3, "ON": true}, "cwd": "/srv",
                      "autoApprove": ["x"], "alwaysAllow": [], "description": "d"},
            "wind": {"serverUrl": "http://localhost:3000/mcp"},
            "plain": {"url": "http://localhost:3000/mcp", "type": "streamableHttp"},
            "asleep": {"command": "x", "disabled": true, "env": {"A": "${MISSING}"}}
          }
        }
        """,
    )
    assert found.faults == ()
    assert found.off == ("asleep",)
    servers = {server.name: server for server in found.servers}
    assert servers.keys() == {"files", "git-hub", "seats", "wind", "plain"}
    assert servers["files"].way == Command("npx", ("-y", "server-files", "/docs"))
    assert servers["git-hub"].way == Endpoint("https://api.example/mcp", {"Authorization": "Bearer t0k3n-abcdef"})
    assert servers["seats"].way == Command("seats", (), {"KEY": "t0k3n-abcdef", "N": "3", "ON": "true"}, "/srv")
    assert servers["wind"].kind == "http"
    assert {server.prefix for server in found.servers} == servers.keys()


def test_our_own_keys_in_either_spelling(tmp_path: Path) -> None:
    server = entry(
        tmp_path,
        command="x",
        core=True,
        trusted=True,
        returns="own",
        include=["a*"],
        exclude=["ab"],
        prefix="p",
        risks={"a*": "read", "ab": "critical"},
        timeout=5,
        startTimeout=7,
    )
    assert (server.core, server.trusted, server.returns, server.prefix) == (True, True, "own", "p")
    assert (server.timeout, server.start_timeout) == (5.0, 7.0)
    assert [name for name in ("a", "ab", "b") if server.wants(name)] == ["a"]
    assert [server.risk_of(name) for name in ("ab", "ac", "b")] == [Risk.CRITICAL, Risk.READ, None]
    assert entry(tmp_path, command="x", start_timeout=8).start_timeout == 8
    plain = entry(tmp_path, command="x")
    assert (plain.core, plain.trusted, plain.returns, plain.timeout) == (False, False, "foreign", 60)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({}, "needs command"),
        (5, "must be an object"),
        ({"command": ""}, "command must be a text"),
        ({"command": "x", "url": "http://h"}, "not both"),
        ({"command": "x", "type": "http"}, "http with url"),
        ({"url": "http://h", "type": "carrier-pigeon"}, "stdio or http"),
        ({"url": "http://h/sse", "type": "sse"}, "sse is the old transport"),
        ({"url": "ftp://h"}, "http(s)"),
        ({"url": "http:///path"}, "http(s)"),
        ({"url": "http://h:0/"}, "http(s)"),
        ({"url": "http://h/\n"}, None),
        ({"url": "http://h/a b"}, "http(s)"),
        ({"url": "http://h", "headers": {"a b": "c"}}, "one line of ASCII"),
        ({"url": "http://h", "headers": {"A": "b\r\nC: d"}}, "one line of ASCII"),
        ({"url": "http://h", "headers": []}, "headers must be an object"),
        ({"command": "x", "args": "y"}, "args must be a list"),
        ({"command": "x", "args": ["a\0b"]}, "NUL"),
        ({"command": "x", "env": {"A": None}}, "env must be an object"),
        ({"command": "x", "env": {"A": "${input:key}"}}, "must be typed each time"),
        ({"command": "x", "env": {"A": "${env:MISSING}"}}, "MISSING in env.A has no value"),
        ({"command": "x", "args": ["${workspaceFolder}"]}, "workspaceFolder in args has no value"),
        ({"command": "x", "args": ["${MISSING:-else}", "${env:EMPTY}", "${a b}", "$5"]}, None),
        ({"command": "x", "trusted": "yes"}, "trusted is true or false"),
        ({"command": "x", "returns": "own"}, "goes with"),
        ({"command": "x", "returns": "mine"}, "own or foreign"),
        ({"command": "x", "risks": {"a": "harmless"}}, "read, write, act or critical"),
        ({"command": "x", "risks": {"a": 5}}, "read, write, act or critical"),
        ({"command": "x", "include": "a"}, "include is a list"),
        ({"command": "x", "timeout": 0}, "timeout is seconds"),
        ({"command": "x", "timeout": True}, "timeout is seconds"),
        ({"command": "x", "startTimeout": 1e9}, "startTimeout is seconds"),
        ({"command": "x", "prefix": "a__b"}, "two underscores"),
    ],
)
def test_what_is_wrong_with_an_entry_costs_that_entry(tmp_path: Path, broken: Any, words: str | None) -> None:
    entries = {"bad": broken, "good": {"command": "x"}}
    found = reading(tmp_path, json.dumps({"mcpServers": entries}))
    assert "good" in [server.name for server in found.servers]
    if words is None:
        assert [len(found.servers), found.faults] == [2, ()]
        return
    (fault,) = found.faults
    assert words in fault.words.en
    assert fault.words.en.startswith('Server "bad" in mcp.json: ')
    assert fault.words.zh.startswith('mcp.json 里的服务器 "bad"：')


def test_names(tmp_path: Path) -> None:
    x = {"command": "x"}
    found = faults(
        tmp_path, {"图书馆": x, "a__b": x, "a b": x, "a-b": x, "": x, "c" * 41: x, "_d_": {**x, "prefix": "a-b"}}
    )
    assert [words.partition("mcp.json: ")[2][:20] for words in found] == [
        "Its name needs Latin",
        "Its name cannot have",
        "a-b is given twice; ",
        "Its name needs Latin",
        "Its name is too long",
        "Its tools would be n",
    ]
    twice = reading(tmp_path, '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}, "b": {"command": "z"}}}')
    assert [server.name for server in twice.servers] == ["b"]
    assert "given twice" in twice.faults[0].words.en


def test_unknown_keys_are_told_and_cost_nothing(tmp_path: Path) -> None:
    found = reading(tmp_path, json.dumps({"mcpServers": {"a": {"command": "x", "trustd": True, "zzz": 1}}, "more": 1}))
    assert [server.trusted for server in found.servers] == [False]
    said = [fault.words.en for fault in found.faults]
    assert len(said) == 3
    assert "Is it trusted?" in said[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("{", "line 1"),
        ('{"mcpServers": {"a": {"command": "x"}}', "Check quotes"),
        ("[]", "must be written"),
        ('{"mcpServers": []}', "must be an object"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_broken_file_is_one_fault(tmp_path: Path, text: str, words: str) -> None:
    found = reading(tmp_path, text)
    assert found.servers == ()
    (fault,) = found.faults
    assert words in fault.words.en


def test_files_that_are_none(tmp_path: Path) -> None:
    assert read(tmp_path / "missing.json", {}) == Configured()
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xff"}')
    for name in ("folder.json", "pipe.json", "latin.json"):
        assert len(read(tmp_path / name, {}).faults) == 1


def test_no_secret_in_any_text_of_an_entry(tmp_path: Path) -> None:
    key = "9f8e7d6c5b4a3928"
    stdio = entry(
        tmp_path, command="x", args=["--api-key", key, f"--token={key}", "--folder", "/docs"], env={"API_KEY": key}
    )
    assert key not in repr(stdio)
    assert stdio.shown == "x --api-key … --token=… --folder /docs"
    assert stdio.secrets == (key,)
    remote = entry(
        tmp_path, url=f"https://me:{key}@h.example/mcp?key={key}", headers={"Authorization": f"Bearer {key}"}
    )
    assert key not in repr(remote)
    assert remote.shown == "https://h.example/mcp?…"
    assert set(remote.secrets) == {key, f"Bearer {key}"}


def test_a_key_that_changes_changes_the_cache_and_not_the_identity(tmp_path: Path) -> None:
    one, two = (entry(tmp_path, command="x", env={"K": value}) for value in ("1", "2"))
    assert (one.identity == two.identity, one.key == two.key) == (True, False)
    assert entry(tmp_path, command="y").identity != one.identity
    assert entry(tmp_path, command="x", args=["a"]).identity != one.identity


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON_VALUES, st.sampled_from(['// a "comment"\n', "/* } */", "  ", "\n"]))
def test_comments_and_commas_change_no_value(value: Any, between: str) -> None:
    """Between any two tokens, and never within a string."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    lines = [line + (between if not line.endswith(("[", "{")) else "") for line in text.split("\n")]
    assert jsonc.parse(f"{between}{''.join(lines)}{between}") == value
    commas = text.replace("\n]", ",\n]").replace("\n}", ",\n}")
    inside = any('"' in line and ("]" in line or "}" in line) for line in text.split("\n"))
    if not inside and "[]" not in text and "{}" not in text:
        assert jsonc.parse(commas) == value


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    with suppress(ValueError):
        jsonc.parse(text)
