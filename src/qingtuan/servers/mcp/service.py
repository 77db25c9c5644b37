"""What the server does, whatever protocol or process asks for it: one door for every call of a program."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.channels.http.limits import Window
from qingtuan.errors import (
    ForModel,
    ForOwner,
    ForPerson,
    LimitReached,
    NotAllowed,
    NotThere,
    QingtuanError,
    ToolUnknown,
)
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.servers.mcp.call import Call, Report
from qingtuan.servers.mcp.journal import Journal
from qingtuan.servers.mcp.offers import BY_NAME, OFFERS, Offer
from qingtuan.servers.mcp.owner import Owner
from qingtuan.servers.mcp.ports import Answer, Ports
from qingtuan.servers.mcp.program import Program
from qingtuan.servers.mcp.reading import Listed, Reading
from qingtuan.servers.mcp.remembering import Remembering
from qingtuan.tools.schema import check_arguments

_LOG = logging.getLogger("qingtuan.mcp")
_READ = "resources/read"
"""What the record calls the reading of a page that is no tool's."""
_PER_DAY: Mapping[str, int] = {"remember": 200, "notify_owner": 60, "ask_owner": 60}
"""Calls of one program in a day."""
_LONGEST_DETAIL = 300
_PER_MINUTE = 6
"""Notices and questions of one program."""

Run = Callable[[Call, Mapping[str, Any]], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that came to nothing, and how to say so."""

    status: str
    words: Words
    detail: str = ""


class Service:
    """All tools and pages, for one program at a time."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        record = ports.kit.record
        self._journal = Journal(record.log, record.ids)
        self._reading = Reading(ports)
        self._owner = Owner(ports)
        self._often = Window(_PER_MINUTE, record.clock)
        self._runs: Mapping[str, Run] = {
            "memory_search": self._reading.memory_search,
            "memory_recall": self._reading.memory_recall,
            "wiki_read": self._reading.wiki_read,
            "remember": Remembering(ports).remember,
            "notify_owner": self._owner.notify_owner,
            "ask_owner": self._owner.ask_owner,
        }

    def stop(self) -> None:
        """Close what waits for the owner."""
        self._owner.stop()

    def offers(self, program: Program) -> list[dict[str, Any]]:
        """The tools for a program, as the protocol has them.

        Raises:
            NotAllowed: it is nobody's.
        """
        reader = self._reader(program)
        language = self._ports.kit.speaks_to(reader)
        return [offer.shown(language) for offer in OFFERS if offer.open_to(program, reader)]

    async def call(self, program: Program, name: str, arguments: Mapping[str, Any], report: Report) -> Answer:
        """Call a tool. What goes wrong is the answer, too: the model that called reads it."""
        reader = self._reader(program)
        call = self._begun(program, reader, name, arguments, report)

        async def run() -> Answer:
            offer = BY_NAME.get(name)
            if offer is None or not offer.open_to(program, reader):
                raise ToolUnknown(_NO_TOOL)
            checked = check_arguments(json.dumps(dict(arguments)), offer.parameters)
            self._slow_down(offer, program)
            return await self._runs[name](call, checked)

        return await self._answered(call, run)

    def pages(self, program: Program, cursor: str | None) -> tuple[list[Listed], str | None]:
        """The pages that a program may read, and what to go on with.

        Raises:
            UsageWrong: the cursor is none.
            NotAllowed: the program is nobody's.
        """
        return self._reading.pages(self._reader(program), cursor)

    async def page(self, program: Program, uri: str) -> Answer:
        """One of them, or why not."""
        call = self._begun(program, self._reader(program), _READ, {"uri": uri}, _unheard)
        return await self._answered(call, lambda: self._reading.page(call, uri))

    def _reader(self, program: Program) -> Reader:
        return program.reader(self._ports.kit.people)

    def _begun(self, program: Program, reader: Reader, name: str, arguments: Mapping[str, Any], report: Report) -> Call:
        kit = self._ports.kit
        language = kit.speaks_to(reader)
        called = self._journal.called(program, reader, name, arguments, language)
        now = kit.record.clock.now().astimezone(kit.zone_of(reader))
        return Call(program, reader, called, now, language, report)

    def _slow_down(self, offer: Offer, program: Program) -> None:
        """Raise `LimitReached` for a program that does too much. The call itself stands in the record already."""
        if offer.reaches_people:
            if self._often.full(program.account):
                raise LimitReached(_TOO_OFTEN)
            self._often.count(program.account)
        most = _PER_DAY.get(offer.name)
        if most is not None and self._journal.lately(program, offer.name) > most:
            raise LimitReached(_ENOUGH)

    async def _answered(self, call: Call, run: Callable[[], Awaitable[Answer]]) -> Answer:
        """The edge of a call: whatever happens in it, the record says how it ended."""
        try:
            answer = await run()
        except QingtuanError as error:
            failed = _failed(error)
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            _LOG.error("a call of a program broke: %s", type(error).__name__, exc_info=error)
            failed = Failed("broken", _BROKE, type(error).__name__)
        except BaseException:
            self._journal.answered(call.event, "stopped")
            raise
        else:
            self._journal.answered(call.event, "ok", chars=len(answer.text), count=_count(answer))
            return answer
        self._journal.answered(call.event, failed.status, detail=failed.detail[:_LONGEST_DETAIL] or None)
        return Answer(failed.words.say(call.language), failed=True)


def _failed(error: QingtuanError) -> Failed:
    """What a program is told. What only the owner can mend is not spelled out to it."""
    match error:
        case NotAllowed() | LimitReached() | ToolUnknown():
            return Failed("refused", error.words)
        case NotThere() | ForPerson() | ForModel():
            return Failed("failed", error.words)
        case ForOwner():
            return Failed("failed", _OWNER_MUST_ACT, f"{error.words.en} {error.detail}")
        case _:
            return Failed("broken", _BROKE, repr(error))


def _count(answer: Answer) -> int | None:
    """How many entries, lines or pages a program got."""
    for name in ("entries", "lines"):
        if name in answer.data:
            return len(answer.data[name])
    return 1 if "path" in answer.data else None


def _unheard(_: float, __: str) -> None:
    """Nobody is told."""


_NO_TOOL = Words("没有这个工具，或者这把密钥不能用它。", "There is no such tool, or not for this key.")
_TOO_OFTEN = Words("找主人太频繁了，过一分钟再来。", "That is too often for the owner; come back in a minute.")
_ENOUGH = Words("今天用这个够多了，明天再来。", "That is all of this for today; come back tomorrow.")
_BROKE = Words("这边出错了，没有结果。", "Something broke here; there is no result.")
_OWNER_MUST_ACT = Words("现在用不了，要主人来处理。", "It does not work now; the owner has to see to it.")
