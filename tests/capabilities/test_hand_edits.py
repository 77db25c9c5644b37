"""What people and programs do to the folders: never silent, never run unapproved, never lost."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from qingtuan.capabilities.bounds import faults
from qingtuan.capabilities.definition import Case, DefinitionRefused
from qingtuan.capabilities.disk import Disk
from qingtuan.capabilities.folders import Folders
from qingtuan.capabilities.store import Store
from qingtuan.errors import NotAllowed, NotThere
from qingtuan.events.kinds import Kind
from qingtuan.storage.git import Repository
from tests.fakes.capability_world import MEMBER, OWNER, PROGRAM, CapabilityWorld, adder

ECHO = "// does: echo\nexport default (input) => input\n"


async def deployed(folder: Path) -> CapabilityWorld:
    world = CapabilityWorld(folder)
    await world.registry.deploy(adder(cases=()), OWNER)
    return world


async def test_an_edit_waits_and_what_was_approved_runs(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.look()
    assert (await world.call("adder", a=1, b=2)).value == 3
    (waiting,) = world.registry.waiting()
    assert (waiting.definition.code, waiting.changed, waiting.version.how) == (ECHO, ("code",), "hand")
    assert world.warnings() == ["capability adder edited"]
    await world.registry.look()
    assert len(world.registry.waiting()) == 1
    await world.registry.approve("adder", OWNER, waiting.code)
    assert (await world.call("adder", a=1, b=2)).value == {"a": 1, "b": 2}
    assert world.git("show", "HEAD:adder/main.ts") == ECHO
    assert world.git("status", "--porcelain") == ""


async def test_an_edit_is_noticed_at_the_next_start_too(tmp_path: Path) -> None:
    await deployed(tmp_path)
    (tmp_path / "capabilities/adder/main.ts").write_text(ECHO, "utf-8")
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    assert (await again.call("adder", a=1, b=2)).value == 3
    assert [waiting.version.number for waiting in again.registry.waiting()] == [2]


async def test_a_comment_in_the_manifest_is_no_new_version_and_stays(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    manifest = world.file("adder", "capability.toml")
    manifest.write_text(f"# mine\n{manifest.read_text('utf-8')}", "utf-8")
    await world.registry.look()
    assert world.registry.waiting() == []
    assert world.registry.get("adder").version.number == 1
    assert world.git("show", "HEAD:adder/capability.toml").startswith("# mine\n")
    await world.registry.look()
    assert len(world.git("log", "--format=%h").splitlines()) == 2


async def test_line_ends_and_the_last_line_make_no_version(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    code = world.file("adder")
    code.write_bytes(code.read_bytes().replace(b"\n", b"\r\n") + b"\r\n\r\n")
    await world.registry.look()
    assert world.registry.waiting() == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("capability.toml", "description = [broken"),
        ("capability.toml", 'description = "x"\nkind = "eternal"\nparameters = "{}"\n'),
        ("capability.toml", 'description = "x"\nparameters = "{"\n'),
        ("capability.toml", 'description = "x"\nparameters = {a = 2026-11-29}\n'),
        ("capability.toml", 'description = "x"\nparameters = {a = nan}\n'),
        ("capability.toml", f'description = "x"\nparameters = {{a = {"[" * 60}{"]" * 60}}}\n'),
        ("capability.toml", '"\\u202e\\n" = 1\n'),
        ("cases.json", '[{"arguments": }]'),
        ("cases.json", '[{"arguments": {"a": 1, "b": 2}, "expected": "\\ud800"}]'),
        ("cases.json", '{"not": "a list"}'),
        ("main.ts", "\u202e reversed"),
        ("main.ts", ""),
    ],
)
async def test_a_broken_edit_costs_nothing_but_is_told(tmp_path: Path, file: str, text: str) -> None:
    world = await deployed(tmp_path)
    await world.registry.deploy(adder("other", cases=()), OWNER)
    world.file("adder", file).write_text(text, "utf-8")
    await world.registry.look()
    assert (await world.call("adder", a=1, b=2)).value == 3
    assert (await world.call("other", a=1, b=2)).value == 3
    assert world.warnings() == ["capability adder folder"]
    assert list(world.registry.troubles) == ["adder"]
    assert world.registry.waiting() == []
    assert world.file("adder", file).read_text("utf-8") == text


async def test_a_file_that_is_no_text_or_leads_elsewhere_is_left_alone(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text(ECHO, "utf-8")
    for make in (
        lambda path: path.symlink_to(secret),
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b"\xff\xfe\x00"),
        lambda path: path.write_bytes(b"/" * 300_000),
        os.mkfifo,
    ):
        path = world.file("adder")
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        make(path)
        await world.registry.look()
        assert list(world.registry.troubles) == ["adder"]
        assert world.registry.waiting() == []
        assert (await world.call("adder", a=1, b=2)).value == 3


async def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (world.folder / "adder").symlink_to(elsewhere)
    await world.registry.deploy(adder(cases=()), OWNER)
    assert list(elsewhere.iterdir()) == []
    assert (await world.call("adder", a=1, b=2)).value == 3
    assert list(world.registry.troubles) == ["adder"]


async def test_a_new_folder_is_a_version_that_waits(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    shutil.copytree(world.folder / "adder", world.folder / "sum")
    await world.registry.look()
    (waiting,) = world.registry.waiting()
    assert (waiting.version.name, waiting.before) == ("sum", None)
    with pytest.raises(NotThere):
        await world.call("sum", a=1, b=2)
    await world.registry.approve("sum", OWNER, waiting.code)
    assert (await world.call("sum", a=1, b=2)).value == 3


async def test_a_folder_that_was_removed_is_a_deletion_that_can_be_taken_back(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    shutil.rmtree(world.folder / "adder")
    await world.registry.look()
    with pytest.raises(NotThere):
        world.registry.get("adder")
    await world.registry.rollback("adder", 1, OWNER)
    assert (await world.call("adder", a=1, b=2)).value == 3
    assert world.file("adder").exists()


async def test_when_the_whole_folder_was_lost_everything_is_put_back(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    shutil.rmtree(world.folder)
    world.folder.mkdir()
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    assert (await again.call("adder", a=1, b=2)).value == 3
    assert again.file("adder").exists()
    assert again.git("status", "--porcelain") == ""


async def lost_and_cut_off(folder: Path) -> CapabilityWorld:
    """The folder of three was lost, and whoever put it back died after the first."""
    world = CapabilityWorld(folder)
    for name in ("aa1", "bb1", "cc1"):
        await world.registry.deploy(adder(name, cases=()), OWNER)
    shutil.rmtree(world.folder)
    world.folder.mkdir()
    store = Store(world.ledger, Disk(world.folder), Repository(world.folder, world.clock), world.clock)
    folders = Folders(world.ledger, store, world.clock, lambda: (), lambda _key, _words: None)
    await folders.look_at("aa1", world.ledger.get("aa1"))
    return CapabilityWorld(folder)


async def test_putting_back_what_was_lost_may_be_cut_off(tmp_path: Path) -> None:
    again = await lost_and_cut_off(tmp_path)
    await again.registry.start()
    assert [held.name for held in again.registry.all()] == ["aa1", "bb1", "cc1"]
    assert again.log.of_kind(Kind.CAPABILITY_DELETED) == []
    assert again.git("ls-tree", "--name-only", "HEAD").split() == ["aa1", "bb1", "cc1"]
    assert again.git("status", "--porcelain") == ""


async def test_after_that_a_folder_that_is_removed_is_a_deletion_again(tmp_path: Path) -> None:
    again = await lost_and_cut_off(tmp_path)
    await again.registry.start()
    shutil.rmtree(again.folder / "cc1")
    await again.registry.look()
    assert [held.name for held in again.registry.all()] == ["aa1", "bb1"]


async def test_a_folder_that_the_owners_own_git_removed_is_a_deletion(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    await world.registry.deploy(adder("other", cases=()), OWNER)
    world.git("rm", "-rq", "adder")
    world.git("-c", "user.name=me", "-c", "user.email=me@localhost", "commit", "-qam", "mine")
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    assert [held.name for held in again.registry.all()] == ["other"]


async def test_an_edit_is_not_lost_to_a_deployment(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.deploy(adder(description="Other.", cases=()), OWNER)
    assert world.registry.get("adder").definition.description == "Other."
    assert (await world.call("adder", a=1, b=2)).value == 3
    (waiting,) = world.registry.waiting()
    assert waiting.definition.code == ECHO
    assert world.file("adder").read_text("utf-8") == ECHO


async def test_one_version_of_each_author_waits_and_none_replaces_that_of_another(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.look()
    await world.registry.deploy(adder(description="By a program.", cases=()), PROGRAM)
    await world.registry.deploy(adder(description="By a member.", cases=()), MEMBER)
    await world.registry.deploy(adder(description="By a member, again.", cases=()), MEMBER)
    assert [waiting.version.how for waiting in world.registry.waiting()] == ["hand", "http", "asked"]


async def test_the_owners_own_commit_of_an_edit_approves_nothing(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    world.file("adder").write_text(ECHO, "utf-8")
    world.git("-c", "user.name=me", "-c", "user.email=me@localhost", "commit", "-qam", "mine")
    await world.registry.look()
    assert (await world.call("adder", a=1, b=2)).value == 3
    (waiting,) = world.registry.waiting()
    await world.registry.approve("adder", OWNER, waiting.code)
    assert world.git("log", "-1", "--format=%s") == "mine\n"


async def test_an_edit_that_was_taken_back_waits_no_more(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    before = world.file("adder").read_text("utf-8")
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.look()
    world.file("adder").write_text(before, "utf-8")
    await world.registry.look()
    assert world.registry.waiting() == []
    assert ("capability adder edited", None) in world.told


async def test_what_the_owner_turns_down_goes_and_an_edit_leaves_the_folder(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.deploy(adder(description="By a program.", cases=()), PROGRAM)
    for waiting in world.registry.waiting():
        with pytest.raises(NotAllowed):
            await world.registry.reject("adder", PROGRAM, waiting.version.number)
        await world.registry.reject("adder", OWNER, waiting.version.number)
    assert world.registry.waiting() == []
    assert world.file("adder").read_text("utf-8") == adder().code
    await world.registry.look()
    assert world.registry.waiting() == []
    assert [version.number for version in world.registry.history("adder")] == [3, 2, 1]


async def test_a_new_folder_that_is_turned_down_goes(tmp_path: Path) -> None:
    world = await deployed(tmp_path)
    shutil.copytree(world.folder / "adder", world.folder / "sum")
    await world.registry.look()
    (waiting,) = world.registry.waiting()
    await world.registry.reject("sum", OWNER, waiting.version.number)
    assert not (world.folder / "sum").exists()
    assert world.registry.history("sum")[0].number == 1


@pytest.mark.parametrize("newer", ["// does: fail\nexport default (input) => input\n", "\u202e not to be read"])
async def test_turning_an_edit_down_leaves_a_newer_one_alone(tmp_path: Path, newer: str) -> None:
    world = await deployed(tmp_path)
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.look()
    (waiting,) = world.registry.waiting()
    world.file("adder").write_text(newer, "utf-8")
    with suppress(NotThere):
        await world.registry.reject("adder", OWNER, waiting.version.number)
    assert world.file("adder").read_text("utf-8") == newer
    assert waiting.version.number not in [one.version.number for one in world.registry.waiting()]
    assert world.warnings()[-1] in ("capability adder edited", "capability adder folder")


async def test_what_is_too_large_for_its_own_file_is_refused(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    large = adder(cases=tuple(Case({"a": 1, "b": number}, note="𠀀" * 200) for number in range(20)))
    assert faults(large) == []
    wide = {"type": "object", "properties": {"a": {}}}
    larger = adder(parameters=wide, cases=tuple(Case({"a": "𠀀" * 7_000}) for _ in range(20)))
    assert [fault.field for fault in faults(larger)] == ["cases.json"]
    with pytest.raises(DefinitionRefused, match="256 KB"):
        await world.registry.deploy(larger, OWNER)


async def test_a_file_that_cannot_be_read_is_no_edit_without_it(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    world.file("adder", "cases.json").write_bytes(b" " * 300_000)
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    assert again.registry.waiting() == []
    assert list(again.registry.troubles) == ["adder"]
    assert again.registry.get("adder").definition.cases == adder().cases
