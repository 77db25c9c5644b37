"""What comes along with the product passes what everybody's tools have to pass, in the real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from qingtuan.capabilities.bounds import faults
from qingtuan.capabilities.definition import Definition
from qingtuan.capabilities.sandbox.base import Job, Limits, Ran, Sandbox
from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.starters import starters
from qingtuan.capabilities.trying import case_faults, compile_faults
from qingtuan.net.fetcher import SafeFetcher
from tests.fakes.json_server import json_server

NAMES = ["currency_convert", "sha256_hash", "text_encoding", "timestamp_convert", "unit_convert"]


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    sandbox = Deno()
    yield sandbox
    await sandbox.close()


def starter(name: str) -> Definition:
    return next(one for one in starters() if one.name == name)


def test_which_there_are() -> None:
    assert [one.name for one in starters()] == NAMES
    assert [one.name for one in starters() if one.hosts] == ["currency_convert"]


@pytest.mark.parametrize("name", NAMES)
async def test_each_is_as_one_has_to_be(name: str, sandbox: Sandbox) -> None:
    made = starter(name)
    assert [fault.told.en for fault in faults(made)] == []
    assert [fault.told.en for fault in await compile_faults(sandbox, made.code)] == []
    wrong, _ = await case_faults(sandbox, made, Limits(), reaching=False)
    assert [fault.told.en for fault in wrong] == []
    assert made.cases or made.hosts
    assert any("\u4e00" <= letter <= "\u9fff" for text in made.examples for letter in text)


async def ran(sandbox: Sandbox, name: str, arguments: Mapping[str, Any]) -> Ran:
    return await sandbox.run(Job(starter(name).code, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("unit_convert", {"value": 1, "from": "kg", "to": "m"}, "measures mass"),
        ("unit_convert", {"value": 1, "from": "parsnip", "to": "m"}, 'no unit "parsnip"'),
        ("unit_convert", {"value": 1, "from": "constructor", "to": "m"}, 'no unit "constructor"'),
        ("unit_convert", {"value": 1e308, "from": "ly", "to": "nm"}, "more than a number can hold"),
        ("text_encoding", {"text": "a", "format": "base64", "direction": "decode"}, "not Base64"),
        ("text_encoding", {"text": "/w==", "format": "base64", "direction": "decode"}, "no text in UTF-8"),
        ("text_encoding", {"text": "abc", "format": "hex", "direction": "decode"}, "not hexadecimal"),
        ("text_encoding", {"text": "%zz", "format": "url", "direction": "decode"}, "not URL encoding"),
        ("timestamp_convert", {"time": "yesterday", "zone": "UTC"}, "no time that can be read"),
        ("timestamp_convert", {"time": "2026-02-30", "zone": "UTC"}, "no time that can be read"),
        ("timestamp_convert", {"time": 1, "zone": "Mars/Base"}, 'no time zone "Mars/Base"'),
        ("timestamp_convert", {"time": 1e300, "zone": "UTC"}, "further away"),
    ],
)
async def test_what_cannot_be_done_is_said(sandbox: Sandbox, name: str, arguments: dict[str, Any], said: str) -> None:
    fault = (await ran(sandbox, name, arguments)).fault
    assert fault is not None
    assert fault.kind == "exception"
    assert said in fault.message


async def test_money_is_converted_at_the_rate_that_the_service_names(sandbox: Sandbox) -> None:
    asked: list[str] = []

    def answer(path: str, _headers: Mapping[str, str], _body: Any) -> Any:
        asked.append(path)
        return {"date": "2026-11-27", "base": "USD", "quote": "CNY", "rate": 7.25}

    with json_server(answer) as address:
        made = at(address, sandbox)
        ran = await sandbox.run(Job(made.code, {"amount": 100, "from": "usd", "to": "CNY"}, made.hosts))
        assert ran.value == {
            "amount": 100, "from": "USD", "to": "CNY", "rate": 7.25, "result": 725, "date": "2026-11-27",
            "source": "frankfurter.dev",
        }  # fmt: skip
        await sandbox.run(Job(made.code, {"from": "USD", "to": "CNY", "date": "2020-01-02"}, made.hosts))
        assert asked == ["/v2/rate/USD/CNY", "/v2/rate/USD/CNY?date=2020-01-02"]


@pytest.mark.parametrize("given", [{"rate": "7"}, {"rate": -1}, {}, b"<html>"])
async def test_an_answer_that_is_no_rate_becomes_no_money(sandbox: Sandbox, given: Any) -> None:
    with json_server(lambda *_: given) as address:
        made = at(address, sandbox)
        ran = await sandbox.run(Job(made.code, {"amount": 1, "from": "USD", "to": "CNY"}, made.hosts))
    assert ran.fault is not None
    assert ran.fault.kind == "exception"


def at(address: str, sandbox: Sandbox) -> Definition:
    """The starter for money, with its service on this machine."""
    assert isinstance(sandbox, Deno)
    place = f"rates.example.com:{urlsplit(address).port}"

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    sandbox.fetcher = SafeFetcher(
        resolve=resolve, trusted=frozenset({("rates.example.com", urlsplit(address).port or 0)})
    )
    made = starter("currency_convert")
    assert "https://api.${SOURCE}/" in made.code
    return replace(made, code=made.code.replace("https://api.${SOURCE}/", f"http://{place}/"), hosts=(place,))
