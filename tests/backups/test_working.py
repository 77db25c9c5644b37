"""Folders of work in progress: one's own is there to the end, one that was left goes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys

from qingtuan.backups.working import is_working, working
from qingtuan.home import Home


def started(code: str, home: Home) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, home.backups], env=environ)


async def test_a_folder_in_which_somebody_works_is_left_alone(home: Home) -> None:
    async with working(home.backups) as one, working(home.backups) as other:
        assert one.is_dir()
        assert is_working(home.backups, one.name)
        assert one != other
    assert not one.exists()
    assert not is_working(home.backups, "../home")
    abandoned = home.backups / ".working-00000000"
    abandoned.mkdir()
    handle = os.open(abandoned, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    async with working(home.backups):
        assert abandoned.exists()
    os.close(handle)
    async with working(home.backups):
        assert not abandoned.exists()


async def test_many_begin_at_once_and_none_takes_away_what_another_has(home: Home) -> None:
    """In other processes too, whose locks are their own."""
    code = (
        "import asyncio, sys; from pathlib import Path; from qingtuan.backups.working import working\n"
        "async def work():\n"
        "    for number in range(60):\n"
        "        async with working(Path(sys.argv[1])) as folder:\n"
        "            (folder / 'file').write_text('x')\n"
        "            await asyncio.sleep(0)\n"
        "            assert (folder / 'file').read_text() == 'x'\n"
        "asyncio.run(work())"
    )
    others = [started(code, home) for _ in range(4)]
    assert [await asyncio.to_thread(other.wait, 60) for other in others] == [0] * 4
    assert list(home.backups.iterdir()) == []
