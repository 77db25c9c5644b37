"""What a terminal asks of a running instance, in whatever process that runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.following import Followed, Host, Line
from qingtuan.errors import NotAllowed, UsageWrong
from qingtuan.identity.accounts import LOCAL
from qingtuan.language import Words
from qingtuan.messages import Attachment, Inbound, Material, Outbound, Space

CHANNEL = "cli"


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks where. The terminal belongs to the owner, who may try out being anybody."""

    account: str = LOCAL
    space: Space = Space("private", LOCAL)  # noqa: RUF009 (frozen)


@dataclass(frozen=True, slots=True)
class Saying:
    """Something to say."""

    speaker: Speaker
    text: str
    message_id: str
    """Chosen by the caller: what is said twice under one id is heard once."""
    session: str | None = None
    materials: tuple[Material, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    """Kept in the data folder by whoever says it."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A command that can be typed."""

    text: str
    """With its slash."""
    usage: str
    help: str


@dataclass(frozen=True, slots=True)
class Report:
    """How far a job has come."""

    what: str
    done: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a job found or did."""

    value: Any
    """As JSON has it."""


Job = Callable[[Mapping[str, Any]], AsyncGenerator[Report | Result, None]]
"""Work of a running instance that is no message: it reports, and gives one result in the end."""


class Link(Protocol):
    """A line to a running instance."""

    def say(self, saying: Saying) -> AsyncGenerator[Followed, None]:
        """Say something and follow it to its end.

        Raises:
            NotAllowed: the account may not speak there.
            Disconnected: the line broke. Before the first piece nothing is known; behind it the message is stored.
        """
        ...

    def attend(self, speaker: Speaker) -> AsyncGenerator[Outbound | CaughtUp, None]:
        """What comes to a chat without having been asked for on some other line; first what had waited."""
        ...

    async def stop(self, session: str) -> bool:
        """Stop the running turn of a session. False if none runs."""
        ...

    async def complete(self, speaker: Speaker, prefix: str) -> tuple[Suggestion, ...]:
        """Commands that begin with `prefix` and that the speaker may use."""
        ...

    def run(self, job: str, arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
        """Do a job where the instance runs. Raises what the job raises, and `UsageWrong` for an unknown one."""
        ...


class LocalLink:
    """A line to an instance in this very process."""

    def __init__(self, host: Host, jobs: Mapping[str, Job] | None = None) -> None:
        self._host = host
        self._jobs = jobs or {}
        self._line = Line(CHANNEL, host)

    def say(self, saying: Saying) -> AsyncGenerator[Followed, None]:
        return self._line.say(
            Inbound(
                channel=CHANNEL,
                account=saying.speaker.account,
                space=saying.speaker.space,
                message_id=saying.message_id,
                text=saying.text,
                time=self._host.kit.record.clock.now(),
                session=saying.session,
                materials=saying.materials,
                attachments=saying.attachments,
            )
        )

    async def attend(self, speaker: Speaker) -> AsyncGenerator[Outbound | CaughtUp, None]:
        async with aclosing(self._line.attend(speaker.space)) as pieces:
            async for piece in pieces:
                if isinstance(piece, (Outbound, CaughtUp)):
                    yield piece

    async def stop(self, session: str) -> bool:
        return self._host.queues.stop(session)

    async def complete(self, speaker: Speaker, prefix: str) -> tuple[Suggestion, ...]:
        try:
            reader = self._host.kit.people.reader(speaker.account, speaker.space)
        except NotAllowed:
            return ()
        language = self._host.kit.speaks_to(reader)
        return tuple(
            Suggestion(f"/{name}", command.usage, command.help.say(language))
            for command in self._host.commands.usable(reader)
            for name in command.names
            if f"/{name}".lower().startswith(prefix.lower())
        )

    async def run(self, job: str, arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
        if job not in self._jobs:
            raise UsageWrong(Words(f"没有 {job} 这项工作。", f"There is no job {job}."))
        async with aclosing(self._jobs[job](arguments)) as reports:
            async for report in reports:
                yield report

    async def close(self) -> None:
        """Stop delivering messages to this channel. A command that waits for a turn is not waited for."""
        self._host.queues.let_go()
        await self._line.close()
