"""Talk over HTTP: what a caller says becomes a message, and what comes of it an answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.following import Followed, Host, Line
from qingtuan.channels.http.front import Caller
from qingtuan.channels.http.problems import Declined, Problem, malformed, taken
from qingtuan.channels.outcome import Done, answers
from qingtuan.errors import NotAllowed, StorageFailed
from qingtuan.identity.access import Reason
from qingtuan.language import Words
from qingtuan.messages import Attachment, Inbound, Material, Outbound, Remote
from qingtuan.turn.desk import Taken

CHANNEL = "http"


@dataclass(frozen=True, slots=True)
class Said:
    """What a caller says."""

    text: str
    session: str | None = None
    attachments: tuple[Attachment, ...] = ()
    materials: tuple[Material, ...] = ()
    remotes: tuple[Remote, ...] = ()
    message_id: str | None = None
    """The caller's own id of it: what is sent twice under one is heard once."""


@dataclass(frozen=True, slots=True)
class Answered:
    """All that came of it."""

    done: Done
    replies: tuple[Outbound, ...]
    """What answers it, in order."""
    waiting: tuple[Outbound, ...]
    """What had waited for somebody to ask, and what was said beside the answer."""


class Talk:
    """The talk of all callers."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._line = Line(CHANNEL, host)

    async def answer(self, caller: Caller, said: Said, *, of_session: bool = False) -> Answered:
        """Say something, and wait for all that comes of it. Being cancelled before that loses nothing: it waits. With
        `of_session` only what had waited in the same session comes along.

        Raises:
            Declined: it was not taken in, or not answered.
        """
        replies, beside = [], []
        kind, done = None, None
        async with aclosing(self.follow(caller, said, at_end=True)) as pieces:
            async for piece in pieces:
                match piece:
                    case Taken():
                        kind = piece
                    case Outbound() if kind is not None and answers(kind, piece.kind):
                        replies.append(piece)
                    case Outbound():
                        beside.append(piece)
                    case Done():
                        done = piece
        assert done is not None  # follow ends with it
        waiting = [one async for one in self.waiting(caller, done.session if of_session else None)]
        return Answered(done, tuple(replies), (*waiting, *beside))

    async def follow(self, caller: Caller, said: Said, *, at_end: bool = False) -> AsyncGenerator[Followed, None]:
        """Say something and follow it. The first piece is the `Taken`, the last one the `Done`.

        Raises:
            Declined: it was not taken in, or not answered.
        """
        inbound = Inbound(
            channel=CHANNEL,
            account=caller.account,
            space=caller.space,
            message_id=said.message_id or uuid4().hex,
            text=said.text.replace("\0", ""),
            time=self._host.kit.record.clock.now(),
            session=said.session,
            materials=said.materials,
            attachments=said.attachments,
            remotes=said.remotes,
        )
        try:
            async with aclosing(self._line.say(inbound, at_end=at_end)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Taken) and piece.kind == "known":
                        raise Declined(_KNOWN)
                    if isinstance(piece, Done):
                        _check(piece)
                    yield piece
        except NotAllowed as error:
            raise Declined(Problem(403, "refused", error.words)) from error
        except StorageFailed as error:
            raise Declined(_NOT_STORED) from error

    async def waiting(self, caller: Caller, session: str | None = None) -> AsyncGenerator[Outbound, None]:
        """What waits for a caller at this moment."""
        async with aclosing(self._line.attend(caller.space, session)) as pieces:
            async for piece in pieces:
                if isinstance(piece, CaughtUp):
                    return
                if isinstance(piece, Outbound):
                    yield piece

    async def attend(self, caller: Caller) -> AsyncGenerator[Outbound, None]:
        """What comes for a caller without having been asked for, without end; first what waits."""
        async with aclosing(self._line.attend(caller.space)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Outbound):
                    yield piece

    def session_of(self, message: Outbound) -> str | None:
        """Where a message belongs."""
        event = self._host.kit.record.log.get(message.id)
        return event.place.session if event is not None else None

    async def close(self) -> None:
        """Stop handing messages over."""
        await self._line.close()


def _check(done: Done) -> None:
    """Raise why a message has no answer, if it has none. What is the owner's to know is not told here."""
    match done.status:
        case "answered" | "waiting" | "wrong":
            return
        case "refused":
            problem = _refused(done)
        case status:
            problem = _NOT_ANSWERED[status]
    if done.reply:
        problem = Problem(problem.status, problem.code, Words(done.reply, done.reply), problem.headers)
    raise Declined(taken(problem, session=done.session, turn=done.turn))


def _refused(done: Done) -> Problem:
    return _REFUSALS.get(done.reason, _REFUSED) if done.reason is not None else _REFUSED


_KNOWN = Problem(
    409,
    "already_received",
    Words("这个 Idempotency-Key 的消息已经收过了。", "A message with that Idempotency-Key was received before."),
    {"x-should-retry": "false"},
)
_NOT_STORED = Problem(
    503, "not_stored", Words("没能存下来，请再发一次。", "It could not be stored; please send it again.")
)
_REFUSED = Problem(403, "refused", Words("没有接下这条消息。", "The message was not taken."))
_LIMIT = Problem(
    429,
    "limit_reached",
    Words("今天的额度用完了。", "The allowance of today is used up."),
    {"retry-after": "3600"},
)
_REFUSALS: Mapping[Reason, Problem] = {
    Reason.TURNS_SPENT: _LIMIT,
    Reason.TOKENS_SPENT: _LIMIT,
    Reason.CEILING: _LIMIT,
    Reason.QUEUE_FULL: Problem(
        429,
        "limit_reached",
        Words("还有几条没回完。", "Earlier messages are still being answered."),
        {"retry-after": "10"},
    ),
    Reason.TOO_LONG: Problem(413, "too_large", Words("太长了。", "That is too long.")),
}
_NOT_ANSWERED: Mapping[Any, Problem] = {
    "unreachable": Problem(
        503, "model_unreachable", Words("现在连不上模型。", "No model can be reached now."), {"retry-after": "60"}
    ),
    "stopped": Problem(409, "stopped", Words("停下了，没有做完。", "It was stopped before its end.")),
    "failed": Problem(
        502, "not_answered", Words("我这边出错了，没有办成。", "Something broke on my side; it was not done.")
    ),
}


def own_id(header: str | None) -> str | None:
    """The caller's id of a message, from the header `Idempotency-Key`.

    Raises:
        Declined: it is none.
    """
    if header is None:
        return None
    if not 0 < len(header) <= 128 or not header.isascii() or not header.isprintable():
        raise malformed(Words("Idempotency-Key 不对：最多 128 个字符。", "Idempotency-Key has at most 128 characters."))
    return f"key:{header}"


def header_text(header: str | None) -> str | None:
    """What a header says, where it says it in UTF-8: the standard knows of Latin-1 only."""
    if header is None:
        return None
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def session_name(text: str | None) -> str | None:
    """The name of a session that a caller gives.

    Raises:
        Declined: it is none.
    """
    if text is None:
        return None
    if not 0 < len(text) <= 128 or not text.isprintable() or not text.strip():
        raise malformed(
            Words("会话名不对：1 到 128 个可见字符。", "A session has a name of 1 to 128 visible characters.")
        )
    return text
