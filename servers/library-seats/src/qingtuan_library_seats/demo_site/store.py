"""What the demo library remembers: bookings, sessions, and who has typed a captcha. One SQLite file, or memory."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Literal

from qingtuan_library_seats.demo_site.library import Period, Refusal

State = Literal["booked", "checked-in", "cancelled"]

_APPLICATION = 0x71746C73
"""Marks a file as ours (`pragma application_id`), so that a wrong path does no harm."""

_SCHEMA = """
create table if not exists bookings (
    number integer primary key autoincrement,
    account text not null,
    seat text not null,
    day text not null,
    starts text not null,
    ends text not null,
    state text not null default 'booked' check (state in ('booked', 'checked-in', 'cancelled'))
) strict;
create index if not exists bookings_by_day on bookings (day, seat);
create trigger if not exists one_reader_to_a_seat before insert on bookings
when exists (
    select 1 from bookings where seat = new.seat and day = new.day and state != 'cancelled'
    and starts < new.ends and ends > new.starts
) begin select raise(abort, 'the seat is taken'); end;
create table if not exists sessions (
    token text primary key,
    account text,
    form_token text not null,
    captcha text,
    expires text not null
) strict;
create table if not exists captcha_passed (account text primary key) strict;
"""
"""Times are kept as `HH:MM`, which sorts as it reads."""

_SELECT = "select number, account, seat, day, starts, ends, state from bookings"


@dataclass(frozen=True, slots=True)
class Booking:
    """One reservation of one reader."""

    id: str
    account: str
    seat: str
    period: Period
    state: State


@dataclass(frozen=True, slots=True)
class Session:
    """One browser. `account` is None before the login; `captcha` is what it has to type, if anything."""

    token: str
    account: str | None
    form_token: str
    captcha: str | None


class Store:
    """The library's memory.

    Raises:
        sqlite3.Error: if the file cannot be opened, or is none of ours.
    """

    def __init__(self, path: Path | None, *, session_minutes: int) -> None:
        """`path` None keeps everything in memory; a session ends `session_minutes` after its last page."""
        self._life = timedelta(minutes=session_minutes)
        self._connection = sqlite3.connect(":memory:" if path is None else path, isolation_level=None)
        try:
            self._prepare()
        except sqlite3.Error:
            self._connection.close()
            raise

    def close(self) -> None:
        """Nothing may be asked afterwards."""
        self._connection.close()

    def _prepare(self) -> None:
        (kind,) = self._connection.execute("pragma application_id").fetchone()
        (tables,) = self._connection.execute("select count(*) from sqlite_master").fetchone()
        if tables and kind != _APPLICATION:
            raise sqlite3.DatabaseError("it is a database of something else")
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"pragma application_id = {_APPLICATION}")

    # Bookings

    def book(self, account: str, seat: str, period: Period) -> Booking | Refusal:
        """Take a seat, unless someone has it or the reader is elsewhere at that time."""
        with self._transaction():
            refusal = self.refuses(account, seat, period)
            if refusal is not None:
                return refusal
            number = self._connection.execute(
                "insert into bookings (account, seat, day, starts, ends) values (?, ?, ?, ?, ?)",
                (account, seat, *_texts(period)),
            ).lastrowid
        return Booking(_id(number or 0), account, seat, period, "booked")

    def refuses(self, account: str, seat: str, period: Period) -> Refusal | None:
        """Whether this reader cannot have this seat because of what is booked already."""
        own = next((booking for booking in self.of(account) if _overlap(booking.period, period)), None)
        if own is not None:
            return Refusal("overlap", f"这段时间你已经约了 {own.seat}（编号 {own.id}，{own.period}）。")
        if seat in self.taken(period):
            return Refusal("taken", f"{seat} 在 {period} 已经被约走了。")
        return None

    def taken(self, period: Period) -> set[str]:
        """The seats that are not free for the whole of the period."""
        day, start, end = _texts(period)
        rows = self._connection.execute(
            "select distinct seat from bookings where day = ? and state != 'cancelled' and starts < ? and ends > ?",
            (day, end, start),
        )
        return {seat for (seat,) in rows}

    def of(self, account: str) -> list[Booking]:
        """A reader's bookings that were not cancelled, by time."""
        return self._bookings("where account = ? and state != 'cancelled'", account)

    def all(self) -> list[Booking]:
        """Every booking ever made, by time."""
        return self._bookings("")

    def set_state(self, booking: Booking, state: State) -> None:
        """Cancel or check in."""
        self._connection.execute("update bookings set state = ? where number = ?", (state, int(booking.id[1:])))

    def forget(self) -> None:
        """Empty the books, log everybody out, and remember no captcha."""
        for table in ("bookings", "sessions", "captcha_passed", "sqlite_sequence"):
            self._connection.execute(f"delete from {table}")  # noqa: S608  # the names stand one line above

    def _bookings(self, condition: str, *values: str) -> list[Booking]:
        rows = self._connection.execute(f"{_SELECT} {condition} order by day, starts, number", values)
        return [_booking(row) for row in rows]

    # Sessions

    def session(self, token: str, now: datetime) -> Session | None:
        """The living session of this cookie, which lives on from here."""
        row = self._connection.execute(
            "select token, account, form_token, captcha from sessions where token = ? and expires > ?",
            (token, now.isoformat()),
        ).fetchone()
        if row is None:
            return None
        self._connection.execute(
            "update sessions set expires = ? where token = ?", ((now + self._life).isoformat(), token)
        )
        return Session(*row)

    def open_session(self, account: str | None, now: datetime, *, captcha: str | None = None) -> Session:
        """Begin a session, for a reader or for a browser that has still to log in."""
        session = Session(secrets.token_urlsafe(24), account, secrets.token_urlsafe(18), captcha)
        self._connection.execute("delete from sessions where expires <= ?", (now.isoformat(),))
        self._connection.execute(
            "insert into sessions (token, account, form_token, captcha, expires) values (?, ?, ?, ?, ?)",
            (session.token, account, session.form_token, captcha, (now + self._life).isoformat()),
        )
        return session

    def close_session(self, token: str) -> None:
        """Log out."""
        self._connection.execute("delete from sessions where token = ?", (token,))

    def close_sessions(self) -> None:
        """Log everybody out."""
        self._connection.execute("delete from sessions")

    def set_captcha(self, token: str, captcha: str) -> None:
        """Ask this session for another captcha."""
        self._connection.execute("update sessions set captcha = ? where token = ?", (captcha, token))

    def pass_captcha(self, account: str) -> None:
        """The reader has typed it: no session of theirs is asked any more."""
        self._connection.execute("insert or ignore into captcha_passed values (?)", (account,))
        self._connection.execute("update sessions set captcha = null where account = ?", (account,))

    def has_passed_captcha(self, account: str) -> bool:
        """Whether this reader need not type one."""
        row = self._connection.execute("select 1 from captcha_passed where account = ?", (account,)).fetchone()
        return row is not None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")


def _overlap(one: Period, other: Period) -> bool:
    return one.day == other.day and one.start < other.end and other.start < one.end


def _texts(period: Period) -> tuple[str, str, str]:
    return period.day.isoformat(), f"{period.start:%H:%M}", f"{period.end:%H:%M}"


def _id(number: int) -> str:
    return f"R{number:04d}"


def _booking(row: tuple[int, str, str, str, str, str, State]) -> Booking:
    number, account, seat, day, starts, ends, state = row
    period = Period(date.fromisoformat(day), time.fromisoformat(starts), time.fromisoformat(ends))
    return Booking(_id(number), account, seat, period, state)
