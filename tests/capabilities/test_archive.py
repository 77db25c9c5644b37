"""Taking capabilities along, and what a hostile archive tries."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.capabilities.archive import packed, unpacked
from qingtuan.capabilities.folder import files_of
from qingtuan.errors import UsageWrong
from qingtuan.messages import Origin
from tests.fakes.capability_world import OWNER, CapabilityWorld, adder


async def test_what_was_taken_along_waits_where_it_comes_to(tmp_path: Path) -> None:
    one, other = CapabilityWorld(tmp_path / "one"), CapabilityWorld(tmp_path / "other")
    await one.registry.deploy(adder(), OWNER)
    await one.registry.deploy(adder("second"), OWNER)
    data = await one.registry.export()
    assert data == await one.registry.export(["second", "adder"])
    loaded = await other.registry.load(data, OWNER)
    assert [(done.name, done.waits) for done in loaded.deployed] == [("adder", True), ("second", True)]
    assert other.registry.all() == []
    for waiting in other.registry.waiting():
        assert waiting.version.origin is Origin.FILE
        await other.registry.approve(waiting.version.name, OWNER, waiting.code)
    assert (await other.call("adder", a=1, b=2)).value == 3
    assert all(tool.foreign_words for tool in other.others.tools)


async def test_one_that_cannot_be_used_keeps_no_other_from_coming(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    data = archive({**folder("adder"), "bad/main.ts": b"syntax error", "bad/capability.toml": b"description = 1"})
    loaded = await world.registry.load(data, OWNER)
    assert [done.name for done in loaded.deployed] == ["adder"]
    assert list(loaded.refused) == ["bad"]


@pytest.mark.parametrize(
    "name",
    [
        "../adder/main.ts",
        "/adder/main.ts",
        "adder/../../main.ts",
        "adder\\main.ts",
        "adder/main.ts/x",
        "Adder/main.ts",
        "adder/.git/config",
        ".git/hooks/post-commit",
        "adder/other.ts",
        "C:/adder/main.ts",
    ],
)
def test_a_name_that_leads_elsewhere_costs_the_whole_archive(name: str) -> None:
    with pytest.raises(UsageWrong):
        unpacked(archive({**folder("adder"), name: b"x"}))


def test_a_link_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        link = zipfile.ZipInfo("adder/main.ts")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
    with pytest.raises(UsageWrong):
        unpacked(buffer.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("adder/main.ts", "one")
        made.writestr("adder/main.ts", "two")
    with pytest.raises(UsageWrong, match="twice"):
        unpacked(buffer.getvalue())


def test_a_bomb_is_not_unpacked() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("adder/main.ts", b"\0" * 50_000_000)
    assert len(buffer.getvalue()) < 100_000
    with pytest.raises(UsageWrong, match="too large"):
        unpacked(buffer.getvalue())


def test_too_many_are_refused() -> None:
    with pytest.raises(UsageWrong, match="too large"):
        unpacked(archive({f"a{number}/main.ts": b"x" for number in range(1000)}))


def test_a_size_that_lies_is_found_out() -> None:
    data = bytearray(archive(folder("adder")))
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (5).to_bytes(4, "little")
    with pytest.raises(UsageWrong):
        unpacked(bytes(data))


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda data: packed([adder()])[:-20] + data))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(UsageWrong):
        unpacked(data)


def folder(name: str) -> dict[str, bytes]:
    return {f"{name}/{file}": data for file, data in files_of(adder(name)).items()}


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return buffer.getvalue()
