"""What has to outlive the process for each bot and each person: the cursor, and what lets the bot write to them.

No projection of events: it is the state of a conversation with somebody else's server (its cursor, its tokens), as
keys and credentials are (product.md, axiom 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from qingtuan.channels.wxclaw.window import Standing
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.storage.sqlite import Database, Row


def project(database: Database, event: Event) -> None:
    """Let nothing stay of a person who is forgotten; by the chats that the record names as theirs."""
    if event.kind is Kind.PERSON_FORGOTTEN:
        database.execute(
            "DELETE FROM wxclaw_chats WHERE 'private:wx:' || user IN"
            " (SELECT space FROM events WHERE person = ? AND space GLOB 'private:wx:*')",
            (event.place.person,),
        )


@dataclass(frozen=True, slots=True)
class Chat:
    """One person on one bot."""

    account: str
    """The bot."""
    user: str
    token: str
    """The newest context token; a secret."""
    standing: Standing


class Store:
    """The tables of this channel."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cursor(self, account: str) -> str:
        """Up to where the messages of a bot are stored; empty for the beginning."""
        row = self._database.row("SELECT cursor FROM wxclaw_accounts WHERE account = ?", (account,))
        return row["cursor"] if row else ""

    def keep_cursor(self, account: str, cursor: str) -> None:
        """Acknowledge what came: to be called once it is stored. Raises `StorageFailed`."""
        with self._database.transaction(durable=True):
            self._database.execute(
                "INSERT INTO wxclaw_accounts (account, cursor) VALUES (?, ?)"
                " ON CONFLICT (account) DO UPDATE SET cursor = excluded.cursor",
                (account, cursor),
            )

    def ended(self, account: str, login: str) -> None:
        """A login (its mark) counts no more. Raises `StorageFailed`."""
        with self._database.transaction():
            self._database.execute(
                "INSERT INTO wxclaw_accounts (account, ended) VALUES (?, ?)"
                " ON CONFLICT (account) DO UPDATE SET ended = excluded.ended",
                (account, login),
            )

    def ended_logins(self) -> set[str]:
        """The marks of logins that count no more."""
        rows = self._database.rows("SELECT ended FROM wxclaw_accounts WHERE ended IS NOT NULL")
        return {row["ended"] for row in rows}

    def chat(self, account: str, user: str) -> Chat | None:
        """A person on a bot, if they ever wrote to it."""
        row = self._database.row("SELECT * FROM wxclaw_chats WHERE account = ? AND user = ?", (account, user))
        return _chat(row) if row else None

    def chats(self, user: str) -> list[Chat]:
        """A person on every bot that they wrote to, the latest first."""
        rows = self._database.rows("SELECT * FROM wxclaw_chats WHERE user = ? ORDER BY heard DESC, account", (user,))
        return [_chat(row) for row in rows]

    def heard(self, account: str, user: str, token: str, at: datetime) -> None:
        """A person wrote to a bot: the window opens anew. An older message than the last one changes nothing. Raises
        `StorageFailed`."""
        before = self.chat(account, user)
        standing = (before.standing if before else Standing()).heard(at)
        if before is not None and standing is before.standing:
            return
        self.keep(Chat(account, user, token or (before.token if before else ""), standing))

    def keep(self, chat: Chat) -> None:
        """Write down how things are with somebody. Raises `StorageFailed`."""
        standing = chat.standing
        at = round(standing.last_inbound.timestamp() * 1000) if standing.last_inbound else None
        with self._database.transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO wxclaw_chats (account, user, token, heard, sent, closed, throttled)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (chat.account, chat.user, chat.token, at, standing.sent, standing.closed, standing.throttled),
            )


def _chat(row: Row) -> Chat:
    at = datetime.fromtimestamp(row["heard"] / 1000, UTC) if row["heard"] is not None else None
    standing = Standing(at, row["sent"], bool(row["closed"]), row["throttled"])
    return Chat(row["account"], row["user"], row["token"], standing)
