"""A process that is killed in the midst of a deployment leaves the old version or the new one, whole."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from qingtuan.capabilities.folder import definition_of
from tests.fakes.capability_world import OWNER, CapabilityWorld, adder, second

REPOSITORY = Path(__file__).parents[2]


async def killed(folder: Path, act: str, *, stride: int = 1) -> list[Path]:
    """What processes left that were killed at their first, second … step of an act on a capability."""
    template = folder / "template"
    world = CapabilityWorld(template)
    await world.registry.deploy(adder(), OWNER)
    world.database.close()
    target = folder / "left"
    command = [sys.executable, "-m", "tests.fakes.wiki_crash", act, str(template), str(target), str(stride)]
    await asyncio.to_thread(subprocess.run, command, cwd=REPOSITORY, check=True, timeout=300)
    left = sorted(target.iterdir())
    assert (left[-1] / "came-through").exists()
    return left


async def test_a_deployment_is_whole_or_never_was(tmp_path: Path) -> None:
    left = await killed(tmp_path, "deploy")
    assert len(left) > 10
    results = set()
    for root in left:
        world = CapabilityWorld(root)
        await world.registry.start()
        held = world.registry.get("adder")
        results.add(held.version.number)
        assert held.definition in (adder(), second()), root.name
        files = {file.name: file.read_bytes() for file in (world.folder / "adder").iterdir() if file.suffix != ".tmp"}
        assert definition_of("adder", files) == held.definition, root.name
        assert world.registry.waiting() == [], root.name
        assert world.warnings() == [], root.name
        assert world.git("status", "--porcelain", "--untracked-files=no") == "", root.name
        assert world.git("show", "HEAD:adder/main.ts") == held.definition.code, root.name
        assert (await world.call("adder", a=1, b=2)).value in (3, {"a": 1, "b": 2})
        assert len(world.git("log", "--format=%h").splitlines()) == held.version.number, root.name
        world.database.close()
    assert results == {1, 2}


async def test_a_deletion_is_whole_or_never_was(tmp_path: Path) -> None:
    results = set()
    for root in await killed(tmp_path, "delete"):
        world = CapabilityWorld(root)
        await world.registry.start()
        there = [held.name for held in world.registry.all()]
        results.add(len(there))
        assert world.file("adder").exists() == bool(there), root.name
        assert world.git("status", "--porcelain", "--untracked-files=no") == "", root.name
        assert world.registry.history("adder")[0].number == 1
        assert world.warnings() == [], root.name
        world.database.close()
    assert results == {0, 1}
