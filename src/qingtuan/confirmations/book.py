"""The book of questions: which are open, and what became of each. A projection of the events about them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from qingtuan.clock import Clock
from qingtuan.confirmations.confirmation import Answerable, Chat, Confirmation, StoppedCall
from qingtuan.confirmations.doubt import in_doubt
from qingtuan.confirmations.question import Asker, question, wording
from qingtuan.errors import ToolFailed
from qingtuan.events.erasing import erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.outbox import Outbox
from qingtuan.identity.codes import ALPHABET
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import QuestionFacts, Risk, inherit, may_answer
from qingtuan.language import Words
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database, Row, marks
from qingtuan.tools.tool import Tool

MAX_OPEN = 3
"""Open questions of one person (turn.md, Confirmation)."""
LATE = timedelta(days=1)
"""How long after its expiry a yes still means the question that ran out."""

RESTORE = "restore"
"""By whom a question was closed that an older state of the data had left open."""

_CODE_LENGTH = 4


def project(database: Database, event: Event) -> None:
    """Keep `confirmations` up to date."""
    if event.forgotten:
        return
    match event.kind:
        case Kind.CONFIRMATION_ASKED:
            _insert(database, event)
        case Kind.CONFIRMATION_ANSWERED:
            database.execute(
                "UPDATE confirmations SET state = ?, answer = ? WHERE event = ? AND state IN ('open', 'expired')",
                (event.payload["answer"], event.id, event.cause),
            )
        case Kind.CONFIRMATION_EXPIRED:
            database.execute(
                "UPDATE confirmations SET state = 'expired' WHERE event = ? AND state = 'open'", (event.cause,)
            )
        case Kind.MESSAGE_SENT if event.cause and event.payload["kind"] == "question":
            database.execute("UPDATE confirmations SET message = ? WHERE event = ?", (event.id, event.cause))
        case Kind.MESSAGE_SENT if event.cause and event.payload["kind"] == "notice":
            database.execute(
                "UPDATE confirmations SET told = ? WHERE event = ? AND state = 'expired' AND told IS NULL",
                (event.id, event.cause),
            )
        case Kind.DELIVERY_SENT | Kind.DELIVERY_UNKNOWN:
            database.execute(
                "UPDATE confirmations SET delivered = ?, certain = ? WHERE message = ?",
                (_millis(event.time), event.kind is Kind.DELIVERY_SENT, event.cause),
            )
        case Kind.TOOL_STARTED | Kind.TOOL_FINISHED if event.cause:
            database.execute(
                "UPDATE confirmations SET resumed = ? WHERE answer = ? AND resumed IS NULL", (event.id, event.cause)
            )
        case Kind.PERSON_FORGOTTEN | Kind.BELIEF_PURGED:
            which, values = erased_by(event)
            database.execute(f"DELETE FROM confirmations WHERE event IN ({which})", values)  # noqa: S608
        case _:
            pass


def _insert(database: Database, event: Event) -> None:
    payload, place = event.payload, event.place
    database.execute(
        "INSERT INTO confirmations (event, code, asker, session, space, turn, tool, binding, expires, owner_at, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')",
        (
            event.id,
            payload["code"],
            place.person,
            place.session,
            str(place.space),
            place.turn,
            payload["tool"],
            payload["binding"],
            _millis(datetime.fromisoformat(payload["expires"])),
            payload.get("owner_at", {}).get("space"),
        ),
    )


class Book:
    """Asks, and takes each answer once."""

    def __init__(self, log: Log, clock: Clock, choose: Callable[[Sequence[str]], str] = secrets.choice) -> None:
        self._log = log
        self._clock = clock
        self._choose = choose

    # Asking

    def ask(self, stopped: StoppedCall, *, renews: Confirmation | None = None) -> Confirmation:
        """Write down a question; its text is to be sent as a message of its own, caused by its event.

        An open question of an earlier turn about the same tool, by the same asker in the same session, is
        replaced: 「改成下午」 leaves one question, not two. `renews` is one that ran out and is asked anew.

        Raises:
            ToolFailed: three are open, one was asked in this turn already and material is in view, or this
                very call was refused in this turn. The sentence is for the model.
        """
        wanted = stopped.wanted
        place = Place(stopped.session, stopped.reader.space, stopped.turn, stopped.reader.person)
        binding = wanted.tool.binding(wanted.arguments)
        self._refuse_repetition(stopped, binding)
        replaced, others = self._others(stopped, binding)
        if len(others) >= MAX_OPEN:
            raise ToolFailed(_TOO_MANY)
        with self._log.transaction(durable=True):
            self.expire()
            for old in (*replaced, *([renews] if renews else ())):
                self._close(old, "replaced")
            payload = self._payload(stopped, binding, others)
            event = self._log.append(Kind.CONFIRMATION_ASKED, place, payload, origin=_origin(stopped))
        return self._must_get(event.id)

    def _refuse_repetition(self, stopped: StoppedCall, binding: str) -> None:
        of_turn = self._load("c.turn = ?", [stopped.turn])
        if any(asked.binding == binding and asked.state == "no" for asked in of_turn):
            raise ToolFailed(_REFUSED)
        if stopped.wanted.material and any(asked.binding != binding or asked.state != "open" for asked in of_turn):
            raise ToolFailed(_ONE_PER_TURN)

    def _others(self, stopped: StoppedCall, binding: str) -> tuple[list[Confirmation], list[Confirmation]]:
        """The open questions of the asker that the new one replaces, and those that stay open beside it."""
        replaced: list[Confirmation] = []
        staying: list[Confirmation] = []
        for asked in self.open():
            if not stopped.reader.is_(asked.asker):
                continue
            same = asked.tool == stopped.wanted.tool.name and asked.place.session == stopped.session
            # Calls side by side in one turn are several wishes, unless they are the very same one.
            again = same and (asked.place.turn != stopped.turn or asked.binding == binding)
            (replaced if again else staying).append(asked)
        return replaced, staying

    def _payload(self, stopped: StoppedCall, binding: str, others: Sequence[Confirmation]) -> dict[str, Any]:
        reader, asker = stopped.reader, None
        if not stopped.asker_answers:
            asker = Asker(stopped.account or reader.person, reader.person, reader.space)
        doubt = self.in_doubt(stopped.session, stopped.wanted.tool, stopped.wanted.arguments)
        others_read = reader.space.is_group or asker is not None
        wanted = replace(stopped.wanted, in_group=others_read, asker=asker, in_doubt=doubt)
        said = wording(wanted)
        must_type = stopped.risk is Risk.CRITICAL or said.over_long or doubt
        needs_code = must_type or bool(others) or asker is not None
        code = self._new_code()
        chat = stopped.owner_at
        return {
            "code": code,
            "tool": wanted.tool.name,
            "call": stopped.call,
            "risk": stopped.risk,
            "roles": sorted(stopped.roles),
            "arguments": dict(wanted.arguments),
            "binding": binding,
            "expires": (self._clock.now() + wanted.tool.patience).isoformat(),
            "summary": said.summary,
            "text": question(said, code if needs_code else None, wanted.language),
            "needs_code": needs_code,
            "must_type": must_type,
            **({"beside": dict(wanted.beside)} if wanted.beside else {}),
            **({"asked_by": asker.shown(wanted.language)} if asker is not None else {}),
            **({"owner_at": {"channel": chat.channel, "space": str(chat.space)}} if chat is not None else {}),
        }

    def in_doubt(self, session: str, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Whether this very act may have been done already in this session, for all that is known."""
        return tool.risk.acts and in_doubt(self._log, session, tool, arguments)

    def _new_code(self) -> str:
        rows = self._log.database.rows(
            "SELECT code FROM confirmations WHERE state = 'open' UNION SELECT code FROM inquiries WHERE state = 'open'"
        )
        taken = {row["code"] for row in rows}
        while True:
            code = "".join(self._choose(ALPHABET) for _ in range(_CODE_LENGTH))
            # A digit, so that no word of a sentence is taken for a code.
            if code not in taken and any(letter.isdigit() for letter in code):
                return code

    # Answering

    def take(
        self, event: str, answer: Literal["yes", "no"], *, by: str, cause: str | None = None
    ) -> Confirmation | None:
        """Write down the answer of `by`, given in the message `cause`. None if the question is not open (any
        more): an answer counts once."""
        with self._log.transaction(durable=True):
            self.expire()
            asked = self.get(event)
            if asked is None or asked.state != "open":
                return None
            self._close(asked, answer, by=by, message=cause)
        return self.get(event)

    def expire(self) -> list[Confirmation]:
        """Close the questions whose time is over, and give them."""
        with self._log.transaction():
            due = self._load("c.state = 'open' AND c.expires <= ?", [_millis(self._clock.now())])
            for asked in due:
                self._log.append(Kind.CONFIRMATION_EXPIRED, asked.place, {"tool": asked.tool}, cause=asked.event)
        return due

    def withdraw(self) -> list[Confirmation]:
        """After a restore: close without a word whatever waits, or ran out and was not told of; what was open."""
        with self._log.transaction():
            left = self._load("c.state = 'open'", [])
            for asked in (*left, *self.untold()):
                self._close(asked, "replaced", by=RESTORE)
        return left

    def _close(
        self, asked: Confirmation, answer: Literal["yes", "no", "replaced"], *, by: str = "", message: str | None = None
    ) -> None:
        payload: dict[str, Any] = {"answer": answer, "tool": asked.tool}
        payload |= {key: value for key, value in (("by", by), ("message", message)) if value}
        self._log.append(Kind.CONFIRMATION_ANSWERED, asked.place, payload, cause=asked.event)

    # Reading

    def get(self, event: str) -> Confirmation | None:
        """The question of this `confirmation.asked`."""
        return next(iter(self._load("c.event = ?", [event])), None)

    def _must_get(self, event: str) -> Confirmation:
        asked = self.get(event)
        if asked is None:
            raise KeyError(event)
        return asked

    def open(self) -> list[Confirmation]:
        """All questions that are open at this moment, oldest first."""
        return self._load("c.state = 'open' AND c.expires > ?", [_millis(self._clock.now())])

    def open_in(self, session: str) -> list[Confirmation]:
        """The open questions of a session, oldest first."""
        return [asked for asked in self.open() if asked.place.session == session]

    def answerable(self, reader: Reader, *, message: str, others: int = 0) -> Answerable:
        """What `reader` could be answering with the stored `message`. `others` counts open questions that are
        not in this book (of servers and agents)."""
        opened = self.open()
        answerable = [asked for asked in opened if may_answer(asked.facts, reader)]
        elsewhere = sum(reader.is_(asked.asker) for asked in opened if asked not in answerable)
        expired = self._latest_expired(reader)
        spoke_since = expired is not None and self._spoke_since(expired, but=message)
        newest = self._said_last(reader.space, but=message)
        return Answerable(
            open=answerable,
            others=elsewhere + others,
            expired=expired,
            spoke_since=spoke_since,
            lapsed=self._lapsed(reader),
            newest=next((asked for asked in answerable if newest is not None and asked.message == newest), None),
        )

    def _said_last(self, space: Space, *, but: str) -> str | None:
        """The last message of a space, received or sent."""
        # The kinds stand as in the index of talk: else SQLite does not use it.
        row = self._log.database.row(
            "SELECT id FROM events WHERE space = ? AND (kind = 'message.received' OR kind = 'message.sent')"
            " AND id <> ? ORDER BY seq DESC LIMIT 1",
            (str(space), but),
        )
        return row["id"] if row else None

    def _latest_expired(self, reader: Reader) -> Confirmation | None:
        mine = sorted(reader.ids)
        askers = marks(mine)
        latest = self._load(f"c.asker IN ({askers}) AND c.space = ?", [*mine, str(reader.space)], newest=1)
        if not latest or latest[0].state not in ("open", "expired") or not may_answer(latest[0].facts, reader):
            return None
        age = self._clock.now() - latest[0].expires
        return latest[0] if timedelta() <= age <= LATE else None

    def _lapsed(self, reader: Reader) -> list[Confirmation]:
        now = self._clock.now()
        recent = [_millis(now - LATE), _millis(now)]
        found = self._load("c.state IN ('open', 'expired') AND c.expires BETWEEN ? AND ?", recent)
        here = [asked for asked in found if asked.owner_at is not None or asked.space == reader.space]
        return [asked for asked in here if may_answer(asked.facts, reader)]

    def asked_in(self, message: str) -> Confirmation | None:
        """The question that a `message.sent` asks, if it is one."""
        return next(iter(self._load("c.message = ?", [message])), None)

    def coded(self, code: str) -> Confirmation | None:
        """The newest question that had this code."""
        return next(iter(self._load("c.code = ?", [code], newest=1)), None)

    def of_message(self, space: Space, platform_id: str) -> str | None:
        """The `message.sent` that the platform knows under this id: what a quote of it refers to."""
        return Outbox(self._log).of_platform(space, platform_id)

    def _spoke_since(self, asked: Confirmation, *, but: str) -> bool:
        row = self._log.database.row(
            "SELECT 1 FROM events WHERE session = ? AND person = ? AND kind = ? AND id <> ?"
            " AND seq > (SELECT seq FROM events WHERE id = ?)",
            (asked.place.session, asked.asker, Kind.MESSAGE_RECEIVED, but, asked.event),
        )
        return row is not None

    def untold(self) -> list[Confirmation]:
        """Questions put to the owner that ran out, of which nobody was told yet."""
        return self._load("c.state = 'expired' AND c.told IS NULL AND c.owner_at IS NOT NULL", [])

    def unresumed(self) -> list[Confirmation]:
        """Questions with a yes after which nothing ran: what a start takes up again."""
        return self._load("c.state = 'yes' AND c.resumed IS NULL", [])

    def rebuild(self) -> None:
        """Make the table anew from the events."""
        with self._log.transaction():
            self._log.database.execute("DELETE FROM confirmations")
            for event in self._log.replay():
                project(self._log.database, event)

    def _load(self, condition: str, values: Sequence[Any], *, newest: int | None = None) -> list[Confirmation]:
        """The questions that fit, oldest first; with `newest` only so many, newest first."""
        # CROSS: the questions are looked through and not, as SQLite would have it, every event.
        order = "e.seq" if newest is None else f"e.seq DESC LIMIT {newest:d}"
        rows = self._log.database.rows(
            "SELECT c.*, e.payload FROM confirmations AS c CROSS JOIN events AS e ON e.id = c.event"  # noqa: S608
            f" WHERE {condition} ORDER BY {order}",
            values,
        )
        return [_confirmation(row) for row in rows]


