"""A wiki as a process has it: folder, database, log, git and store, to be crashed, restarted and edited by hand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from qingtuan.clock import Clock, SystemClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.ids import Ids
from qingtuan.memory import candidates
from qingtuan.memory.wiki.history import History
from qingtuan.memory.wiki.ledger import project
from qingtuan.memory.wiki.store import Change, WikiStore, Written
from qingtuan.memory.wiki.undo import Undo
from qingtuan.storage.git import Repository
from qingtuan.storage.sqlite import Database

PAGE = "users/owner/preferences/library.md"
OTHER = "users/owner/rules/booking.md"
TEXT = "# 图书馆\n\n## 当前\n- 优先二楼安静区 ^1\n- 不坐靠门的位置 ^2\n\n## 历史\n"


class WikiWorld:
    """One process's view of the wiki in `root`; make another of the same root for the next process."""

    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        self.root = root
        self.folder = root / "wiki"
        self.clock = clock or SystemClock()
        self.database = Database(root / "state.sqlite")
        self.log = Log(self.database, self.clock, Ids(self.clock), [project, candidates.project])
        self.repository = Repository(self.folder, self.clock)
        self.store = WikiStore(self.folder, self.log, self.repository, self.clock, cache=root / "wiki.json")
        self.undo = Undo(self.store)
        self.history = History(self.repository, self.store.ledger)

    def close(self) -> None:
        self.store.close()
        self.database.close()

    # ---------------------------------------------------------------------------------- the assistant's side

    async def write(
        self, path: str, text: str | bytes | None, *, turn: str | None = None, cause: str | None = None
    ) -> Written:
        """Make a page `text`, based on what stands there now."""
        snapshot = self.store.read(path)
        data = text.encode() if isinstance(text, str) else text
        written = await self.store.write(
            [Change(path, snapshot.hash if snapshot else None, data)],
            Place(turn=turn, person="owner"),
            cause=cause,
            message=f"记住：{path}",
        )
        assert written is not None
        return written

    async def add_line(self, path: str, line: str, *, turn: str | None = None, cause: str | None = None) -> Written:
        """Append a line to a page."""
        snapshot = self.store.read(path)
        return await self.write(
            path, (snapshot.data if snapshot else b"") + line.encode() + b"\n", turn=turn, cause=cause
        )

    def message(self, text: str = "记住", turn: str | None = None) -> str:
        """A message of the owner, as the cause of a write."""
        return self.log.append(Kind.MESSAGE_RECEIVED, Place(turn=turn, person="owner"), {"text": text}).id

    # ------------------------------------------------------------------------------------- the person's side

    def edit(self, path: str, text: str | bytes) -> None:
        """Save a file as an editor does."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)

    def on_disk(self, path: str) -> str | None:
        target = self.folder / path
        return target.read_bytes().decode() if target.exists() else None

    def git(self, *arguments: str) -> str:
        """Git as the owner would run it."""
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{role}_NAME": "me", f"GIT_{role}_EMAIL": "me@localhost"}
        return subprocess.run(
            ["git", "-c", "core.quotePath=false", *arguments],
            cwd=self.folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    # -------------------------------------------------------------------------------------- what is to be true

    def events(self, *kinds: Kind) -> list[Event]:
        return [event for event in self.log.replay() if event.kind in kinds]

    def authors(self) -> list[str]:
        """Of all commits, oldest first."""
        return self.git("log", "--all", "--reverse", "--format=%an").splitlines()

    def is_clean(self) -> bool:
        """Whether git, for the owner, finds nothing to say."""
        return self.git("status", "--porcelain") == "" and self.git("fsck", "--strict") == ""

    def ledger_matches_replay(self) -> bool:
        """Whether replaying the events builds the tables as they are."""
        tables = ("wiki_pages", "wiki_writes")

        def contents() -> list[list[tuple[object, ...]]]:
            return [
                [tuple(row) for row in self.database.rows(f"SELECT * FROM {name} ORDER BY 1, 2")] for name in tables
            ]

        before = contents()
        with self.database.transaction():
            for name in tables:
                self.database.execute(f"DELETE FROM {name}")
            for event in self.log.replay():
                project(self.database, event)
        return contents() == before
