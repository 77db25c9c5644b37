"""`/capability approve`: what somebody says yes to, they were shown whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qingtuan.capabilities.definition import Case
from tests.fakes.capability_world import PROGRAM, adder
from tests.fakes.conversation import Conversation

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
HEADERS = json.dumps({"api.example.com": {"X-Key": "sk-secret-1"}})


def chat_of(folder: Path) -> Conversation:
    return Conversation(folder, EMBEDDING__MODEL="off", CAPABILITIES__HEADERS=HEADERS)


async def shown(chat: Conversation, **changes: Any) -> tuple[str, bool]:
    """What a version shows that waits, and whether the code is there that approves it."""
    code = "export default async () => (await fetch('https://api.example.com/')).status\n"
    deployed = await chat.app.capabilities.deploy(
        adder(**{"code": code, "cases": (), "parameters": SCHEMA, **changes}), PROGRAM
    )
    text = "\n".join(await chat.say("/capability approve adder"))
    return text, f"approve adder {deployed.code}" in text


async def test_cases_lifetime_and_keys_are_shown(tmp_path: Path) -> None:
    async with chat_of(tmp_path) as chat:
        cases = (Case({"text": "the owner's diary"}, note="sends it"),)
        hosts = ("api.example.com", "other.example.com")
        text, approvable = await shown(chat, cases=cases, hosts=hosts, kind="ephemeral", ttl=7200)
        wanted = (
            "the owner's diary",
            "sends it",
            "ephemeral",
            "7200",
            "会带上你给 api.example.com 设的密钥",
            "跑这些用例",
        )
        assert [part for part in wanted if part not in text] == []
        assert "sk-secret-1" not in text
        assert approvable


async def test_nothing_is_said_of_what_is_not(tmp_path: Path) -> None:
    async with chat_of(tmp_path) as chat:
        text, approvable = await shown(chat, hosts=("other.example.com",))
        assert not any(part in text for part in ("密钥", "用例", "种类", "秒后"))
        assert approvable


async def test_cases_that_do_not_fit_keep_it_from_being_approved_here(tmp_path: Path) -> None:
    async with chat_of(tmp_path) as chat:
        cases = tuple(Case({"text": f"{number}" * 900}) for number in range(8))
        _, approvable = await shown(chat, cases=cases, hosts=("other.example.com",))
        assert not approvable
