"""The description of the interface is true: whatever is asked along its lines or beside them, the answer is one of
those that it names."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis import Case
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.channels.http.conftest import Api

CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address and a key of an instance that runs beside the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    folder: Path = tmp_path_factory.mktemp("api")

    def done(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    api = done(Api.open(folder, None, CHANNELS__HTTP__A_MINUTE="10000"))
    yield str(api.http.base_url).rstrip("/"), api.key
    done(api.close())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def description(served: tuple[str, str]) -> Any:
    return httpx.get(f"{served[0]}/openapi.json", trust_env=False).json()


def operations() -> list[tuple[str, str]]:
    return [
        ("POST", "/chat"),
        ("POST", "/v1/chat/completions"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/{model}"),
        ("GET", "/image/{id}"),
        ("GET", "/health"),
        ("GET", "/health/detail"),
        ("GET", "/capabilities/query"),
        ("GET", "/capabilities/inspect/{name}"),
        ("GET", "/capabilities/status"),
        ("POST", "/capabilities/deploy"),
        ("POST", "/capabilities/run/{name}"),
        ("DELETE", "/capabilities/{name}"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
    ]


def test_every_route_is_described(description: Any) -> None:
    described = {(way.upper(), path) for path, ways in description["paths"].items() for way in ways}
    assert described == {*operations(), ("GET", "/chat")}


@pytest.mark.parametrize(("method", "path"), operations())
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_answers_are_as_described(
    served: tuple[str, str], description: Any, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    base, key = served
    operation = schemathesis.openapi.from_dict(description)[path][method]
    if mode is schemathesis.GenerationMode.NEGATIVE and method == "GET":
        return  # nothing is given that could be wrong
    cases = operation.as_strategy(generation_mode=mode)

    @hypothesis.settings(
        max_examples=25,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=cases)
    def holds(case: Case[Any]) -> None:
        headers = {"authorization": f"Bearer {key}"}
        answer = case.call(base_url=base, headers=headers)
        case.validate_response(answer, checks=CHECKS, headers=headers)

    holds()
