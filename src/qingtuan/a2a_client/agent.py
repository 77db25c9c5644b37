"""One agent: its card, fetched and pinned, and the questions that are put to it."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from qingtuan.a2a_client.answer import OPEN, Gathered
from qingtuan.a2a_client.card import LARGEST, Card, card_of
from qingtuan.a2a_client.config import AgentConfig, origin_of
from qingtuan.a2a_client.failures import KEY, Failure
from qingtuan.a2a_client.pins import Pins, Waiting
from qingtuan.a2a_client.talks import State as TalkState
from qingtuan.a2a_client.talks import Talk, Talks
from qingtuan.a2a_client.telling import result_of
from qingtuan.clock import Clock
from qingtuan.errors import FetchFailed, OutcomeUnknown, ServerDown, StorageFailed, ToolFailed
from qingtuan.language import Words
from qingtuan.media.store import MediaStore
from qingtuan.net.addresses import Address
from qingtuan.net.answers import Limits
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.storage.files import read_regular, write_atomic
from qingtuan.tools.plain import covered, line
from qingtuan.tools.tool import ToolContext, ToolResult

FRESH = 600.0
"""Seconds for which a card counts as the one that is there."""
_CARD_SECONDS = 15.0
_CANCEL_SECONDS = 5.0
_PROGRESS = 120
"""Characters of a line about how far it is."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all agents share."""

    clock: Clock
    pins: Pins
    talks: Talks
    cache: Path
    """Folder of the cards as they were seen last."""
    media: MediaStore
    """Where files that they send are kept."""
    fetcher: SafeFetcher
    hops: Callable[[str], int]
    """Through how many agents came what a turn is about."""
    most_hops: int


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """How one agent is, for the owner."""

    name: str
    url: str
    state: Literal["known", "unseen", "waits", "down"]
    said: str = ""
    """What it says of itself."""
    waiting: Waiting | None = None
    error: Words | None = None


