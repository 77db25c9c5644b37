"""The choice of models by route, and by hand."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import SettingsWrong
from qingtuan.models.chat import (
    Answer,
    ChatEvent,
    ChatMessage,
    Params,
    Recorder,
    Request,
    Usage,
    WireRequest,
)
from qingtuan.models.client import Endpoint
from qingtuan.models.profiles import GENERIC
from qingtuan.models.retry import Patience, Persistent
from qingtuan.models.routing import Route
from qingtuan.models.service import Lineup, ModelConfig, Models
from qingtuan.models.usage import Price
from tests.fakes.model_session import CallIds, Record

ENDPOINT = Endpoint("https://api.deepseek.com", "sk-secret-0123456789")


def models(config: ModelConfig) -> Models:
    return Models.of_endpoint(config, ManualClock(datetime(2026, 11, 30, tzinfo=UTC)), random.Random(1), CallIds())


FULL = ModelConfig(
    ENDPOINT,
    "deepseek-flash",
    vision_model="qwen-vl-max",
    code_model="deepseek-v4-pro",
    flash_model="small",
    thinking=True,
)


@pytest.mark.parametrize(
    ("route", "by_hand", "name", "thinking", "tools"),
    [
        ("vision", None, "qwen-vl-max", False, False),
        ("code", None, "deepseek-v4-pro", True, True),
        ("flash", None, "small", False, True),
        ("reason", None, "deepseek-flash", True, True),
        ("reason", "other", "other", True, True),
        ("flash", "other", "other", False, True),
        ("vision", "other", "qwen-vl-max", False, False),
    ],
)
def test_choose(route: Route, by_hand: str | None, name: str, thinking: bool, tools: bool) -> None:
    choice = models(FULL).choose(route, by_hand)
    assert (choice.model, choice.thinking, choice.tools) == (name, thinking, tools)


@pytest.mark.parametrize("route", ["vision", "code", "flash", "reason"])
def test_a_route_without_a_model_falls_to_the_default(route: Route) -> None:
    assert models(ModelConfig(ENDPOINT, "deepseek-v4-pro")).choose(route).model == "deepseek-v4-pro"


def test_whether_a_picture_can_be_looked_at_at_all() -> None:
    assert not models(ModelConfig(ENDPOINT, "deepseek-v4-pro")).choose("vision").sees
    assert models(FULL).choose("vision").sees


def test_settings_go_before_what_is_known() -> None:
    price = Price(Decimal(1), Decimal(2))
    config = ModelConfig(ENDPOINT, "m", profiles={"m": {"context": 5}}, prices={"m": price})
    profile = models(config).profile("m")
    assert (profile.context, profile.price) == (5, price)


def test_an_override_that_fits_nothing_is_told_at_once() -> None:
    with pytest.raises(SettingsWrong):
        models(ModelConfig(ENDPOINT, "m", profiles={"m": {"contxt": 5}}))


def test_the_key_is_not_in_the_repr() -> None:
    assert "secret" not in repr(FULL)


class Elsewhere:
    """A model of another kind, such as the embedded one."""

    def encode(self, request: Request) -> WireRequest:
        return WireRequest((), None, b"{}")

    async def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        yield Answer("我是内置小模型", (), "stop", Usage(1, 1), request.params.model)


async def test_the_fallback_may_live_elsewhere() -> None:
    config = ModelConfig(Endpoint("http://127.0.0.1:9/v1"), "m", fallback_model="embedded")
    clock = ManualClock(datetime(2026, 11, 30, tzinfo=UTC))
    model = Models.of_endpoint(config, clock, random.Random(1), CallIds(), Elsewhere())
    record = Record()
    request = Request((ChatMessage("user", "你好"),), (), Params("m"))
    events = [event async for event in model.stream(request, record)]
    assert events == [Answer("我是内置小模型", (), "stop", Usage(1, 1), "embedded")]
    assert record.models == ["m"] * 3
    assert [again for *_, again in record.failures] == [True] * 3
    await model.close()


class WithProcess(Elsewhere):
    """One that holds a process."""

    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_whatever_answers_is_let_go_of_once_at_the_end() -> None:
    clock = ManualClock(datetime(2026, 11, 30, tzinfo=UTC))
    default, fallback = WithProcess(), WithProcess()
    lineup = Lineup("embedded", lambda _: GENERIC)
    persistent = Persistent(clock, random.Random(1), Patience())
    await Models(default, lineup, persistent).close()
    assert default.closed == 1
    await Models(default, lineup, persistent, fallback).close()
    assert (default.closed, fallback.closed) == (2, 1)
    await Models(Elsewhere(), lineup, persistent).close()
