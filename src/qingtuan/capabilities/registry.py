"""The registry of self-made capabilities: deployed, versioned, owned, run and counted (capabilities.md).

What counts are events (`ledger`); folder and git history follow (`store`); a few are warm (`warm`). A version counts at
once if the owner decided it, and else waits for them: whatever somebody else, a program, an archive or an editor brings
is not what was approved, and until it is, the old one runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from qingtuan.capabilities.bounds import faults
from qingtuan.capabilities.covering import Headers
from qingtuan.capabilities.definition import Definition, DefinitionRefused, Fault
from qingtuan.capabilities.folders import Folders
from qingtuan.capabilities.hits import page_of
from qingtuan.capabilities.ledger import By, Held, Use, Version
from qingtuan.capabilities.running import Journal, as_tool, called, fault_words, told
from qingtuan.capabilities.sandbox.base import Fetch, Job, Sandbox
from qingtuan.capabilities.shipped import Shipped
from qingtuan.capabilities.surroundings import Surroundings
from qingtuan.capabilities.trying import case_faults, compile_faults
from qingtuan.capabilities.values import Asking, Called, Card, Deployed, Loaded, Page, Status, Waiting
from qingtuan.capabilities.warm import Warm
from qingtuan.errors import NotAllowed, NotThere, QingtuanError, ToolFailed
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.storage.files import content_hash
from qingtuan.tools.schema import check_arguments
from qingtuan.tools.strict_json import canonical

PAGE = 20


class Capabilities:
    """The self-made capabilities of an instance. All use is from one event loop."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._ledger, self._clock = around.ledger, around.clock
        self._shipped = Shipped(around.shipped, around.ledger)
        self._warm = Warm(around.rules.resident)
        self._writing = asyncio.Lock()
        self._offered: dict[str, Held] = {}
        self._folders = Folders(around.ledger, around.store, around.clock, around.neighbours.taken, around.tell)

    # ------------------------------------------------------------------------------------------------ standing up

    async def start(self) -> None:
        """Take up what an earlier process left, and offer what there is. Raises `SettingsWrong`, `StorageFailed`."""
        self.offer()
        if any(held.version.number for held in self._offered.values()) or self._folders.names():
            await self.look()

    @property
    def sandbox(self) -> Sandbox:
        """Where their code runs."""
        return self._around.sandbox

    async def close(self) -> None:
        """End whatever runs."""
        await self._around.sandbox.close()

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Nothing here writes to the folders or their history until the block is left."""
        async with self._writing, self._around.store.repository.still():
            yield

    async def cleanse(self) -> None:
        """After somebody was erased: let nothing of the versions that went with them stay, in folders, history or mind.

        Raises:
            StorageFailed: the disk or git refuses; it is to be done again.
        """
        async with self._writing:
            self._warm = Warm(self._around.rules.resident)
            await self._folders.cleanse()
            self.offer()

    async def look(self) -> None:
        """See what was changed by hand, finish what was cut off, and let go of what has run out."""
        async with self._writing:
            now = self._clock.now()
            if self._folders.still() and not any(held.over(now) for held in self._offered.values()):
                return
            held = {one.name: one for one in self._ledger.all()}
            for name in sorted({*held, *self._folders.names()}):
                await self._folders.look_at(name, held.get(name))
            self.offer()

    def offer(self) -> None:
        """Let the catalog hold what can be called now."""
        taken = self._around.neighbours.taken()
        self._offered = {held.name: held for held in self.all() if not held.off and held.name not in taken}
        self._around.neighbours.offer([as_tool(held, self._call) for held in self._offered.values()])

    # -------------------------------------------------------------------------------------------------- deploying

    async def deploy(self, definition: Definition, by: By, *, over: int | None = None, note: str = "") -> Deployed:
        """Check a definition, and store it as a version: it counts at once if the owner decided it, and waits else.

        `over` is the version that it was made from: if another one counts by now, nothing is stored. 0 stands for none.

        Raises:
            DefinitionRefused: all that is wrong with it.
            ToolFailed: there is no sandbox.
            StorageFailed: the version was not written down.
        """
        fetched = await self.check(definition, reaching=by.sure)
        async with self._writing:
            await self._folders.look_at(definition.name, self._ledger.get(definition.name))
            held = self._alive(definition.name)
            number = held.version.number if held is not None else 0
            if over is not None and over != number:
                raise DefinitionRefused([Fault("version", _overtaken(number, over))])
            if held is not None and held.version.hash == definition.hash:
                return Deployed(definition.name, number, waits=False, same=True)
            said = note or ", ".join(changed(held.definition if held else None, definition)) or "new"
            return await self._brought(definition, by, said, fetched)

    async def check(self, definition: Definition, *, reaching: bool) -> list[Fetch]:
        """Everything that can be told of a definition without storing it. With `reaching` its cases may ask its hosts:
        only after the owner's yes. Where they reached out to.

        Raises:
            DefinitionRefused: all that is wrong with it.
            ToolFailed: there is no sandbox.
        """
        around = self._around
        wrong = faults(definition, around.neighbours.taken())
        uncompiled, fetched = await compile_faults(around.sandbox, definition.code), list[Fetch]()
        if not wrong and not uncompiled:
            headers = self._headers_of(definition)
            limits = around.rules.limits
            wrong, fetched = await case_faults(around.sandbox, definition, limits, headers=headers, reaching=reaching)
        if wrong or uncompiled:
            # What a case got may be what a host has said.
            raise DefinitionRefused(
                [*wrong, *uncompiled], foreign=reaching and bool(definition.hosts), detail=told(fetched)
            )
        return fetched

    async def rollback(self, name: str, version: int, by: By) -> Deployed:
        """Store a version that equals an older one which counted once; also of a capability that was deleted.

        Raises:
            NotThere: there is no such version, or it never counted.
            DefinitionRefused: it does not compile, or its cases do not pass.
            ToolFailed: there is no sandbox.
        """
        definition = self.definition(self._once_counted(name, version))
        fetched = await self.check(definition, reaching=by.sure)
        async with self._writing:
            await self._folders.look_at(name, self._ledger.get(name))
            old = self._once_counted(name, version)  # it may have been erased while it was tried
            held = self._alive(name)
            if held is not None and held.version.hash == old.hash:
                return Deployed(name, held.version.number, waits=False, same=True)
            # Words of somebody else stay theirs, and go with them.
            author = old.author if old.author != OWNER else by.person
            by = By(author, by.sure, "rollback", by.place, old.origin, by.cause)
            return await self._brought(definition, by, f"as v{version}", fetched)

    def _once_counted(self, name: str, number: int) -> Version:
        found = next((one for one in self.history(name) if one.number == number), None)
        if found is None:
            raise NotThere(Words(f"{name} 没有版本 {number}。", f"{name} has no version {number}."))
        if found.counted is None:
            raise NotThere(_NEVER_COUNTED.filled(name=name, number=number))
        return found

    async def approve(self, name: str, by: By, code: str) -> Deployed:
        """Let the version count that waits and that `code` stands for, exactly as it was shown over what it was shown.

        Raises:
            NotAllowed: not by the owner's own decision.
            NotThere: nothing of this name waits, or the code stands for something else.
            DefinitionRefused: it does not compile, or its cases do not pass.
        """
        if not by.sure:
            raise NotAllowed(_OWNER_DECIDES)
        waiting = self._waiting_by(name, code)
        fetched = await self.check(waiting.definition, reaching=True)
        async with self._writing:
            await self._folders.look_at(name, self._ledger.get(name))
            waiting = self._waiting_by(name, code)  # it may have changed while it was tried
            self._ledger.approve(waiting.version, by, fetched)
            self._around.tell(f"capability {name} edited", None)
            await self._settled(name)
            return Deployed(name, waiting.version.number, waits=False)

    async def reject(self, name: str, by: By, version: int) -> None:
        """Let a version not come that waits. An edit by hand goes out of the folder, unless a newer one stands there;
        its version stays, as all do.

        Raises:
            NotAllowed: not by the owner's own decision.
            NotThere: that version does not wait.
        """
        if not by.sure:
            raise NotAllowed(_OWNER_DECIDES)
        async with self._writing:
            await self._folders.look_at(name, self._ledger.get(name))
            waiting = next((one.version for one in self.waiting(name) if one.version.number == version), None)
            if waiting is None:
                raise NotThere(_NOT_WAITING)
            self._ledger.withdraw(waiting, by)
            self._around.tell(f"capability {name} edited", None)
            if waiting.how == "hand":
                await self._folders.put_back(name, self._ledger.get(name), waiting)

    async def delete(self, name: str, by: By) -> None:
        """Let it be no more. Its versions stay, and can be rolled back to.

        Raises:
            NotThere: there is none.
            NotAllowed: it is somebody else's.
        """
        async with self._writing:
            self._may(name, by)
            self._ledger.delete(name, by, "asked")
            await self._settled(name)

    async def disable(self, name: str, by: By) -> None:
        """Keep it from being called or found. Raises `NotThere`, `NotAllowed`."""
        self._switch(name, by, off=True)

    async def enable(self, name: str, by: By) -> None:
        """Let it be called again, and forget that it was broken; what comes with the product also after it was deleted.

        Raises:
            NotThere: there is none.
            NotAllowed: it is somebody else's.
        """
        self._switch(name, by, off=False)

    def _switch(self, name: str, by: By, *, off: bool) -> None:
        if off or not by.sure or name not in self._shipped:
            self._may(name, by)
        self._ledger.switch(name, by, off=off)
        self._warm.drop(name)
        self._broken_told(name, broken=False)
        self.offer()

    def _may(self, name: str, by: By) -> Held:
        held = self.get(name)
        if not by.sure and by.person != held.owner:
            raise NotAllowed(_OWNER_DECIDES)
        return held

    def _alive(self, name: str) -> Held | None:
        held = self._ledger.get(name)
        return self._shipped.get(name) if held is None or held.over(self._clock.now()) else held

    async def _settled(self, name: str) -> None:
        """Let everything follow what was just written down. Files that cannot be written now are written later."""
        held = self._ledger.get(name)
        self._warm.drop(name)
        if held is not None and not held.off:
            self._warm.put(held, self._clock.now())
        await self._folders.follow(name, held)
        self._broken_told(name, broken=False)
        self.offer()

    async def _brought(self, definition: Definition, by: By, note: str, fetched: Sequence[Fetch]) -> Deployed:
        """Store a version; not once more the one that its author has waiting already."""
        name, wanted = definition.name, (definition.hash, by.person, by.how, by.origin)
        for one in self._ledger.versions(name):
            if one.waits and not by.sure and (one.hash, one.author, one.how, one.origin) == wanted:
                return self._deployed(name, one.number)
        event = self._ledger.deploy(definition, by, waits=not by.sure, note=note, fetched=fetched)
        await self._settled(name)
        return self._deployed(name, event.payload["version"])

    def _deployed(self, name: str, number: int) -> Deployed:
        waiting = next((one for one in self.waiting(name) if one.version.number == number), None)
        return Deployed(name, number, waits=waiting is not None, code=waiting.code if waiting else "")

    # ---------------------------------------------------------------------------------------------------- looking

    def get(self, name: str) -> Held:
        """The capability of this name. Raises `NotThere`."""
        held = self._alive(name)
        if held is None:
            raise NotThere(Words(f"没有叫 {name[:60]} 的工具。", f"There is no capability {name[:60]}."))
        return held

    def all(self) -> list[Held]:
        """Every capability that there is, by name; those that are switched off, too."""
        now = self._clock.now()
        return self._shipped.beside(held for held in self._ledger.all() if not held.over(now))

    def card(self, name: str) -> Card:
        """All that is known of one. Raises `NotThere`."""
        held = self.get(name)
        use = self._ledger.use().get(name, Use())
        return Card(held, use, tuple(self.waiting(name)), self.troubles.get(name))

    def history(self, name: str) -> list[Version]:
        """All versions of a name, newest first, also of one that was deleted. Raises `NotThere`."""
        versions = self._ledger.versions(name)
        if name in self._shipped:
            versions.append(self._shipped.version(name))
        if not versions:
            raise NotThere(Words(f"没有叫 {name[:60]} 的工具。", f"There is no capability {name[:60]}."))
        return versions

    def definition(self, version: Version) -> Definition:
        """What a version is."""
        return self._shipped.definition(version) or self._ledger.definition(version)

    def waiting(self, name: str | None = None) -> list[Waiting]:
        """What waits for the owner's yes, of one name or of all."""
        return [self._waiting(one) for one in self._ledger.waiting() if name in (None, one.name)]

    @property
    def troubles(self) -> Mapping[str, QingtuanError]:
        """By name, why a folder cannot be read as it is, or not be written."""
        return self._folders.troubles

    def _waiting(self, version: Version) -> Waiting:
        before, definition = self._alive(version.name), self._ledger.definition(version)
        known = [before.version.event if before else "", version.event, version.hash]
        code = content_hash(canonical(known).encode())[:6]
        return Waiting(version, definition, code, before, changed(before.definition if before else None, definition))

    def _waiting_by(self, name: str, code: str) -> Waiting:
        waiting = self.waiting(name)
        found = next((one for one in waiting if one.code == code.strip().lower()), None)
        if found is None:
            raise NotThere(_NOT_WAITING if not waiting else _OTHER_CODE)
        return found

    async def query(self, q: str, reader: Reader, limit: int = PAGE, cursor: str | None = None) -> Page:
        """The capabilities that the reader may use and that fit `q`, best first; all of them by name without it.

        Raises:
            UsageWrong: a cursor that no page gave.
        """
        if q.strip():
            names: Sequence[str] = await self._around.neighbours.find(q, reader, max(len(self._offered), 1))
        else:
            names = [name for name in self._offered if self._around.neighbours.permits(name, reader)]
        now = self._clock.now()
        found = [held for held in map(self._offered.get, names) if held is not None and not held.over(now)]
        return page_of(found, limit, cursor)

    def status(self) -> Status:
        """How the registry is, counted."""
        held, use = self.all(), self._ledger.use().values()
        return Status(
            stored=len(held),
            resident=len(self._warm),
            most_resident=self._warm.most,
            evictions=self._warm.evictions,
            cold_starts=self._warm.cold_starts,
            waiting=len(self._ledger.waiting()),
            broken=sum(one.broken for one in held),
            off=sum(one.off for one in held),
            calls=sum(one.calls for one in use),
            failures=sum(one.failures for one in use),
            troubles=sorted(self.troubles),
        )

    @property
    def warm(self) -> tuple[str, ...]:
        """The names of those that are held warm, least recently used first."""
        return tuple(self._warm.names)

    def uses(self) -> Mapping[str, Use]:
        """How the calls of each went."""
        return self._ledger.use()

    # ---------------------------------------------------------------------------------------------------- running

    async def run(self, name: str, arguments: Mapping[str, Any], asking: Asking) -> Called:
        """Call a capability for somebody who is no model: a program, a command.

        Raises:
            NotThere: there is none that this reader may use.
            ArgumentsRefused: the arguments do not fit its schema; what is wrong or missing is named.
            ToolFailed: it gave no result; the sentence says why.
        """
        if name in self._shipped and name in self._offered and self._offered[name].over(self._clock.now()):
            self.offer()  # its time is over, and what it stood before is there again
        if name not in self._offered or not self._around.neighbours.permits(name, asking.reader):
            raise NotThere(Words(f"没有叫 {name[:60]} 的工具。", f"There is no capability {name[:60]}."))
        checked = check_arguments(canonical(dict(arguments)), self._offered[name].definition.strict)
        return await self._call(name, None, checked, asking)

    async def _call(self, name: str, version: int | None, arguments: Mapping[str, Any], asking: Asking) -> Called:
        held, cold = self._warm.take(name, lambda: self._alive(name), self._clock.now())
        if held is None or held.off or held.over(self._clock.now()):
            self._warm.drop(name)
            raise ToolFailed(_GONE.filled(name=name))
        if version is not None and held.version.number != version:
            raise ToolFailed(_CHANGED.filled(name=name))
        headers = self._headers_of(held.definition)
        limits = self._around.rules.limits
        ran = await self._around.sandbox.run(
            Job(held.definition.code, arguments, held.definition.hosts, headers, limits)
        )
        if ran.fault is not None and ran.fault.before_code:
            raise ToolFailed(fault_words(ran), detail=ran.fault.message)
        journal = Journal(held, ran, headers)
        self._ledger.called(journal.payload, journal.place(asking), asking.cause)
        self._after(name, failed=ran.fault is not None)
        return called(held, journal.ran, cold=cold)

    def _after(self, name: str, *, failed: bool) -> None:
        """Let its being broken be known, or over."""
        now = self._alive(name)
        if now is not None and name in self._offered and now.broken != self._offered[name].broken:
            self._broken_told(name, broken=failed)
            self.offer()

    def _broken_told(self, name: str, *, broken: bool) -> None:
        self._around.tell(f"capability {name} broken", _BROKEN.filled(name=name) if broken else None)

    def _headers_of(self, definition: Definition) -> Headers:
        if not definition.hosts:
            return {}
        return {host: headers for host, headers in self._around.headers().items() if host in definition.hosts}

    def keyed(self, definition: Definition) -> tuple[str, ...]:
        """Its hosts to whose requests we add a key that the owner set."""
        return tuple(self._headers_of(definition))

    # ----------------------------------------------------------------------------------------------- taking along

    async def export(self, names: Collection[str] | None = None) -> bytes:
        """A zip of the folders of these capabilities, or of all, with a manifest. Raises `NotThere`."""
        from qingtuan.capabilities import archive  # hardly ever needed

        held = self.all() if names is None else [self.get(name) for name in names]
        return archive.packed([one.definition for one in held])

    async def load(self, data: bytes, by: By) -> Loaded:
        """Take in what `export` made, or somebody else. Each one is a version that waits for the owner.

        Raises:
            UsageWrong: it is no such archive.
        """
        from qingtuan.capabilities import archive  # hardly ever needed

        deployed: list[Deployed] = []
        refused: dict[str, QingtuanError] = {}
        by = By(by.person, False, "import", by.place, archive.ORIGIN, by.cause)
        for name, read in archive.unpacked(data).items():
            try:
                deployed.append(await self.deploy(read(), by))
            except (DefinitionRefused, ToolFailed) as error:
                refused[name] = error
        return Loaded(tuple(deployed), refused)


