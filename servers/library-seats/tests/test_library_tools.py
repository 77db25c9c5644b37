"""The tools as a model meets them: what they promise, what they give, and what they say when they cannot."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from library_world import DAY, PERIOD, SEAT, WISH, Library, Reader, library, reading, texts_of
from mcp import Client

from qingtuan_library_seats.demo_site.library import Library as Rules
from qingtuan_library_seats.demo_site.library import Room
from qingtuan_library_seats.demo_site.running import Options, running
from qingtuan_library_seats.desk import Desk
from qingtuan_library_seats.driver import Driver
from qingtuan_library_seats.drivers import GROUP, make_driver
from qingtuan_library_seats.errors import SettingsWrong
from qingtuan_library_seats.server import build_server
from qingtuan_library_seats.settings import Settings, read_settings

pytestmark = pytest.mark.asyncio(loop_scope="module")

READING = {"list_areas", "find_seats", "list_reservations"}
CHANGING = {"reserve_seat", "cancel_reservation", "check_in"}


async def test_what_the_tools_promise(reader: Reader) -> None:
    tools = {tool.name: tool for tool in (await reader.client.list_tools()).tools}
    assert set(tools) == READING | CHANGING
    for name, tool in tools.items():
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name in READING)
        assert tool.annotations.open_world_hint is False
        assert tool.description
        assert re.search(r"[一-鿿].*[a-z]{4}", tool.description), "Chinese, with words to search by"
        assert tool.output_schema is not None
    assert tools["cancel_reservation"].annotations is not None
    assert tools["cancel_reservation"].annotations.destructive_hint is True
    assert list(tools["find_seats"].input_schema["properties"]) == ["date", "start", "end", "area", "quiet", "window"]
    assert tools["find_seats"].input_schema["required"] == ["date", "start", "end"]


async def test_what_people_are_asked_names_every_argument(reader: Reader) -> None:
    for tool in (await reader.client.list_tools()).tools:
        sentence = (tool.meta or {}).get("qingtuan/sentence")
        assert (sentence is not None) is (tool.name in CHANGING)
        for text in (sentence or {}).values():
            assert set(re.findall(r"\{(\w+)(?::day)?\}", text)) == set(tool.input_schema["properties"])


async def test_areas_and_hours(reader: Reader) -> None:
    found = await reader.values("list_areas")
    assert (found["opens"], found["closes"]) == ("08:00", "22:00")
    assert found["areas"][0] == {"area": "二楼安静区", "floor": 2, "quiet": True, "seats": 16, "window_seats": 4}


async def test_seats_are_found_free_ones_first(reader: Reader, open_library: Library) -> None:
    await open_library.take("二楼安静区-A04")
    found = await reader.values("find_seats", **PERIOD, area="二楼安静区", quiet=True, window=True)
    assert [seat["seat_id"] for seat in found["seats"]] == [
        "二楼安静区-A08", "二楼安静区-A12", "二楼安静区-A16", "二楼安静区-A04"
    ]  # fmt: skip
    assert found["seats"][-1] == {
        "seat_id": "二楼安静区-A04", "area": "二楼安静区", "floor": 2, "quiet": True, "window": True, "free": False
    }  # fmt: skip
    everywhere = await reader.values("find_seats", **PERIOD)
    assert len(everywhere["seats"]) == 64
    loud = await reader.values("find_seats", **PERIOD, quiet=False, window=False)
    assert {seat["area"] for seat in loud["seats"]} == {"二楼讨论区", "三楼开放区"}
    assert (await reader.values("find_seats", **PERIOD, area="四楼研习区", window=True))["seats"] == []


async def test_a_seat_is_booked_listed_and_given_back(reader: Reader, open_library: Library) -> None:
    made = await reader.values("reserve_seat", **WISH)
    assert made == {"reservation_id": "R0001", **WISH}
    assert reader.steps == ["打开预约确认页", "提交预约", "核对预约"]
    assert await reader.values("list_reservations") == {"reservations": [made]}
    assert await reader.values("cancel_reservation", id="R0001") == {**made, "cancelled": True}
    assert await reader.values("list_reservations") == {"reservations": []}
    assert await open_library.books() == []


async def test_what_was_done_is_said_in_a_sentence_before_the_values(reader: Reader, open_library: Library) -> None:
    done = [await reader.call("reserve_seat", **WISH)]
    await open_library.set_clock(f"{DAY}T09:00")
    done.append(await reader.call("check_in", id="R0001"))
    done.append(await reader.call("reserve_seat", **{**WISH, "start": "18:00", "end": "19:00"}))
    done.append(await reader.call("cancel_reservation", id="R0002"))
    seat = f"座位 {WISH['seat_id']}，预约编号"
    assert [texts_of(result)[0] for result in done] == [
        f"约好了：{DAY} 09:00–12:00，{seat} R0001。",
        f"签到了：{DAY} 09:00–12:00，{seat} R0001。",
        f"约好了：{DAY} 18:00–19:00，{seat} R0002。",
        f"取消了：{DAY} 18:00–19:00，{seat} R0002。",
    ]


async def test_checking_in(reader: Reader, open_library: Library) -> None:
    made = await reader.values("reserve_seat", **WISH)
    early = await reader.refusal("check_in", id="R0001")
    assert "08:45–09:30 可以签到" in early
    await open_library.set_clock(f"{DAY}T09:00")
    assert await reader.values("check_in", id="R0001") == {**made, "checked_in": True}
    assert "已经签到" in await reader.refusal("check_in", id="R0001")
    assert "已经签到" in await reader.refusal("cancel_reservation", id="R0001")
    assert [row["state"] for row in await open_library.books()] == ["checked-in"]


async def test_too_late_to_check_in(reader: Reader, open_library: Library) -> None:
    await reader.values("reserve_seat", **WISH)
    await open_library.set_clock(f"{DAY}T09:31")
    assert "已经过了" in await reader.refusal("check_in", id="R0001")


async def test_texts_carry_the_same_as_the_values_and_fit_the_schema(reader: Reader) -> None:
    schemas = {tool.name: tool.output_schema for tool in (await reader.client.list_tools()).tools}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_areas", {}), ("find_seats", PERIOD), ("reserve_seat", WISH), ("list_reservations", {}),
        ("cancel_reservation", {"id": "R0001"}),
    ]  # fmt: skip
    for name, arguments in calls:
        result = await reader.call(name, **arguments)
        values = result.structured_content
        Draft202012Validator(schemas[name] or False).validate(values)
        *_, text = texts_of(result)
        assert "\n" not in text
        assert json.loads(text) == values


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"end": "23:00"}, "图书馆每天 08:00–22:00 开放"),
        ({"date": "2026-11-29"}, "已经过去了"),
        ({"date": "2026-12-31"}, "最多提前 7 天预约，现在最晚能约到 2026-12-07"),
        ({"start": "09:10"}, "时间以 30 分钟为单位"),
        ({"seat_id": "二楼安静区-A99"}, "相近的有：二楼安静区-A09"),
        ({"seat_id": "屋顶"}, "没有“屋顶”这个座位"),
        ({"date": "明天"}, "date 要写成 YYYY-MM-DD"),
        ({"start": "25:00"}, "没有 25:00 这个时刻"),
        ({"seat_id": " "}, "seat_id 要填一个名字"),
    ],
)
async def test_a_booking_that_cannot_be_says_why(
    reader: Reader, open_library: Library, change: dict[str, str], words: str
) -> None:
    sentence = await reader.refusal("reserve_seat", **{**WISH, **change})
    assert words in sentence
    assert sentence.endswith("。")
    assert await open_library.books() == []


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("find_seats", {**PERIOD, "area": "二楼"}, "没有“二楼”这个区域，有这些区域：二楼安静区、"),
        ("find_seats", {**PERIOD, "area": "五楼"}, "没有“五楼”这个区域，有这些区域：二楼安静区、"),
        ("find_seats", {**PERIOD, "date": "2020-01-01"}, "已经过去了"),
        ("find_seats", {"date": DAY}, "缺少参数：start、end"),
        ("find_seats", {**PERIOD, "quiet": "perhaps"}, "参数的类型不对：quiet"),
        ("find_seats", {**PERIOD, "floor": 2}, "find_seats 没有这样的参数：floor；它用这些：date、start"),
        ("list_areas", {"a\u202eb": 1}, "没有这样的参数：a b；它不用参数"),
        ("cancel_reservation", {"id": "R9"}, "没有编号为“R9”的预约，现在没有预约"),
        ("check_in", {"id": "R9"}, "没有编号为“R9”的预约"),
        ("dance", {}, "没有“dance”这个工具"),
    ],
)
async def test_every_error_is_one_clear_sentence(
    reader: Reader, tool: str, arguments: dict[str, Any], words: str
) -> None:
    assert words in await reader.refusal(tool, **arguments)


async def test_a_seat_that_was_lost_meanwhile_names_the_next(reader: Reader, open_library: Library) -> None:
    await open_library.take("二楼安静区-A16")
    await open_library.take(page="confirm")
    sentence = await reader.refusal("reserve_seat", **WISH)
    assert f"{SEAT} 在 2026-12-01 09:00–12:00 已经被别人约走了" in sentence
    assert "二楼安静区-A08、二楼安静区-A04、二楼安静区-A11" in sentence
    assert await open_library.books() == []


async def test_a_part_of_a_name_that_one_area_has_is_enough(reader: Reader) -> None:
    seats = (await reader.values("find_seats", **PERIOD, area="安静"))["seats"]
    assert {seat["area"] for seat in seats} == {"二楼安静区"}


async def test_a_full_area_is_said_to_be_full(reader: Reader, open_library: Library) -> None:
    for number in range(1, 9):
        await open_library.take(f"二楼讨论区-B{number:02d}")
    sentence = await reader.refusal("reserve_seat", **{**WISH, "seat_id": "二楼讨论区-B03"})
    assert "同一区域这段时间没有空座了" in sentence


async def test_one_reader_is_in_one_place(reader: Reader, open_library: Library) -> None:
    await reader.values("reserve_seat", **WISH)
    sentence = await reader.refusal("reserve_seat", **{**WISH, "seat_id": "三楼靠窗区-C01", "start": "11:30"})
    assert f"已经约了 {SEAT}（编号 R0001" in sentence
    assert "cancel_reservation" in sentence
    assert f"已经约了 {SEAT}" in await reader.refusal("reserve_seat", **WISH)
    assert len(await open_library.books()) == 1


async def test_a_wrong_password_names_the_variables_and_is_not_tried_again(open_library: Library) -> None:
    secret = "wrong-Pa55word"
    async with reading(replace(open_library.settings, password=secret)) as reader:
        sentence = await reader.refusal("list_areas")
        assert "LIBRARY_USER 和 LIBRARY_PASSWORD" in sentence
        assert secret not in sentence
        # From here on the site would fail, were it asked at all.
        await open_library.arm("error-before", times=100)
        assert await reader.refusal("reserve_seat", **WISH) == sentence


async def test_a_captcha_goes_to_the_person(reader: Reader, open_library: Library) -> None:
    await open_library.arm("ask-captcha")
    sentence = await reader.refusal("reserve_seat", **WISH)
    assert "验证码" in sentence
    assert open_library.address in sentence
    assert await open_library.books() == []


async def test_a_site_that_is_down_says_so_and_comes_back(tmp_path: Path) -> None:
    options = Options(data=tmp_path / "library.sqlite")
    async with running(options) as address:
        port = int(address.rpartition(":")[2])
        async with reading(Settings(address, "demo", "demo")) as reader:
            await reader.values("list_areas")
    async with reading(Settings(address, "demo", "demo")) as reader:
        assert "图书馆网站现在用不了（连不上），什么都没有改动" in await reader.refusal("list_reservations")
        async with running(replace(options, port=port)):
            assert await reader.values("list_reservations") == {"reservations": []}


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "还没有设置 LIBRARY_URL、LIBRARY_USER、LIBRARY_PASSWORD"),
        ({"LIBRARY_URL": "http://x", "LIBRARY_USER": "a"}, "还没有设置 LIBRARY_PASSWORD"),
        ({"LIBRARY_URL": "x", "LIBRARY_USER": "a", "LIBRARY_PASSWORD": "b"}, "LIBRARY_URL 不能用"),
        ({"LIBRARY_URL": "http://a:s3cret@x", "LIBRARY_USER": "a", "LIBRARY_PASSWORD": "b"}, "LIBRARY_URL 不能用"),
        (
            {"LIBRARY_URL": "http://x", "LIBRARY_USER": "a", "LIBRARY_PASSWORD": "b", "LIBRARY_DRIVER": "moon"},
            "没有“moon”这个驱动，装好的有：demo",
        ),
    ],
)
async def test_without_settings_every_tool_says_what_to_set(environment: dict[str, str], words: str) -> None:
    async with Client(build_server(Desk(lambda: make_driver(read_settings(environment))))) as client:
        reader = Reader(client)
        for name, arguments in (("list_areas", {}), ("reserve_seat", WISH), ("cancel_reservation", {"id": "R1"})):
            sentence = await reader.refusal(name, **arguments)
            assert words in sentence
            assert "s3cret" not in sentence


async def test_another_package_brings_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "moon_seats-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: moon-seats\nVersion: 1.0\n")
    points = f"[{GROUP}]\nmoon = moon_seats:open_driver\nbroken = moon_seats:nothing\n"
    (package / "entry_points.txt").write_text(points)
    (tmp_path / "moon_seats.py").write_text("def open_driver(settings): return ('moon', settings.user)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = Settings("http://x", "lin", "secret", driver="moon")
    driver: object = make_driver(settings)
    assert driver == ("moon", "lin")
    with pytest.raises(SettingsWrong, match="装载不了"):
        make_driver(replace(settings, driver="broken"))
    with pytest.raises(SettingsWrong, match="装好的有：demo、broken、moon"):
        make_driver(replace(settings, driver="mars"))


async def test_hostile_names_come_through_as_they_are() -> None:
    name = '"><script>alert(1)</script>&amp;'
    room = Room(name, floor=1, quiet=True, letter="X", seats=1, windows=0)
    options = Options(accounts={name: "a&b"}, library=Rules(rooms=(room,)))
    async with library(options) as world, reading(Settings(world.address, name, "a&b")) as reader:
        [seat] = (await reader.values("find_seats", **PERIOD, area=name))["seats"]
        made = await reader.values("reserve_seat", **{**WISH, "seat_id": seat["seat_id"]})
        assert made["seat_id"] == f"{name}-X01"
        [row] = await world.books(account=name)
        assert row["seat_id"] == f"{name}-X01"


async def test_a_crash_is_one_sentence_too(caplog: pytest.LogCaptureFixture) -> None:
    def crash() -> Driver:
        raise RuntimeError("a fault in a driver")

    async with Client(build_server(Desk(crash))) as client:
        sentence = await Reader(client).refusal("list_areas")
    assert "出了意外" in sentence
    assert "a fault in a driver" not in sentence
    assert "a fault in a driver" in caplog.text


async def test_a_password_is_not_shown_with_the_settings() -> None:
    assert "hunter2" not in repr(Settings("http://x", "a", "hunter2"))
