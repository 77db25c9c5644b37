"""Work of a running instance about self-made tools."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.capabilities import shapes
from qingtuan.capabilities.definition import read
from qingtuan.capabilities.ledger import Use
from qingtuan.capabilities.values import Deployed
from qingtuan.channels.cli.link import Job, Report, Result
from qingtuan.errors import UsageWrong
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.direct import Direct

_Reports = AsyncGenerator[Report | Result, None]


def jobs_of(app: App) -> Mapping[str, Job]:
    """The jobs by name. Each is done as the account that its arguments name."""
    desk = _Desk(app)
    return {
        "capability.list": desk.listed,
        "capability.search": desk.search,
        "capability.show": desk.show,
        "capability.waiting": desk.waiting,
        "capability.run": desk.run,
        "capability.deploy": desk.deploy,
        "capability.approve": desk.approve,
        "capability.reject": desk.reject,
        "capability.switch": desk.switch,
        "capability.delete": desk.delete,
        "capability.rollback": desk.rollback,
        "capability.export": desk.export,
        "capability.import": desk.load,
    }


class _Desk:
    def __init__(self, app: App) -> None:
        self._app = app

    async def listed(self, given: Mapping[str, Any]) -> _Reports:
        """All capabilities that the account may use; for the owner, those that are off, too."""
        direct, registry = self._direct(given), self._app.capabilities
        await registry.look()
        uses = registry.uses()
        held = [one for one in registry.all() if direct.may_see(one.name)]
        waiting = [shapes.waiting_json(one) for one in registry.waiting()] if direct.by_hand else []
        yield Result({"items": [shapes.row_json(one, uses.get(one.name, Use())) for one in held], "waiting": waiting})

    async def search(self, given: Mapping[str, Any]) -> _Reports:
        page = await self._direct(given).query(str(given["words"]), int(given["limit"]), None)
        yield Result(shapes.page_json(page))

    async def show(self, given: Mapping[str, Any]) -> _Reports:
        direct, name = self._direct(given), str(given["name"])
        await self._app.capabilities.look()
        yield Result(shapes.card_json(direct.card(name), direct.history(name), self._app.language))

    async def waiting(self, given: Mapping[str, Any]) -> _Reports:
        """What of a name waits for the owner, whole."""
        self._direct(given).by("command")
        registry = self._app.capabilities
        await registry.look()
        waiting = registry.waiting(str(given["name"]))
        yield Result([{**shapes.waiting_json(one), "keyed": list(registry.keyed(one.definition))} for one in waiting])

    async def run(self, given: Mapping[str, Any]) -> _Reports:
        direct, name = self._direct(given), str(given["name"])
        arguments = given["arguments"]
        if not isinstance(arguments, Mapping):
            raise UsageWrong(_NO_OBJECT)
        words = given.get("words") or {}
        done = await direct.call(name, {**arguments, **direct.read(name, words)}, said_yes=bool(given.get("yes")))
        yield Result(shapes.called_json(name, done))

    async def deploy(self, given: Mapping[str, Any]) -> _Reports:
        made = await self._direct(given).deploy(read(given["definition"]), "command")
        yield Result(_deployed(made))

    async def approve(self, given: Mapping[str, Any]) -> _Reports:
        by = self._direct(given).by("command")
        yield Result(_deployed(await self._app.capabilities.approve(str(given["name"]), by, str(given["code"]))))

    async def reject(self, given: Mapping[str, Any]) -> _Reports:
        by = self._direct(given).by("command")
        await self._app.capabilities.reject(str(given["name"]), by, int(given["version"]))
        yield Result(None)

    async def switch(self, given: Mapping[str, Any]) -> _Reports:
        by, name = self._direct(given).by("command"), str(given["name"])
        registry = self._app.capabilities
        await (registry.disable(name, by) if given["off"] else registry.enable(name, by))
        yield Result(None)

    async def delete(self, given: Mapping[str, Any]) -> _Reports:
        await self._direct(given).delete(str(given["name"]), "command")
        yield Result(None)

    async def rollback(self, given: Mapping[str, Any]) -> _Reports:
        by = self._direct(given).by("command")
        yield Result(_deployed(await self._app.capabilities.rollback(str(given["name"]), int(given["version"]), by)))

    async def export(self, given: Mapping[str, Any]) -> _Reports:
        self._direct(given).by("command")
        data = await self._app.capabilities.export(given["names"] or None)
        yield Result(base64.b64encode(data).decode())

    async def load(self, given: Mapping[str, Any]) -> _Reports:
        by = self._direct(given).by("command")
        loaded = await self._app.capabilities.load(base64.b64decode(given["data"]), by)
        refused = {name: error.say(self._app.language) for name, error in loaded.refused.items()}
        yield Result({"deployed": [_deployed(made) for made in loaded.deployed], "refused": refused})

    def _direct(self, given: Mapping[str, Any]) -> Direct:
        account = str(given["account"])
        people = self._app.kit.people
        people.look()
        reader = people.reader(account, Space("private", account))
        return Direct(self._app.kit, self._app.capabilities, account, reader)


def _deployed(made: Deployed) -> dict[str, Any]:
    return {
        "name": made.name,
        "version": made.version,
        "waits": made.waits,
        "same": made.same,
        **({"approve": made.code} if made.waits else {}),
    }


_NO_OBJECT = Words("参数要写成 JSON 对象。", "Arguments are a JSON object.")