def _confirmation(row: Row) -> Confirmation:
    payload = json.loads(row["payload"])
    chat = payload.get("owner_at")
    return Confirmation(
        event=row["event"],
        code=row["code"],
        place=Place(row["session"], Space.parse(row["space"]), row["turn"], row["asker"]),
        tool=row["tool"],
        arguments=payload["arguments"],
        binding=row["binding"],
        text=payload["text"],
        summary=payload["summary"],
        expires=_moment(row["expires"]),
        state=row["state"],
        needs_code=payload["needs_code"],
        facts=QuestionFacts(
            Risk(payload["risk"]),
            row["asker"],
            Space.parse(row["space"]),
            frozenset(Role(name) for name in payload["roles"]),
        ),
        message=row["message"],
        delivered=_moment(row["delivered"]) if row["delivered"] is not None else None,
        certain=bool(row["certain"]),
        answer=row["answer"],
        must_type=payload.get("must_type", payload["needs_code"]),
        owner_at=Chat(chat["channel"], Space.parse(chat["space"])) if chat else None,
        asked_by=payload.get("asked_by", ""),
        beside=payload.get("beside", {}),
    )


def _origin(stopped: StoppedCall) -> Origin:
    """A question about arguments that were made from material carries its origin."""
    return inherit((Origin.SYSTEM, *(piece.origin for piece in stopped.wanted.material)))


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)


_TOO_MANY = Words(
    f"没有执行：已经有 {MAX_OPEN} 件事在等对方回答。告诉对方先答复其中一件。",
    f"Not run: {MAX_OPEN} questions are waiting for an answer already. Tell the person to answer one of them first.",
)
_REFUSED = Words(
    "没有执行：这件事对方刚才说不要，这一轮不再问。",
    "Not run: the answer to this very call was no; it is not asked again in this turn.",
)
_ONE_PER_TURN = Words(
    "没有执行：这一轮里有别处来的材料，只能问一次。告诉对方还有什么没做，让对方自己提。",
    "Not run: with material in view, one question a turn. Say what was left undone and let the person ask for it.",
)