class Agent:
    """One agent of the settings."""

    def __init__(self, config: AgentConfig, around: Surroundings) -> None:
        self.config = config
        self._around = around
        self._card = self._cached()
        self._fetched: float | None = None
        self._error: Words | None = None
        self._canceling: set[asyncio.Task[None]] = set()

    # Its card

    @property
    def card(self) -> Card | None:
        """Its card, as far as it may be shown: seen, and approved where that is needed."""
        return self._card if self._card is not None and self.waiting is None else None

    @property
    def waiting(self) -> Waiting | None:
        """What of it waits for the owner's word."""
        return self._around.pins.waiting(self.config, self._card) if self._card is not None else None

    @property
    def tried(self) -> bool:
        """Whether its card was fetched or tried in this run, or is known from an earlier one."""
        return self._card is not None or self._error is not None

    def status(self) -> AgentStatus:
        """How it is."""
        waiting = self.waiting
        state: Literal["known", "unseen", "waits", "down"] = "known" if self._card is not None else "unseen"
        state = "waits" if waiting is not None else "down" if self._error is not None else state
        said = self._card.described if self._card is not None else ""
        return AgentStatus(self.config.name, self.config.url, state, said, waiting, self._error)

    def approve(self, cause: str | None) -> None:
        """Let its card count as it is."""
        if self._card is not None:
            self._around.pins.pin(self.config, self._card, approved=True, cause=cause)

    async def look(self) -> Card:
        """Fetch its card, whatever is known of it.

        Raises:
            ServerDown: it cannot be had.
            ToolFailed: it is none that can be used.
        """
        try:
            data = await self._get()
            card = await asyncio.to_thread(card_of, data, self.config)
        except (FetchFailed, ToolFailed) as error:
            self._error = error.words
            if isinstance(error, ToolFailed):
                raise
            raise ServerDown(_not_asked(self.config.name, error.words), detail=error.detail) from None
        self._error, self._fetched = None, self._around.clock.monotonic()
        if card != self._card:
            self._keep(data)
            self._card = card
        return card

    async def _get(self) -> bytes:
        config, home = self.config, origin_of(self.config.url)

        def allowed(address: Address) -> bool:
            return (address.scheme, address.host, address.port) == home

        headers = {"accept": "application/json", "a2a-version": "1.0"}
        headers |= {"authorization": f"Bearer {config.key}"} if config.key else {}
        answer = await self._around.fetcher.allow_private_of(config.url).request(
            "GET",
            config.card_url,
            headers=headers,
            limits=Limits(size=LARGEST, seconds=_CARD_SECONDS, redirects=0, idle=_CARD_SECONDS),
            allow=allowed,
        )
        if answer.status != 200:
            words = KEY if answer.status in (401, 403) else _NO_CARD.filled(status=answer.status)
            raise FetchFailed(words)
        return answer.data

    async def _fresh(self) -> Card:
        now = self._around.clock.monotonic()
        if self._card is None or self._fetched is None or now - self._fetched > FRESH:
            return await self.look()
        return self._card

    @property
    def _path(self) -> Path:
        return self._around.cache / f"{self.config.name}.json"

    def _cached(self) -> Card | None:
        """The card as it was seen last, of the same address."""
        try:
            data = read_regular(self._path, limit=3 * LARGEST)
            kept: dict[str, Any] = json.loads(data) if data else {}
            if kept.get("url") != self.config.url:
                return None
            return card_of(base64.b64decode(kept["card"]), self.config)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ToolFailed):
            return None

    def _keep(self, data: bytes) -> None:
        kept = {"url": self.config.url, "card": base64.b64encode(data).decode()}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path, json.dumps(kept).encode())
        except (OSError, StorageFailed):
            return  # it is fetched anew at the next start

    # Asking

    async def ask(self, context: ToolContext, text: str) -> ToolResult:
        """Put something to it, or go on waiting for what it is at.

        Raises:
            ToolFailed: it was not asked, or says that it did not do it.
            ServerDown: it was not asked: it cannot be reached, or is not set up.
            OutcomeUnknown: it may have been done.
        """
        hops = self._around.hops(context.turn) + 1
        if hops > self._around.most_hops:
            raise ToolFailed(_ROUND.filled(hops=self._around.most_hops))
        self._check()
        card = await self._fresh()
        if self._around.pins.waiting(self.config, card) is not None:
            raise ToolFailed(WITHHELD.filled(name=self.config.name))
        from qingtuan.a2a_client.calling import Line  # heavy

        around = self._around
        talk = around.talks.of(context.session, context.reader.person, self.config.name)
        goes_on = talk.state in ("working", "login")
        gathered = Gathered(context=talk.context, task=talk.task if talk.state != "answered" else "")
        called = Line(self.config, card, around.fetcher, around.clock, hops)

        def report(told: str) -> None:
            context.report(line(covered(told, self.config.secrets), _PROGRESS))

        waiting = called.wait(gathered, report) if goes_on else called.ask(text, gathered, report)
        try:
            async with asyncio.timeout(self.config.timeout):
                await waiting
        except TimeoutError:
            if not gathered.pending:
                raise OutcomeUnknown(self._named(_NO_ANSWER)) from None
        except asyncio.CancelledError:
            self._give_up(called, gathered, context)
            raise
        except Failure as failure:
            self._failed(failure, gathered, talk, context)
        self._note(gathered, context)
        return await self._told(gathered, context, asked=not goes_on)

    def _check(self) -> None:
        if not installed():
            raise ServerDown(NOT_INSTALLED)
        if self.config.missing:
            raise ServerDown(_not_asked(self.config.name, _NO_KEY.filled(variable=self.config.missing)))

    def _failed(self, failure: Failure, gathered: Gathered, talk: Talk, context: ToolContext) -> None:
        """A failed call: raise what there is to say of it, unless it left a task to be asked about later. Where nothing
        came of it the talk stays as it was: what was to be said can be said again."""
        words = self._named(failure.words)
        if gathered.pending and not failure.final:
            return
        if talk.task and failure.final:
            # It will hear no more of that task: what is said next begins anew, in the same talk.
            self._around.talks.note(context.call, self.config.name, Talk(context=talk.context))
        raise (OutcomeUnknown if failure.sent else ToolFailed)(words, detail=failure.detail)

    async def _told(self, gathered: Gathered, context: ToolContext, *, asked: bool) -> ToolResult:
        result = await asyncio.to_thread(result_of, gathered, self.config, self._around.media, context.language)
        if gathered.state in ("rejected", "failed", "canceled"):
            head = self._named(_ENDS[gathered.state])
            raise ToolFailed(Words(f"{head.zh}\n{result.text}".strip(), f"{head.en}\n{result.text}".strip()))
        if not asked:
            note = _NOT_SENT.say(context.language).format(name=self.config.name)
            result = replace(result, text=f"{note}\n{result.text}")
        return result

    def _note(self, gathered: Gathered, context: ToolContext) -> None:
        state: TalkState = "answered"
        if gathered.task and gathered.state in OPEN:
            state = _OPEN[gathered.state]
        task = gathered.task if state != "answered" else ""
        self._around.talks.note(context.call, self.config.name, Talk(gathered.context, task, state))

    def _give_up(self, called: Any, gathered: Gathered, context: ToolContext) -> None:
        """The turn was stopped: the agent is told so, for as long as that takes."""
        if not gathered.task or gathered.state not in OPEN:
            return
        self._around.talks.note(context.call, self.config.name, Talk(gathered.context))

        async def cancel() -> None:
            try:
                async with asyncio.timeout(_CANCEL_SECONDS):
                    await called.cancel(gathered.task)
            except TimeoutError:
                return

        task = asyncio.create_task(cancel(), name=f"a2a cancel {self.config.name}")
        self._canceling.add(task)
        task.add_done_callback(self._canceling.discard)

    async def close(self) -> None:
        """End what is still being told."""
        if self._canceling:
            await asyncio.wait(self._canceling, timeout=_CANCEL_SECONDS)

    def _named(self, words: Words) -> Words:
        return Words(f"{self.config.name}：{words.zh}", f"{self.config.name}: {words.en}")


