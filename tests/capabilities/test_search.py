"""Finding tools: by whom, in which words, after what."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.capabilities import many_tools
from bench.generated_capabilities import generated_tools, names_of
from qingtuan.capabilities.glossary import english
from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.clock import ManualClock
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.embedding import UseEmbedder, use_one_thread
from qingtuan.indexes.indexes import Indexes
from qingtuan.tools.tool import EVERYONE, MEMBERS, OWNER_ONLY, Tool, ToolContext, ToolResult
from tests.fakes.embedder import CountingEmbedder

OpenSearch = Callable[[Embedder | None], CapabilitySearch]


class Loaded(UseEmbedder):
    """Stays loaded from one test to the next."""

    def release(self) -> None:
        """Nothing: loading takes a second."""


@pytest.fixture(scope="module")
def use() -> UseEmbedder:
    use_one_thread()
    return Loaded()


@pytest.fixture
def open_search(tmp_path: Path, clock: ManualClock) -> Iterator[OpenSearch]:
    """Open the search of one data folder, as often as a test likes."""
    opened: list[Indexes] = []

    def open_one(embedder: Embedder | None) -> CapabilitySearch:
        opened.append(Indexes(tmp_path / "index", embedder, clock))
        return CapabilitySearch(opened[-1].open("capabilities"))

    yield open_one
    for indexes in opened:
        indexes.close()


@pytest.fixture
def search(open_search: OpenSearch) -> CapabilitySearch:
    """A search by words alone."""
    return open_search(None)


async def nothing(_: ToolContext, __: dict[str, Any]) -> ToolResult:
    return ToolResult("")


def a_tool(name: str, description: str, **values: Any) -> Tool:
    parameters = {"type": "object", "properties": values.pop("properties", {})}
    usual: dict[str, Any] = {"risk": Risk.READ, "run": nothing, "roles": EVERYONE}
    return Tool(name=name, description=description, parameters=parameters, **(usual | values))


def names(search: CapabilitySearch, query: str, role: Role = Role.OWNER, limit: int = 8) -> list[str]:
    return [found.name for found in search.find(query, role, limit)]


SEATS = a_tool("library__list_seats", "List free seats of the library.")
FLIGHTS = a_tool("air__search_flights", "Search for flights between two airports.")
REFUND = a_tool("pay__create_refund", "Refund a payment.", roles=OWNER_ONLY)
GRANTED = a_tool("mail__send_email", "Send an email.", roles=MEMBERS)


def test_the_roles_are_filtered_before_the_limit(search: CapabilitySearch) -> None:
    hidden = [a_tool(f"pay__refund_{n}", f"Refund refund refund {n}", roles=OWNER_ONLY) for n in range(50)]
    search.put("pay", [*hidden, a_tool("pay__list_payments", "List payments, and what a refund was for.")])
    assert names(search, "refund", Role.GUEST, limit=1) == ["pay__list_payments"]
    assert names(search, "refund", Role.MEMBER) == ["pay__list_payments"]
    assert len(names(search, "refund", limit=100)) == 51


def test_hidden_tools_have_no_part_in_the_order(open_search: OpenSearch) -> None:
    search = open_search(CountingEmbedder())
    search.put("shown", [SEATS, FLIGHTS])
    before = search.find("free seats", Role.GUEST)
    search.put("hidden", [a_tool(f"hidden_{n}", f"free seats {n}", roles=OWNER_ONLY) for n in range(40)])
    assert search.find("free seats", Role.GUEST) == before


@pytest.mark.parametrize(
    ("role", "found"),
    [
        (Role.OWNER, {SEATS.name, REFUND.name, GRANTED.name}),
        (Role.MEMBER, {SEATS.name, GRANTED.name}),
        (Role.GUEST, {SEATS.name}),
    ],
)
def test_each_role_finds_what_it_may_use(search: CapabilitySearch, role: Role, found: set[str]) -> None:
    search.put("all", [SEATS, REFUND, GRANTED])
    assert set(names(search, "library seats, refund, email", role)) == found


def test_a_role_that_was_taken_away_finds_no_more(search: CapabilitySearch) -> None:
    search.put("air", [FLIGHTS])
    assert names(search, "flights", Role.GUEST) == [FLIGHTS.name]
    search.put("air", [a_tool(FLIGHTS.name, FLIGHTS.description, roles=MEMBERS)])
    assert names(search, "flights", Role.GUEST) == []
    assert names(search, "flights", Role.MEMBER) == [FLIGHTS.name]


def test_a_source_is_replaced_and_removed_as_a_whole(search: CapabilitySearch) -> None:
    search.put("air", [FLIGHTS])
    search.put("library", [SEATS])
    search.put("air", [a_tool("air__flight_status", "Status of flights.")])
    assert names(search, "flights") == ["air__flight_status"]
    search.remove("air")
    assert names(search, "flights") == []
    search.put("library", [])
    assert names(search, "seats") == []


def test_of_two_sources_with_one_name_one_hit_is_left(search: CapabilitySearch) -> None:
    search.put("one", [SEATS])
    search.put("two", [SEATS, FLIGHTS])
    assert names(search, "free seats of the library") == [SEATS.name]
    search.remove("one")
    assert names(search, "free seats of the library") == [SEATS.name]


def test_what_is_the_same_is_not_indexed_again(open_search: OpenSearch) -> None:
    tools = generated_tools(300)
    model = CountingEmbedder()
    search = open_search(model)
    search.put("server", tools)
    assert len(model.passages) == len(set(model.passages)) == 300
    search.put("server", tools)
    assert len(model.passages) == 300
    changed = a_tool(tools[0].name, "Quite another description.")
    search.put("server", [changed, *tools[1:]])
    assert model.passages[300:] == [text for text in model.passages if "Quite another" in text]


def test_an_index_that_is_there_already_is_taken_over(open_search: OpenSearch) -> None:
    open_search(CountingEmbedder()).put("air", [FLIGHTS])
    model = CountingEmbedder()
    search = open_search(model)
    search.put("air", [FLIGHTS])
    assert model.passages == []
    assert names(search, "flights") == [FLIGHTS.name]


def test_what_an_earlier_run_knew_is_not_found_until_it_is_put(open_search: OpenSearch) -> None:
    before = open_search(None)
    before.put("gone", [a_tool(f"gone__flights_{n}", "flights " * 3) for n in range(100)])
    before.put("air", [FLIGHTS])
    search = open_search(None)
    assert names(search, "flights") == []
    search.put("air", [FLIGHTS])
    assert names(search, "flights", limit=2) == [FLIGHTS.name]
    search.retain({"air"})
    search.put("gone", [SEATS])
    assert names(search, "flights", limit=2) == [FLIGHTS.name]


def test_a_deleted_index_makes_itself_again(open_search: OpenSearch, tmp_path: Path) -> None:
    model = CountingEmbedder()
    search = open_search(model)
    search.put("air", [FLIGHTS, SEATS])
    before = search.find("flights", Role.OWNER)
    shutil.rmtree(tmp_path / "index")
    assert search.find("flights", Role.OWNER) == before
    assert len(model.passages) == 4


def test_a_model_that_comes_back_embeds_what_it_missed(open_search: OpenSearch, clock: ManualClock) -> None:
    model = CountingEmbedder()
    model.down = True
    search = open_search(model)
    search.put("air", [FLIGHTS])
    assert names(search, "flights") == [FLIGHTS.name]
    model.down = False
    clock.advance(timedelta(minutes=5))
    search.put("air", [FLIGHTS])
    assert len(model.passages) == 1


def test_a_name_as_it_is_written_comes_first(open_search: OpenSearch) -> None:
    search = open_search(CountingEmbedder())
    others = [a_tool(f"s{n}__listOpenIssues", "List open issues of a repository, all of them.") for n in range(20)]
    search.put("all", [a_tool("git__issue_triage", "Sort."), *others])
    assert names(search, "issue_triage")[0] == "git__issue_triage"
    assert names(search, "use git__issue_triage on the open issues of the repository")[0] == "git__issue_triage"


def test_a_name_of_one_common_word_is_no_key(search: CapabilitySearch) -> None:
    search.put("greedy", [a_tool("greedy__the", "Nothing."), a_tool("the", "Nothing.")])
    search.put("air", [FLIGHTS])
    assert names(search, "search the flights")[0] == FLIGHTS.name


def test_core_tools_are_found_too(search: CapabilitySearch) -> None:
    search.put("own", [a_tool("remember", "Keep a fact in memory.", core=True, examples=("记住我不吃香菜",))])
    assert names(search, "keep a fact") == ["remember"]
    assert names(search, "不吃香菜") == ["remember"]


def test_words_alone_cross_from_chinese_to_english(search: CapabilitySearch) -> None:
    search.put("all", [SEATS, FLIGHTS, REFUND, GRANTED])
    assert names(search, "帮我查一下明天的航班")[0] == FLIGHTS.name
    assert names(search, "给老板发个邮件")[0] == GRANTED.name
    assert english("明天的航班和酒店") == ["flight", "hotel"]
    assert english("tomorrow's flights") == []


def test_meaning_crosses_between_languages(open_search: OpenSearch, use: UseEmbedder) -> None:
    search = open_search(use)
    search.put("many", many_tools(1000))
    assert "skyhop__search_flights" in names(search, "查航班机票", limit=5)
    assert "campus_power__query_balance" in names(search, "is there electricity left in my dorm?", limit=5)
    assert "hospital__book_appointment" in names(search, "make an appointment at the hospital", limit=5)
    assert "thermostat__set_temperature" in names(search, "set the air conditioner to 26 degrees", limit=5)
    rooms = names_of("meeting room:list search get")
    assert rooms & set(names(search, "find a meeting room", limit=5))


@pytest.mark.parametrize(
    "description",
    [
        "",
        " \n\t",
        "🛫" * 3000,
        "\u202eflights\u202c\u2066 evil",
        "flights " * 1_250_000,
        "\ud800 flights",
        "x" * 10_000_000,
    ],
    ids=["empty", "blank", "emoji", "bidi", "10 MB of words", "surrogate", "10 MB of one word"],
)
def test_a_hostile_description_costs_only_itself(open_search: OpenSearch, use: UseEmbedder, description: str) -> None:
    search = open_search(use)
    search.put("bad", [a_tool("bad__\u202ename", description, properties={"a": {"description": description}})])
    search.put("air", [FLIGHTS, SEATS])
    assert names(search, "search for flights between airports")[0] == FLIGHTS.name


def test_a_schema_of_any_shape_is_borne(search: CapabilitySearch) -> None:
    shapes: list[Any] = [None, 5, [], {"a": True, "b": {"description": 7}, "c": {}}, {"p" * 9000: {"description": " "}}]
    many = {f"parameter_{n}": {"description": "flights"} for n in range(100_000)}
    search.put("odd", [a_tool(f"odd_{n}", "Odd.", properties=shape) for n, shape in enumerate([*shapes, many])])
    assert len(names(search, "odd", limit=20)) == 6


@pytest.mark.parametrize("query", ["", "   ", "？！", "\u202e", "a" * 1_000_000, "\ud800"])
def test_any_query_is_answered(open_search: OpenSearch, use: UseEmbedder, query: str) -> None:
    search = open_search(use)
    search.put("air", [FLIGHTS])
    assert names(search, query) in ([], [FLIGHTS.name])


def test_no_limit_no_hits(search: CapabilitySearch) -> None:
    search.put("air", [FLIGHTS])
    assert names(search, "flights", limit=0) == []
    assert names(search, "flights", limit=-3) == []


def test_generated_tools_are_many_and_always_the_same() -> None:
    tools = many_tools(10_000)
    assert len({tool.name for tool in tools}) == 10_000
    assert [tool.name for tool in many_tools(200)][-100:] == [tool.name for tool in generated_tools(100)]
    with pytest.raises(ValueError, match="there are only"):
        generated_tools(100_000)
