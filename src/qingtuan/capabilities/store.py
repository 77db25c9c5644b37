"""The folder of a capability and its git history, kept in line with what counts; and what others did to them.

What counts stands in events, whole. So this may be cut off anywhere and done again: a file holds what it held before
or what it should, and a commit that is there already is not made twice. Whatever else a file holds, somebody wrote by
hand; it is never written over.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Literal

from qingtuan.capabilities.definition import Definition, DefinitionRefused, Fault
from qingtuan.capabilities.disk import Disk, Found
from qingtuan.capabilities.folder import FILES, MANIFEST, definition_of, files_of
from qingtuan.capabilities.ledger import Held, Ledger, Standing, Version
from qingtuan.clock import Clock
from qingtuan.identity.accounts import OWNER
from qingtuan.language import Words
from qingtuan.storage.files import cannot_write, content_hash
from qingtuan.storage.git import Draft, Repository, Signature

Seen = Literal["ours", "hand", "gone"]
"""What stands in a folder: what we wrote or are about to write; something else; nothing where something should be."""


class Store:
    """Writes folders and commits."""

    def __init__(self, ledger: Ledger, disk: Disk, repository: Repository, clock: Clock) -> None:
        self.disk = disk
        self.repository = repository
        self._ledger = ledger
        self._clock = clock

    def look(self, name: str, found: Found, held: Held | None) -> Seen:
        """Whose work stands in the folder of `name`."""
        standing = self._ledger.standing(name)
        wanted = {file: content_hash(data) for file, data in self._wanted(held).items()}
        if found.unreadable:
            return "hand"
        current = found.hashes
        if not current:
            return "gone" if standing.files and self._counts(standing, held) else "ours"
        if current == dict(standing.files):
            return "ours"
        if self._counts(standing, held):
            return "hand"  # nothing of ours was on its way
        known = (current[file] in (standing.files.get(file), wanted.get(file)) for file in current)
        return "ours" if all(known) else "hand"

    @property
    def has_history(self) -> bool:
        """Whether there is a repository."""
        return (self.disk.folder / ".git").exists()

    async def unknown(self, names: Iterable[str]) -> set[str]:
        """Those of which the history never held anything. Raises `StorageFailed`."""
        repository = self.repository
        if await repository.head() is None:
            return set(names)
        held = {path.partition("/")[0] for path in await repository.tree()}
        missing = [name for name in names if name not in held]
        return {name for name in missing if not await repository.log(f"{name}/{MANIFEST}", limit=1)}

    async def settle(self, name: str, held: Held | None, *, again: bool = False) -> None:
        """Let folder and history hold what counts. For a folder that holds nothing by hand. `again` also where that was
        done, for a history that is gone.

        Raises:
            StorageFailed: the disk or git refuses; it is to be done again.
        """
        standing, found = self._ledger.standing(name), self.disk.read(name)
        if not again and self._counts(standing, held) and found.hashes == dict(standing.files):
            return
        files = self._wanted(held)
        if held is not None and (written := self._by_hand(name, found, held)) is not None:
            files = written
        await self._put(name, files, held)

    def forget_history(self) -> None:
        """Do away with the history, if there is one. It says nothing that the events do not say.

        Raises:
            StorageFailed: the disk refuses.
        """
        git, going = self.disk.folder / ".git", self.disk.folder / _GOING
        try:
            shutil.rmtree(going, ignore_errors=True)
            if git.exists():
                git.rename(going)
            if going.exists():
                shutil.rmtree(going)
        except OSError as error:
            raise cannot_write(git, error) from error
        self.repository = Repository(self.disk.folder, self._clock)  # what the other one knows of is gone

    async def replay(self) -> None:
        """Write the history anew from what the events say of it. Raises `StorageFailed`."""
        for name, version in self._ledger.course():
            definition = self._ledger.definition(version) if version is not None else None
            written = files_of(definition) if definition is not None else {}
            changes = {f"{name}/{file}": written.get(file) for file in FILES}
            if await self.repository.holds(changes):
                continue
            signature = _signature(version)
            when = (version.began or version.time) if version is not None else self._clock.now()
            await self.repository.commit(Draft(changes, _message(name, version), signature, when))

    async def adopt(self, name: str, found: Found, held: Held) -> None:
        """Take files as they are that say what counts, in other words. Raises `StorageFailed`."""
        await self._put(name, dict(found.files), held)

    def read(self, name: str, found: Found) -> Definition:
        """What stands in a folder. Raises `DefinitionRefused`, also for a file that cannot be read: without it the
        folder says something else."""
        if found.unreadable:
            raise DefinitionRefused([Fault(file, _UNREADABLE) for file in found.unreadable])
        return definition_of(name, {file: found.files.get(file) for file in FILES})

    def _by_hand(self, name: str, found: Found, held: Held) -> dict[str, bytes] | None:
        """The files that stand there, if they say what counts: then a person's comments stay."""
        try:
            return dict(found.files) if self.read(name, found).hash == held.version.hash else None
        except DefinitionRefused:
            return None

    async def _put(self, name: str, files: Mapping[str, bytes], held: Held | None) -> None:
        if files:
            self.disk.write(name, files)
        else:
            self.disk.remove(name)
        commit = await self._commit(name, files, held)
        self._ledger.stored(name, held.version.number if held else 0, files, commit)

    async def _commit(self, name: str, files: Mapping[str, bytes], held: Held | None) -> str | None:
        changes = {f"{name}/{file}": files.get(file) for file in FILES}
        repository = self.repository
        tree = await repository.tree("HEAD", list(changes)) if await repository.head() else {}
        kept = {path: data for path, data in changes.items() if data is not None or path in tree}
        if not kept or await repository.holds(kept):
            # Made before a crash, or by the owner's own git; or there never was a commit to make.
            await repository.stage(changes)
            return await repository.head()
        version = held.version if held is not None else None
        message, signature = _message(name, version), _signature(version)
        return await repository.commit(Draft(kept, message, signature, self._clock.now()))

    @staticmethod
    def _wanted(held: Held | None) -> dict[str, bytes]:
        return files_of(held.definition) if held is not None else {}

    @staticmethod
    def _counts(standing: Standing, held: Held | None) -> bool:
        """Whether what we wrote last is what counts."""
        return standing.version == (held.version.number if held is not None else 0)


_UNREADABLE = Words("不是普通文件，或者太大", "is no regular file, or too large")
_GOING = ".gone.git"
"""Of a history that is on its way out."""


def _signature(version: Version | None) -> Signature:
    author = version.author if version is not None else OWNER
    return Signature(author, f"{author}@localhost")


def _message(name: str, version: Version | None) -> str:
    if version is None:
        return f"{name}: deleted\n"
    trailers = f"Event: {version.event}\nBy: {version.author}\nHow: {version.how}"
    return f"{name} v{version.number}: {' '.join(version.note.split())[:120] or 'new'}\n\n{trailers}\n"
