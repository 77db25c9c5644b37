"""What is read of the conformance suite about our server, and that it listens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from peers.checks import Check
from peers.conformance import Scenario
from peers.mcp_server import LEFT_OUT, checks_of, left_out, served

SCENARIO = Scenario("tools-list", "2026-07-28")


def test_what_does_not_apply_has_a_reason_and_all_else_applies() -> None:
    assert left_out("prompts-get-anything-new") is not None
    assert left_out("anything-new") is None
    assert left_out("tools-list") is None
    assert all(LEFT_OUT.values())


def test_passed_checks_are_counted_and_others_named() -> None:
    seen: list[Mapping[str, Any]] = [
        {"id": "a", "status": "SUCCESS"},
        {"id": "b", "status": "SUCCESS"},
        {"id": "c", "status": "FAILURE", "errorMessage": "no  header\nat all"},
        {"id": "sep-2549-prompts-list-caching-hints", "status": "FAILURE"},
        {"id": "d", "status": "SKIPPED"},
    ]
    passed, no_header, prompts = checks_of(SCENARIO, seen)
    assert passed == Check("tools-list [2026-07-28]", "passed", count=2)
    assert no_header == Check("tools-list [2026-07-28] c", "failed", "no header at all")
    assert prompts.state == "left out"
    assert checks_of(SCENARIO, []) == []


def test_one_address_brings_its_own_key_and_the_other_wants_one() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    with served() as place, httpx.Client(trust_env=False, headers=headers) as http:
        assert http.post(place.shut, json=ping).status_code == 401
        assert http.post(place.open, json=ping).status_code != 401
