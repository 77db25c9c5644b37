"""What people do to the folders of capabilities, and bringing the folders in line with what counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from qingtuan.capabilities.bounds import faults
from qingtuan.capabilities.definition import Definition, DefinitionRefused
from qingtuan.capabilities.disk import Stamp
from qingtuan.capabilities.ledger import BY_HAND, By, Held, Ledger, Version
from qingtuan.capabilities.store import Store
from qingtuan.clock import Clock
from qingtuan.errors import QingtuanError, StorageFailed
from qingtuan.language import Words

Tell = Callable[[str, Words | None], None]
"""Tells the owner once of a trouble, by its key; None when it is over."""


class Folders:
    """The folders, one by one. Whoever calls sees to it that nothing else writes meanwhile."""

    def __init__(
        self, ledger: Ledger, store: Store, clock: Clock, taken: Callable[[], Collection[str]], tell: Tell
    ) -> None:
        self._ledger = ledger
        self._store = store
        self._clock = clock
        self._taken = taken
        self._tell = tell
        self._stamps: dict[str, Stamp] = {}
        self._troubles: dict[str, QingtuanError] = {}
        self._prepared = False
        self._lost: set[str] = set()
        """Names of which the history knows nothing: it was lost, with their folders or without, and nobody deleted
        those one by one. Whoever put them back may have been cut off."""

    @property
    def troubles(self) -> Mapping[str, QingtuanError]:
        """By name, why a folder is not taken as it is, or cannot be written."""
        return dict(self._troubles)

    def names(self) -> list[str]:
        """Every name of which something stands in the folder, or should."""
        return sorted({*self._ledger.standings(), *self._store.disk.names()})

    def still(self) -> bool:
        """Whether every folder is as it was when it was last looked at, and there was nothing wrong with any."""
        if not self._prepared or self._troubles or self._lost or not self._store.has_history:
            return False
        known = {name: stamp for name, stamp in self._stamps.items() if any(stamp)}
        return {name: self._store.disk.stamp(name) for name in self._store.disk.names()} == known

    async def look_at(self, name: str, held: Held | None) -> None:
        """See what was done to one folder by hand, and finish what was cut off there."""
        if held is not None and held.over(self._clock.now()):
            self._ledger.delete(name, By(), "expired")
            held = None
        try:
            await self.prepare()
            stands = self._ledger.standing(name).version == (held.version.number if held else 0)
            if stands and self._stamps.get(name) == self._store.disk.stamp(name):
                return
            await self._take_in(name, held)
        except StorageFailed as error:
            self._trouble(name, error)
            return
        self._stamps[name] = self._store.disk.stamp(name)

    async def follow(self, name: str, held: Held | None) -> None:
        """Let the folder follow what was just written down. What cannot be written now is written at the next look,
        and a file that somebody edited meanwhile is left as it is."""
        try:
            await self.prepare()
            found = self._store.disk.read(name)
            counts = held.version.hash if held is not None else None
            if self._store.look(name, found, held) == "ours" or self._reads(name, counts):
                await self._store.settle(name, held, again=name in self._lost)
                self._lost.discard(name)
                self._stamps[name] = self._store.disk.stamp(name)
        except StorageFailed as error:
            self._trouble(name, error)

    async def put_back(self, name: str, held: Held | None, edited: Version) -> None:
        """Let the folder hold what counts in place of an edit that was turned down; what else somebody wrote there by
        now is left as it is. Raises `StorageFailed`."""
        await self.prepare()
        if not self._reads(name, edited.hash):
            return
        await self._store.settle(name, held, again=True)
        self._lost.discard(name)
        self._stamps[name] = self._store.disk.stamp(name)
        self._trouble(name, None)

    async def cleanse(self) -> None:
        """Make folders and history anew, if versions were erased. Raises `StorageFailed`."""
        if not self._ledger.lacks_any():
            return
        self._store.forget_history()
        await self._store.repository.prepare()
        self._prepared = True
        await self._store.replay()
        self._stamps.clear()
        for name in self.names():
            held = self._ledger.get(name)
            if self._store.look(name, self._store.disk.read(name), held) != "hand":
                await self._store.settle(name, held, again=True)

    async def prepare(self) -> None:
        """Make the repository if there is none. Raises `SettingsWrong`, `StorageFailed`."""
        if self._prepared and self._store.has_history:
            return
        if not self._store.has_history:
            self._stamps.clear()
            self._store.forget_history()
        await self._store.repository.prepare()
        self._lost = await self._store.unknown(self._ledger.standings())
        self._prepared = True

    async def _take_in(self, name: str, held: Held | None) -> None:
        found = self._store.disk.read(name)
        lost = name in self._lost
        match self._store.look(name, found, held):
            case "gone" if not lost:
                self._ledger.delete(name, BY_HAND, "hand")
                await self._store.settle(name, None)
            case "gone" | "ours":
                await self._store.settle(name, held, again=lost)
            case "hand":
                await self._hand(name, held)
                return
        self._lost.discard(name)
        for version in self._ledger.versions(name):
            if version.waits and version.how == "hand":
                self._ledger.withdraw(version, BY_HAND)  # it was taken back as it had come
                self._tell(f"capability {name} edited", None)
        self._trouble(name, None)

    async def _hand(self, name: str, held: Held | None) -> None:
        found = self._store.disk.read(name)
        try:
            definition = self._store.read(name, found)
            if held is not None and definition.hash == held.version.hash:
                await self._store.adopt(name, found, held)
            elif wrong := faults(definition, self._taken()):
                raise DefinitionRefused(wrong)
            else:
                self._note(definition)
        except DefinitionRefused as error:
            self._trouble(name, error)
        else:
            self._trouble(name, None)

    def _note(self, definition: Definition) -> None:
        waiting = [version for version in self._ledger.versions(definition.name) if version.waits]
        if not any(version.how == "hand" and version.hash == definition.hash for version in waiting):
            self._ledger.deploy(definition, BY_HAND, waits=True, note="edited by hand")
        self._tell(f"capability {definition.name} edited", _EDITED.filled(name=definition.name))

    def _reads(self, name: str, wanted: str | None) -> bool:
        """Whether the files that stand there say what has this hash, in whatever words."""
        try:
            return self._store.read(name, self._store.disk.read(name)).hash == wanted
        except DefinitionRefused:
            return False

    def _trouble(self, name: str, error: QingtuanError | None) -> None:
        if error is None:
            self._troubles.pop(name, None)
        else:
            self._troubles[name] = error
        words = _UNREADABLE.filled(name=name, why=error.words) if error is not None else None
        self._tell(f"capability {name} folder", words)


_EDITED = Words(
    "自己写的工具 {name} 的文件被手改过，改后的等你看：/capability approve {name}。在那之前还用原来的。",
    "The files of the capability {name} were edited; the edit waits for you: /capability approve {name}. Until then "
    "the old one runs.",
)
_UNREADABLE = Words(
    "自己写的工具 {name} 的文件夹没有采用：{why}",
    "The folder of the capability {name} is not taken as it is: {why}",
)
