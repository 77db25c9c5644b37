"""One state in the place of another: after a kill at any step it is one of the two, whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.backups import swap
from qingtuan.backups.swap import begin, is_pending, pending
from qingtuan.backups.working import working
from qingtuan.errors import StorageFailed
from qingtuan.home import Home

MADE, NOW = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 29, 2, tzinfo=UTC)
OLD = {
    "state.sqlite": "old", "state.sqlite-wal": "old log", "state.sqlite-shm": "old", "qingtuan.toml": "old",
    ".env": "old", "wiki/a.md": "old", "wiki/.git/HEAD": "old", "media/picture": "old", "index/cache": "old",
    "only/old": "old",
}  # fmt: skip
NEW = {
    "state.sqlite": "new", "qingtuan.toml": "new", ".env": "new", "wiki/a.md": "new", "wiki/b/c.md": "new",
    "media/other": "new", "only new": "new",
}  # fmt: skip
STAYS = {"logs/mcp.log": "log", "run.lock": "1", "backups/qingtuan.tar.gz": "x"}


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def state(home: Home) -> dict[str, str]:
    """What stands in the data folder, but for backups."""
    paths = [path for path in home.path.rglob("*") if path.is_file() and home.backups not in path.parents]
    return {str(path.relative_to(home.path)): path.read_text("utf-8") for path in paths}


def is_old(home: Home) -> bool:
    return state(home) == OLD | {name: text for name, text in STAYS.items() if not name.startswith("backups")}


def is_new(home: Home) -> bool:
    return state(home) == NEW | {name: text for name, text in STAYS.items() if not name.startswith("backups")}


def hidden(home: Home) -> list[str]:
    return [path.name for path in home.backups.iterdir() if path.name.startswith(".")]


@pytest.fixture
def old(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    write(home.path, OLD | STAYS)
    (home.path / "elsewhere").symlink_to("/nowhere")
    write(home.backups / "staged", NEW)
    return home


def swapped(home: Home) -> swap.Swap:
    return begin(home, home.backups / "staged", made=MADE, now=NOW)


class TestPlacing:
    def test_the_other_state_is_there_and_the_old_one_is_kept(self, old: Home) -> None:
        one = swapped(old)
        assert is_pending(old)
        assert is_old(old)
        one.place()
        one.finish()
        assert is_new(old)
        assert not is_pending(old)
        assert one.aside.name == "before-restore-20261129T020000Z"
        kept = {str(p.relative_to(one.aside)): p.read_text() for p in one.aside.rglob("*") if p.is_file()}
        assert kept == OLD
        assert (one.aside / "elsewhere").is_symlink()
        assert hidden(old) == []
        assert str(one.aside) in one.words.zh

    def test_what_the_other_has_not_stays(self, old: Home) -> None:
        for name in (".env", "media/other"):
            (old.backups / "staged" / name).unlink()
        (old.backups / "staged" / "media").rmdir()
        one = swapped(old)
        one.place()
        one.finish()
        assert (old.path / ".env").read_text() == "old"
        assert (old.path / "media" / "picture").read_text() == "old"
        assert not (one.aside / "media").exists()

    def test_into_an_empty_folder(self, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        write(home.backups / "staged", NEW)
        one = swapped(home)
        one.place()
        one.finish()
        assert state(home) == NEW
        assert [path.name for path in home.backups.iterdir()] == []
        assert "备份" in one.words.zh

    def test_twice_within_a_second(self, old: Home) -> None:
        for _ in range(2):
            write(old.backups / "staged", NEW)
            one = swapped(old)
            one.place()
            one.finish()
        assert one.aside.name == "before-restore-20261129T020000Z-2"

    def test_taken_back_all_is_as_it_was(self, old: Home) -> None:
        one = swapped(old)
        one.place()
        # An instance that opened it and failed has left things of its own, which must not meet the old database.
        write(old.path, {"state.sqlite-wal": "of the new one", "index/cache": "new", "made since": "new"})
        one.undo()
        assert is_old(old)
        assert (is_pending(old), hidden(old)) == (False, [])
        assert not one.aside.exists()


class TestTrouble:
    @pytest.mark.parametrize("step", range(1, 18))
    def test_a_name_that_cannot_be_moved_takes_all_back(
        self, old: Home, monkeypatch: pytest.MonkeyPatch, step: int
    ) -> None:
        """As where a folder is a file system of its own."""
        one, left, rename = swapped(old), step, Path.rename

        def moved(path: Path, target: Path) -> Path:
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path))
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", moved)
        if step > 16:  # so many names move
            one.place()
            return
        with pytest.raises(StorageFailed) as caught:
            one.place()
        assert "一切照旧" in caught.value.words.zh
        assert is_old(old)
        assert (is_pending(old), hidden(old)) == (False, [])

    def test_a_beginning_that_cannot_be_written_down(self, old: Home) -> None:
        (old.backups / "restoring.json").mkdir()
        with pytest.raises(StorageFailed):
            swapped(old)
        assert is_old(old)
        (old.backups / "restoring.json").rmdir()
        assert (is_pending(old), hidden(old)) == (False, [])
        assert list(old.backups.glob("before-restore-*")) == []

    @pytest.mark.parametrize(
        "note", ["", "{}", "[]", '{"coming": "../x", "aside": "a", "old": [], "new": [], "made": ""}']
    )
    def test_a_note_that_cannot_be_read_is_left_to_a_person(self, old: Home, note: str) -> None:
        (old.backups / "restoring.json").write_text(note, "utf-8")
        with pytest.raises(StorageFailed) as caught:
            pending(old)
        assert "restoring.json" in caught.value.words.zh
        assert is_old(old)

    def test_what_was_made_meanwhile_is_kept(self, old: Home) -> None:
        """By somebody who put things into the folder between a crash and the next start."""
        one = swapped(old)
        for name in one.old:
            (old.path / name).rename(one.aside / name)
        write(old.path, {"wiki/meanwhile.md": "precious", "qingtuan.toml": "meanwhile"})
        begun = pending(old)
        assert begun == one
        begun.place()
        begun.finish()
        assert is_new(old)
        strays = [
            path for path in one.aside.rglob("*") if path.is_file() and path.read_text() in ("precious", "meanwhile")
        ]
        assert len(strays) == 2


KILLED = """
import os, shutil, signal, sys
from datetime import datetime, timezone
from pathlib import Path
from qingtuan.backups.swap import begin, pending
from qingtuan.home import Home
template, folder, act = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
left = 0
def hear(event, arguments):
    global left
    changes = event in ('os.rename', 'os.remove', 'os.mkdir', 'os.rmdir')
    if changes or (event == 'open' and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        left -= 1
        if left == 0: os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hear)
