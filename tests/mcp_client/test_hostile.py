"""Servers that are dead, slow, lying or chatty cost their own tools and nothing else."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from qingtuan.errors import OutcomeUnknown, ServerDown, ToolFailed, ToolTimedOut
from qingtuan.home import Home
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import wire_name
from tests.fakes.conversation import START, HeldClock
from tests.mcp_client.bench import Bench, hostile


def read(path: Path) -> str:
    return path.read_text()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("Exits", "no database configured"),
        ("Silent", "startTimeout"),
        ("OnlyGarbage", "不停地发消息"),
    ],
)
async def test_a_server_that_cannot_be_started_says_why_and_others_go_on(bench: Bench, mode: str, words: str) -> None:
    await bench.begin({"bad": hostile(mode, startTimeout=2 if mode == "Silent" else 30), "good": hostile("Plain")})
    await bench.listed("good")
    await bench.until(lambda: words in bench.error("bad"))
    assert (bench.status("bad").state, bench.status("bad").tools) == ("down", 0)
    assert (await bench.call("good__echo")).text == "called echo"


async def test_what_is_no_message_is_passed_over_and_noted(bench: Bench) -> None:
    await bench.begin({"a": hostile("Garbage")})
    await bench.listed("a")
    assert (await bench.call("a__echo")).text == "fine"
    assert "Starting server on stdio" in read(bench.home.logs / "mcp-a.log")


async def test_an_endless_answer_ends_its_connection_alone(bench: Bench) -> None:
    await bench.begin({"a": hostile("Endless"), "b": hostile("Plain")})
    await bench.listed("a", "b")
    endless = asyncio.ensure_future(bench.run("a__echo"))
    for _ in range(5):
        assert (await bench.call("b__echo")).text == "called echo"
    outcome = await endless
    assert outcome.status == "unknown"
    await bench.until(lambda: bench.status("a").state == "down")


async def test_an_answer_that_is_too_large_is_not_read_and_the_next_one_is(bench: Bench) -> None:
    await bench.begin({"a": hostile("Huge", trusted=True)})
    await bench.listed("a")
    with pytest.raises(OutcomeUnknown, match="larger than 4 MB"):
        await bench.call("a__echo")
    assert (await bench.call("a__read")).text == "small"
    assert bench.status("a").state == "up"


async def test_a_flood_is_cut_off_and_others_go_on(bench: Bench) -> None:
    await bench.begin({"a": hostile("Floods"), "b": hostile("Plain")})
    await bench.listed("a", "b")
    flooded = asyncio.ensure_future(bench.run("a__echo"))
    for _ in range(5):
        assert (await bench.call("b__echo")).text == "called echo"
    assert (await flooded).status == "unknown"
    await bench.until(lambda: "不停地发消息" in bench.error("a"))
    assert (bench.home.logs / "mcp-a.log").stat().st_size < 200_000
    assert all(len(line) <= 120 for line in bench.reports)
    assert len(bench.reports) < 100


async def test_what_a_server_asks_for_is_refused_politely(bench: Bench) -> None:
    await bench.begin({"a": hostile("Asks")})
    await bench.listed("a")
    assert (await bench.call("a__echo")).text.splitlines() == [
        "ask-0:Sampling not supported",
        "ask-1:List roots not supported",
        "ask-2:Elicitation not supported",
        "ask-3:fine",
        "ask-4:Method not found",
    ]


async def test_a_death_in_a_call_is_unknown_and_a_read_is_tried_once_more(bench: Bench, state: Path) -> None:
    await bench.begin({"a": hostile("Dies", trusted=True, env={"STATE": str(state)})})
    await bench.listed("a")
    assert (await bench.call("a__read")).text == "alive again"
    outcome = await bench.run("a__echo", text="x")
    assert outcome.status == "unknown"
    assert "不要重做" in outcome.text
    assert read(state).split().count("echo") == 1


async def test_failed_starts_are_tried_ever_more_rarely_and_a_call_meanwhile_fails_at_once(home: Home) -> None:
    clock = HeldClock(START)
    async with Bench(home, clock) as bench:
        await bench.begin({"a": hostile("Exits")})
        waits = []
        for _ in range(4):
            await bench.until(lambda: bench.status("a").next_try is not None)
            again = bench.status("a").next_try
            assert again is not None
            waits.append((again - clock.now()).total_seconds())
            with pytest.raises(ToolFailed, match="It is tried again in"):
                await bench.servers.refresh("a")
            clock.advance(again - clock.now())
            await bench.until(lambda: bench.status("a").state == "starting" or bench.status("a").next_try is not None)
        assert waits == [1, 2, 4, 8]


async def test_deaths_that_follow_each_other_are_waited_for(bench: Bench, state: Path) -> None:
    await bench.begin({"a": hostile("DiesAlways", env={"STATE": str(state)})})
    await bench.listed("a")
    with pytest.raises(OutcomeUnknown):
        await bench.call("a__echo")
    with pytest.raises(OutcomeUnknown):
        await bench.call("a__echo")  # the first death may have been an accident
    with pytest.raises(ServerDown, match="tried again in"):
        await bench.call("a__echo")
    assert read(state).split() == ["call", "call"]
    assert bench.status("a").next_try is not None


async def test_a_server_that_changes_all_the_time_is_read_again_now_and_then(home: Home, state: Path) -> None:
    clock = HeldClock(START)
    async with Bench(home, clock) as bench:
        await bench.begin({"a": hostile("Flaps", env={"STATE": str(state)})})
        await bench.listed("a")
        times: list[float] = []

        def read_again() -> bool:
            if read(state).count("list") > len(times):
                times.append(clock.monotonic())
            clock.advance(timedelta(seconds=0.25))
            return len(times) == 4

        await bench.until(read_again)
        assert all(later - earlier >= 10 for earlier, later in pairwise(times[1:]))


async def test_a_server_that_says_it_only_reads_is_not_believed_unless_trusted(bench: Bench) -> None:
    await bench.begin({"a": hostile("Liar"), "b": hostile("Liar", trusted=True)})
    await bench.listed("a", "b")
    assert bench.tool("a__wipe_disk").risk is Risk.ACT
    assert bench.tool("b__wipe_disk").risk is Risk.READ


async def test_thousands_of_tools_on_endless_pages_are_cut_off(bench: Bench) -> None:
    await bench.begin({"a": hostile("Many"), "b": hostile("Plain")})
    await bench.listed("b")
    assert (await bench.call("b__echo")).text == "called echo"
    await bench.listed("a")
    assert len(bench.offered["a"]) == 1000
    assert "more are not used" in bench.status("a").left_out[-1].why.en


async def test_any_name_survives_and_its_texts_are_harmless(bench: Bench) -> None:
    await bench.begin({"a": hostile("Names")})
    await bench.listed("a")
    assert bench.tools("a") == ["send 邮件 📮 now!", "x" * 100, "same", "long"]
    mail = bench.tool("a__send 邮件 📮 now!")
    assert mail.description == "Sends \ufffdreversed\ufffd and \ufffdrings\ufffd."
    assert wire_name(mail.name).startswith("a__send_now_")
    assert len(bench.tool("a__long").description) == 2000
    assert (await bench.call(mail.name)).text == f"called {mail.name[3:]}"
    left_out = {one.name[:5]: one.why.en for one in bench.status("a").left_out}
    assert left_out.keys() == {"same", "", "yyyyy"}


async def test_schemas_that_cannot_be_used_cost_one_tool_each(bench: Bench) -> None:
    await bench.begin({"a": hostile("Schemas")})
    await bench.listed("a")
    assert bench.tools("a") == ["good", "anything", "tree", "empty", "odd"]
    reasons = {one.name: one.why.en for one in bench.status("a").left_out}
    assert reasons.keys() == {
        "text", "list", "missing", "broken", "misshapen", "outside", "huge", "deep", "doubling", "nan"
    }  # fmt: skip
    assert "leads outside" in reasons["outside"]
    assert "64 KB" in reasons["huge"]
    assert "double" in reasons["doubling"]


async def test_nothing_that_a_server_started_outlives_it(bench: Bench, state: Path) -> None:
    await bench.begin({"a": hostile("Stubborn", env={"STATE": str(state)})})
    await bench.listed("a")
    pids = [int(pid) for pid in read(state).split()]
    assert all(map(alive, pids))
    async with asyncio.timeout(15):
        await bench.servers.close()
    await bench.until(lambda: not any(map(alive, pids)))  # the system takes a moment to end what was killed


async def test_a_child_that_holds_the_pipes_of_a_dead_server_hides_its_death_from_nobody(
    bench: Bench, state: Path
) -> None:
    await bench.begin({"a": hostile("Parent", env={"STATE": str(state)})})
    await bench.listed("a")
    pids = [int(pid) for pid in read(state).split()]
    outcome = await bench.run("a__echo")
    assert outcome.status == "unknown"
    await bench.until(lambda: not any(map(alive, pids)))


async def test_a_server_that_takes_nothing_runs_out_of_time_and_is_started_anew(bench: Bench) -> None:
    await bench.begin({"a": hostile("Deaf", trusted=True, timeout=0.3)})
    await bench.listed("a")
    large = "x" * 200_000  # more than a pipe holds
    for _ in range(2):
        with pytest.raises(ToolTimedOut):
            await bench.call("a__read", text=large)
    assert bench.status("a").state == "down"
    async with asyncio.timeout(15):
        await bench.servers.close()


async def test_a_program_that_ends_at_the_newer_protocol_is_spoken_to_in_the_older(bench: Bench) -> None:
    await bench.begin({"a": hostile("Old")})
    await bench.listed("a")
    assert (await bench.call("a__echo")).text == "called echo"


async def test_a_server_without_tools_is_no_failure(bench: Bench) -> None:
    await bench.begin({"a": hostile("NoTools")})
    await bench.until(lambda: bench.status("a").state == "up")
    assert (bench.status("a").tools, bench.status("a").error) == (0, None)


async def test_a_call_that_is_given_up_is_told_to_the_server(bench: Bench, state: Path) -> None:
    await bench.begin({"a": hostile("Cancels", timeout=0.3, env={"STATE": str(state)})})
    await bench.listed("a")
    outcome = await bench.run("a__echo")
    assert outcome.status == "unknown"
    await bench.until(lambda: read(state).split("\n").count("cancelled") == 1)
    stopped = asyncio.ensure_future(bench.call("a__echo"))
    await bench.until(lambda: read(state).count("call echo") == 2)
    stopped.cancel()
    await asyncio.wait([stopped])
    assert stopped.cancelled()
    await bench.until(lambda: read(state).split("\n").count("cancelled") == 2)
    assert (await bench.call("a__read")).text == "read"


async def test_no_secret_is_repeated(bench: Bench) -> None:
    key = "sk-live-9f8e7d6c5b4a39281706"
    await bench.begin({"a": hostile("Leaks", env={"API_KEY": "${env:KEY}"})}, {"KEY": key})
    await bench.listed("a")
    assert key not in (await bench.call("a__read")).text
    with pytest.raises(ToolFailed) as failed:
        await bench.call("a__echo")
    log = read(bench.home.logs / "mcp-a.log")
    events = str([dict(event.payload) for event in bench.log.replay()])
    for text in (str(failed.value), log, events, repr(bench.servers.status()), repr(vars(bench.servers))):
        assert key not in text
    assert "using key" in log