def installed() -> bool:
    """Whether what the protocol needs is there; nothing of it is loaded."""
    return importlib.util.find_spec("a2a") is not None


def _not_asked(name: str, words: Words) -> Words:
    return Words(f"没有问 {name}：{words.zh}", f"{name} was not asked: {words.en}")


_OPEN: dict[str, TalkState] = {"working": "working", "input-required": "asks", "auth-required": "login"}
_ENDS = {
    "rejected": Words("它没有接下。", "It did not take it."),
    "failed": Words("它没有办成。", "It was not able to do it."),
    "canceled": Words("它取消了。", "It canceled it."),
}
WITHHELD = Words(
    "没有问 {name}：它的名片和主人认可的时候不一样，或者通向别的主机。主人用 /agents 看过、认可后才能问。",
    "{name} was not asked: its card is not what the owner approved, or leads to another host. It can be asked once the "
    "owner has looked at it with /agents.",
)
NOT_INSTALLED = Words(
    "没有装 A2A，问不了别的助手：pip install 'qingtuan[a2a]'，再重新启动。",
    "A2A is not installed, so no other agent can be asked: pip install 'qingtuan[a2a]', and start anew.",
)
_NO_KEY = Words("没有 {variable} 这个变量，写进 .env。", "there is no variable {variable}; put it into .env.")
_NO_CARD = Words("取不到它的名片（HTTP {status}）。", "its card cannot be had (HTTP {status}).")
_NO_ANSWER = Words("等了很久没有回答。", "it gave no answer for a long time.")
_ROUND = Words(
    "没有问：这件事已经转过 {hops} 个助手了，可能在绕圈子。",
    "Not asked: this came through {hops} agents already, and may go round in a circle.",
)
_NOT_SENT = Words(
    "[{name} 还在做上一件，所以这次的话没有发给它，只看了进展]",
    "[{name} was still at what it was asked before, so this was not sent: only its progress was looked at]",
)
