"""The row about searching the web: what is set is tried once, and what is missing is said."""

from __future__ import annotations

from tests.cli.conftest import CommandLine
from tests.fakes.search_services import search_service


def found(line: CommandLine) -> dict[str, str]:
    rows = line("doctor", "--json").json
    return next(row for row in rows if row["name"] == "search")


def test_without_one_it_says_how_to_set_it(qingtuan: CommandLine) -> None:
    row = found(qingtuan)
    assert row["state"] == "ok"
    assert "searxng" in row["mend"]
    assert "QINGTUAN_WEB__KEY" in row["mend"]
    half = found(qingtuan.with_(QINGTUAN_WEB__SEARCH="tavily"))
    assert half["state"] == "wrong"
    assert "密钥" in half["found"]


def test_what_is_set_is_tried(qingtuan: CommandLine) -> None:
    with search_service() as service:
        service.found("天气", "https://weather.example.com/")
        own = qingtuan.with_(QINGTUAN_WEB__SEARCH="searxng", QINGTUAN_WEB__URL=service.url)
        assert found(own) == {"name": "search", "state": "ok", "found": "searxng"}
        service.json_allowed = False
        assert "settings.yml" in found(own)["found"]
