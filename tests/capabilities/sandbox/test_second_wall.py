"""The second wall, where bubblewrap is installed and allowed; and that the first stands without it."""

from __future__ import annotations

import asyncio
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.capabilities.sandbox.base import Job, Limits
from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.sandbox.engine import GUEST, Engine, find_bubblewrap, find_program, wrapping
from tests.fakes.waiting import until


@pytest.fixture
async def wrapped(tmp_path: Path) -> AsyncIterator[Deno]:
    program = find_program()
    if program is None:
        pytest.skip("the engine of the sandbox is not installed (the extra `sandbox`)")
    if find_bubblewrap(program) is None:
        pytest.skip("bubblewrap is not installed, or not allowed here")
    sandbox = Deno(tmp_path)
    assert sandbox.walls()[-1].stands
    yield sandbox
    await sandbox.close()


async def test_calls_work_inside(wrapped: Deno) -> None:
    code = "export default async (i: { a: number }) => [i.a, Deno.pid < 20, Deno.ppid < 20, Deno.env === undefined];"
    assert (await wrapped.run(Job(code, {"a": 1}))).value == [1, True, True, False]
    assert await wrapped.check("export default () => 1;") == ()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("for (;;);", "time"),
        ("for (const a = [];;) a.push(new Uint8Array(1e6).fill(1));", "memory"),
        ("Deno.exit(1);", "crash"),
    ],
)
async def test_limits_hold_inside(wrapped: Deno, code: str, kind: str) -> None:
    found = await wrapped.run(Job(f"export default () => {{ {code} }};", {}, limits=Limits(seconds=3.0)))
    assert found.fault is not None
    assert found.fault.kind == kind
    assert (await wrapped.run(Job("export default () => 1;", {}))).value == 1


async def test_nothing_is_stored_inside_either(wrapped: Deno) -> None:
    code = "export default async () => { await caches.open('a'); };"
    found = await wrapped.run(Job(code, {}))
    assert found.fault is not None
    assert found.fault.kind == "exception"


async def test_all_of_it_ends(wrapped: Deno) -> None:
    call = asyncio.create_task(wrapped.run(Job("export default () => { for (;;); }", {})))
    await until(lambda: wrapped._keeper is not None and wrapped._keeper._state.busy)
    await wrapped.close()
    await call
    assert wrapped._keeper is None


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bubblewrap that is there and may not be used, as in many containers."""
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(fake.parent))
    return fake


def test_where_it_is_not_allowed_the_first_wall_stands(refusing: Path) -> None:
    assert find_bubblewrap(Path(sys.executable)) is None
    command = Engine(Path("/engine")).command()
    assert str(refusing) not in command
    assert command[0] == "/bin/sh"


def test_everything_is_its_own_inside() -> None:
    command = wrapping(Path("/usr/bin/bwrap"), (Path("/engine"), GUEST))
    assert {"--unshare-all", "--die-with-parent", "--cap-drop"} <= set(command)
    assert "--bind" not in command
    assert "--share-net" not in command
    assert command.index("--size") == command.index("--tmpfs") - 2