def changed(before: Definition | None, after: Definition) -> tuple[str, ...]:
    """The fields that differ; none for a new one."""
    if before is None:
        return ()
    old, new = before.json, after.json
    return tuple(name for name in new if old[name] != new[name])


def _overtaken(number: int, over: int) -> Words:
    if not over:
        return Words(
            f"已经有了，现在是版本 {number}：用 capability_update 改它",
            f"exists, as version {number}: use capability_update",
        )
    if not number:
        return Words("已经没有了", "is there no more")
    return Words(
        f"是照版本 {over} 改的，可现在是版本 {number}：先看过新的再改",
        f"was made from version {over}, but version {number} counts now: look at that first",
    )


_OWNER_DECIDES = Words("这要主人自己来定。", "The owner decides this.")
_NEVER_COUNTED = Words(
    "{name} 的版本 {number} 从来没有被同意过，不能回到它。",
    "{name} version {number} was never approved, so there is no going back to it.",
)
_NOT_WAITING = Words("没有在等的。", "Nothing waits.")
_OTHER_CODE = Words(
    "这个代码对不上：等着的变了，或者正在用的变了。重新看过，再用新的代码。",
    "The code stands for something else: what waits has changed, or what it would replace. Look again.",
)
_GONE = Words("{name} 已经停用、删除或者过期了。", "{name} was disabled or deleted, or has run out.")
_CHANGED = Words("{name} 刚刚换了版本，再调一次。", "{name} has another version by now; call it again.")
_BROKEN = Words(
    "自己写的工具 {name} 连着失败了三次。",
    "The capability {name} has failed three times in a row.",
)
