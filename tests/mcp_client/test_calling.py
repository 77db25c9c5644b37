"""Calls of a friendly server, over stdio and over HTTP: what they give, show and leave behind."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.errors import ToolFailed
from qingtuan.identity.trust import Risk
from qingtuan.storage.files import content_hash
from tests.fakes.mcp_servers.seats import PNG
from tests.mcp_client.bench import SERVERS, Bench, Entry, hostile, seats


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture(params=["stdio", "http"])
async def entry(request: pytest.FixtureRequest, notes: Path) -> AsyncIterator[Entry]:
    """The friendly server behind either transport."""
    if request.param == "stdio":
        yield seats(env={"NOTES": str(notes)}, trusted=True)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = os.environ | {"NOTES": str(notes)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, SERVERS / "seats.py", str(port), env=environ, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        yield {"url": f"http://127.0.0.1:{port}/mcp", "trusted": True}
    finally:
        process.kill()  # asked to end in peace, it would wait for whoever is connected
        await process.wait()


async def test_calls_over_either_transport(bench: Bench, entry: Entry, notes: Path) -> None:
    await bench.begin({"seats": entry})
    await bench.listed("seats")
    assert bench.status("seats").server == "seats 1.2"
    found = await bench.run("seats__find_seats", date="2026-12-01")
    assert found.status == "ok"
    assert found.result is not None
    assert found.result.data == {"seats": [{"seat_id": "A12", "quiet": False, "date": "2026-12-01"}]}
    assert found.origin.foreign
    assert (
        await bench.call("seats__reserve_seat", seat_id="A12", date="2026-12-01")
    ).text == "booked A12 on 2026-12-01"
    failed = await bench.run("seats__fail", why="the library is closed")
    assert (failed.status, "the library is closed" in failed.text) == ("failed", True)

    reserve = bench.tool("seats__reserve_seat")
    assert (bench.tool("seats__find_seats").risk, reserve.risk) == (Risk.READ, Risk.ACT)
    assert reserve.sentence is not None
    assert reserve.sentence.zh == "要预约：{date:day}，座位 {seat_id}。"
    await bench.servers.close()
    assert notes.read_text().splitlines().count("reserve A12 2026-12-01") == 1  # noqa: ASYNC240


async def test_progress_is_shown_and_calls_run_side_by_side(bench: Bench, entry: Entry) -> None:
    await bench.begin({"seats": entry})
    await bench.listed("seats")
    slow = asyncio.ensure_future(bench.call("seats__slow", seconds=1.2))
    await bench.until(lambda: "step 1" in bench.reports)
    assert (await bench.call("seats__find_seats", date="d")).data is not None
    assert not slow.done()
    assert (await slow).text == "slow is done"


async def test_a_stopped_call_stops_in_the_server(bench: Bench, entry: Entry, notes: Path) -> None:
    await bench.begin({"seats": entry})
    await bench.listed("seats")
    slow = asyncio.ensure_future(bench.call("seats__slow", seconds=600))
    await bench.until(lambda: "slow began" in notes.read_text())
    slow.cancel()
    await asyncio.wait([slow])
    await bench.until(lambda: "slow cancelled" in notes.read_text())
    assert (await bench.call("seats__find_seats", date="d")).data is not None


async def test_pictures_files_notes_and_links(bench: Bench, entry: Entry) -> None:
    await bench.begin({"seats": entry})
    await bench.listed("seats")
    result = await bench.call("seats__look")
    assert result.text.splitlines() == [
        "a picture:",
        "[图片 image/png，70 B]",
        "a note",
        "[文件 application/pdf，8 B]",
        "[rules house rules] https://library.example/rules",
    ]
    assert [image.data for image in result.images] == [PNG]
    kept = {attached.name: attached for attached in result.attachments}
    assert kept.keys() == {"image-1.png", "plan_20a.pdf"}
    picture = bench.home.media / content_hash(PNG)
    assert picture.read_bytes() == PNG
    assert kept["image-1.png"].hash == picture.name


async def test_a_server_over_http_that_comes_back_is_found_again(bench: Bench, entry: Entry) -> None:
    await bench.begin({"seats": entry})
    await bench.listed("seats")
    await bench.servers.restart("seats")
    assert bench.status("seats").state == "up"
    assert (await bench.call("seats__find_seats", date="d")).data is not None


async def test_a_server_gets_few_of_our_variables(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-servers")
    monkeypatch.setenv("EVIL", "() { :; }")
    await bench.begin({"seats": seats(env={"MODE": "demo", "COUNT": 3})})
    await bench.listed("seats")
    lines = (await bench.call("seats__variables")).text.splitlines()
    assert {"MODE=demo", "COUNT=3", f"PATH={os.environ['PATH']}"} <= set(lines)
    assert not any("not-for-servers" in line or line.startswith("EVIL") for line in lines)


async def test_results_that_are_not_what_they_should_be(bench: Bench) -> None:
    await bench.begin({"a": hostile("Results")})
    await bench.listed("a")
    assert (await bench.call("a__fits")).data == {"n": 1}
    misfit = await bench.call("a__misfits")
    assert (misfit.data, misfit.text.startswith("one\n[它给的数据")) == (None, True)
    only = await bench.call("a__only_data")
    assert (only.data, only.text) == ({"n": 2}, '{"n":2}')
    assert (await bench.call("a__no_data")).text == "no data"
    assert (await bench.call("a__nothing")).text == ""
    assert (await bench.run("a__nan")).status == "ok"
    assert (await bench.run("a__malformed")).status == "unknown"
    for name, words in (("refuses", "no \ufffdseats\ufffd left"), ("fails", "the library is closed")):
        with pytest.raises(ToolFailed, match=words):
            await bench.call(f"a__{name}")
    files = await bench.call("a__files")
    assert [(one.kind, one.media_type) for one in files.attachments] == [
        ("file", "text/plain"),
        ("file", "text/plain"),
    ]  # by what they are, whatever the server calls them
    assert files.images == ()
    assert "[有一个文件是坏的，没有要]" in files.text


async def test_a_server_is_started_by_the_first_call_and_only_once(bench: Bench, notes: Path) -> None:
    entries = {"seats": seats(env={"NOTES": str(notes)})}
    await bench.begin(entries)
    await bench.listed("seats")
    await bench.begin(entries)
    assert bench.status("seats").state == "idle"
    await asyncio.gather(*(bench.call("seats__find_seats", date=str(day)) for day in range(20)))
    assert notes.read_text().splitlines().count("started") == 2  # noqa: ASYNC240


async def test_closing_while_a_server_starts(bench: Bench) -> None:
    await bench.begin({"a": hostile("Silent", startTimeout=600), "b": seats()})
    await bench.until(lambda: bench.status("a").state == "starting")
    waiting = asyncio.ensure_future(bench.servers.refresh("a"))
    await asyncio.sleep(0)
    async with asyncio.timeout(15):
        await bench.servers.close()
    with pytest.raises(ToolFailed):
        await waiting
