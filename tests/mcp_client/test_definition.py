"""What a server says of its tools, made harmless; its log; and what it costs when nothing is started."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.mcp_client.definition import SENTENCE, definition_of, fault
from qingtuan.mcp_client.journal import MAX_BYTES, Journal
from qingtuan.mcp_client.listing import Listing, listing_of, load, save
from qingtuan.mcp_client.sieve import tidied
from qingtuan.tools.plain import line, plain, secrets_of, without
from qingtuan.tools.schema import fault_of
from tests.mcp_client.bench import REPOSITORY, hostile


def raw(**more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"date": {"type": "string"}, "seat": {"type": "string"}}}
    return {"name": "reserve", "inputSchema": schema, **more}


def sentence(zh: Any, en: Any = "Book {seat} on {date:day}.") -> Words | None:
    return definition_of(raw(_meta={SENTENCE: {"zh": zh, "en": en}})).sentence


def test_a_server_may_word_its_question() -> None:
    assert sentence("要预约 {date:day} 的 {seat}。") == Words(
        "要预约 {date:day} 的 {seat}。", "Book {seat} on {date:day}."
    )


@pytest.mark.parametrize(
    "zh",
    [
        None,
        5,
        "",
        "约 {nobody}",
        "约 {seat.secret}",
        "约 {seat[0]}",
        "约 {seat!r}",
        "约 {seat:>1000000}",
        "约 {}",
        "约 {seat",
        "约 {seat}\n回复「确认」",
        "约 {seat}\u202e",
        "约" * 400,
    ],
)
def test_a_question_that_is_none_falls_back(zh: Any) -> None:
    assert sentence(zh) is None


def test_the_hash_is_of_all_that_was_said() -> None:
    hashes = {
        definition_of(one).hash
        for one in (
            raw(),
            raw(description="x"),
            raw(title="x"),
            raw(annotations={"readOnlyHint": True}),
            raw(outputSchema={"type": "object"}),
            raw(_meta={SENTENCE: {"zh": "约 {seat}", "en": "{seat}"}}),
            raw(description="x" * 3000),
            raw(description="x" * 3001),
            raw(inputSchema={"type": "object"}),
        )
    }
    assert len(hashes) == 9


def test_texts_within_a_schema_are_bounded_and_values_stay() -> None:
    schema = {
        "type": "object",
        "properties": {"title": {"description": "a\u200bb" * 2000, "enum": ["a\u200bb"]}},
        "description": "\u0007",
    }
    cleaned = definition_of(raw(inputSchema=schema)).schema
    assert cleaned["description"] == "\ufffd"
    assert cleaned["properties"]["title"]["enum"] == ["a\u200bb"]
    assert len(cleaned["properties"]["title"]["description"]) == 2000


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_nothing_unseen_is_left_in_a_text(text: str, limit: int) -> None:
    for shown in (plain(text, limit), line(text, limit)):
        assert len(shown) <= limit
        assert all(unicodedata.category(letter) not in ("Cc", "Cs", "Co") for letter in shown if letter not in "\n\t")
    assert "\n" not in line(text, limit)


SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("#/properties/a"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "a", "items", "$ref", "$defs", "required", "allOf", "enum", "const"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(SCHEMAS, SCHEMAS, SCHEMAS)
def test_whatever_a_tool_says_it_is_taken_or_left_out(schema: Any, output: Any, other: Any) -> None:
    tool = tidied({"name": "t", "inputSchema": schema, "outputSchema": output, "annotations": other, "title": other})
    found = listing_of([tool], "server")
    assert len(found.tools) + len(found.left_out) == 1
    for one in found.tools:
        assert fault(tool) is None
        assert fault_of(one.schema) is None
        json.dumps(one.schema, allow_nan=False)


def test_a_listing_survives_its_cache(home: Home) -> None:
    listing = listing_of([raw(description="d"), {"name": "bad"}], "server 1")
    save(home.index, "k" * 64, listing)
    found = load(home.index, "k" * 64)
    assert found == listing
    assert isinstance(found, Listing)
    assert load(home.index, "other") is None


def test_a_log_is_bounded_in_a_minute_and_for_good(home: Home, clock: ManualClock) -> None:
    journal = Journal(home.logs / "mcp-a.log", clock, ("hunter2-hunter2",))
    for _ in range(20):
        for _ in range(1_000):
            journal.write("x" * 1_000)
        clock.advance(timedelta(seconds=61))
    journal.write("the password hunter2-hunter2 and sk-abcdefghijklmnop1234567890 \u202e\x1b[31m")
    sizes = [path.stat().st_size for path in home.logs.iterdir()]
    assert len(sizes) == 2
    assert all(size < MAX_BYTES + 5_000 for size in sizes)
    assert "hunter2" not in journal.last
    assert "sk-abc" not in journal.last
    assert "\x1b" not in journal.last


def test_what_counts_as_a_secret() -> None:
    pairs = [
        ("API_KEY", "abcdef"),
        ("Authorization", "Bearer abcdefgh"),
        ("FOLDER", "/srv/documents"),
        ("PIN_KEY", "12"),
    ]
    assert set(secrets_of(pairs)) == {"abcdef", "Bearer abcdefgh", "abcdefgh"}
    assert without("use abcdef now", ("abcdef",)) == "use •••••• now"


def test_servers_that_are_known_cost_no_import(home: Home) -> None:
    """The SDK takes 25 MiB: nothing of it is loaded for tools that are offered from the cache."""
    home.mcp_file.write_text(json.dumps({"mcpServers": {"a": hostile("Plain")}}))
    script = f"""
import asyncio, sys
from pathlib import Path
from qingtuan.home import Home
from tests.mcp_client.bench import Bench

async def main():
    async with Bench(Home(Path({str(home.path)!r}))) as bench:
        if sys.argv[1] == "first":
            await bench.listed("a")
        assert bench.tools("a") == ["echo", "read"]
        print("mcp" in sys.modules, "jsonschema" in sys.modules)

asyncio.run(main())
"""
    for turn, loaded in (("first", "True True"), ("second", "False False")):
        command = [sys.executable, "-c", script, turn]
        done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=60, check=True)
        assert done.stdout.split("\n")[0] == loaded
        assert done.stderr == ""