def swapped(home):
    made = datetime(2026, 11, 1, tzinfo=timezone.utc)
    return begin(home, home.backups / 'staged', made=made, now=datetime(2026, 11, 29, 2, tzinfo=timezone.utc))
for step in range(1, 1000):
    home = Home(folder / f'{step:03}')
    shutil.copytree(template, home.path, symlinks=True)
    if act != 'begin':
        one = swapped(home)
        for name in one.old[:4]:
            (home.path / name).rename(one.aside / name)
    child = os.fork()
    if child == 0:
        left = step
        one = swapped(home) if act == 'begin' else pending(home)
        one.place()
        one.undo() if act == 'undo' else one.finish()
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


@pytest.mark.parametrize("act", ["begin", "finish", "undo"])
def test_killed_at_any_step(old: Home, tmp_path: Path, act: str) -> None:
    """In the middle of swapping, of finishing what was cut off, and of taking it back."""
    (tmp_path / act).mkdir()
    subprocess.run(
        [sys.executable, "-c", KILLED, old.path, tmp_path / act, act],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    *killed, last = [Home(path) for path in sorted((tmp_path / act).iterdir())]
    assert len(killed) > 11
    for home in killed:
        if (begun := pending(home)) is not None:
            begun.place()
            begun.finish()
            assert is_new(home), home
            assert begun.aside.exists()
        else:
            assert is_old(home) or is_new(home), home
        assert (pending(home), hidden(home)) == (None, []), home
    assert is_old(last) if act == "undo" else is_new(last)


async def test_leftovers_of_work_that_was_killed_go_and_others_stay(old: Home) -> None:
    abandoned = old.backups / ".working-0123abcd"
    abandoned.mkdir()
    async with working(old.backups) as busy:
        abandoned.mkdir(exist_ok=True)
        assert pending(old) is None
        assert busy.exists()
    assert hidden(old) == []
