"""What the demo library's pages say: from HTML to values. No page is fetched here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag

from qingtuan_library_seats.driver import Area, Areas, Reservation, Seat, Slot
from qingtuan_library_seats.errors import PageUnreadable
from qingtuan_library_seats.text import clean

TAGS = 10_000
"""The demo library's largest page has some hundred; deeply nested ones take time with the square of their number."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form as a browser would send it: where to, and its fields with what stands in them."""

    address: str
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class Alert:
    """Why the library said no."""

    code: str
    text: str


class Page:
    """One page that the library answered with."""

    def __init__(self, address: str, html: str) -> None:
        """`address` is where it was found, which its links are relative to.

        Raises:
            PageUnreadable: if it has so many tags that reading them would hold up everything else.
        """
        if html.count("<") > TAGS:
            raise PageUnreadable("网页太大")
        self.address = address
        self._soup = BeautifulSoup(html, "html.parser")

    @property
    def alert(self) -> Alert | None:
        """What the page refuses, if it does."""
        tag = self._soup.find("p", class_="alert")
        return None if tag is None else Alert(_value(tag, "data-code"), clean(tag.get_text(" "), 160))

    def has_form(self, name: str) -> bool:
        """Whether there is a form of this id."""
        return self._form_tag(name) is not None

    def form(self, name: str) -> Form:
        """The form of this id."""
        tag = self._form_tag(name)
        if tag is None:
            raise PageUnreadable(f"缺少表单 {name}")
        return self._read_form(tag)

    def reservation_form(self, reservation_id: str, name: str) -> Form | None:
        """The button behind a reservation, if it has one of this name."""
        for row in self._soup.find_all("tr", class_="reservation"):
            if _value(row, "data-reservation") == reservation_id:
                tag = row.find("form", class_=name)
                return None if tag is None else self._read_form(tag)
        return None

    def areas(self) -> Areas:
        """The page of the areas."""
        hours = self._soup.find("p", class_="hours")
        rows = self._soup.find_all("tr", class_="area")
        if hours is None or not rows:
            raise PageUnreadable("区域页")
        areas = tuple(
            Area(
                name=_name(row, "data-area"),
                floor=_number(row, "data-floor"),
                quiet=_flag(row, "data-quiet"),
                seats=_number(row, "data-seats"),
                windows=_number(row, "data-windows"),
            )
            for row in rows
        )
        return Areas(areas, _time(hours, "data-opens"), _time(hours, "data-closes"))

    def area_names(self) -> list[str]:
        """The areas that the search form offers."""
        options = self._soup.select("form#search select[name=area] option")
        return [_name(option, "value") for option in options if option.get("value")]

    def seats(self) -> list[Seat]:
        """What a search found."""
        tags = self._soup.find_all("li", class_="seat")
        if not tags:
            raise PageUnreadable("座位页")
        return [
            Seat(
                id=_name(tag, "data-seat"),
                area=_name(tag, "data-area"),
                floor=_number(tag, "data-floor"),
                quiet=_flag(tag, "data-quiet"),
                window=_flag(tag, "data-window"),
                free=_flag(tag, "data-free"),
            )
            for tag in tags
        ]

    def reservations(self) -> list[Reservation]:
        """The reader's own."""
        if self._soup.find("table", id="reservations") is None:
            raise PageUnreadable("我的预约")
        return [
            Reservation(
                id=_name(row, "data-reservation"),
                seat_id=_name(row, "data-seat"),
                slot=Slot(_date(row, "data-date"), _time(row, "data-start"), _time(row, "data-end")),
                checked_in=_value(row, "data-state") == "checked-in",
            )
            for row in self._soup.find_all("tr", class_="reservation")
        ]

    def _form_tag(self, name: str) -> Tag | None:
        return self._soup.find("form", id=name)

    def _read_form(self, tag: Tag) -> Form:
        fields = {_value(field, "name"): _value(field, "value") for field in tag.find_all("input")}
        try:
            return Form(urljoin(self.address, _value(tag, "action")), fields)
        except ValueError as error:
            raise PageUnreadable("网址不对") from error


def _value(tag: Tag, name: str) -> str:
    return str(tag.get(name) or "")


def _name(tag: Tag, name: str) -> str:
    return clean(_value(tag, name))


def _flag(tag: Tag, name: str) -> bool:
    return _value(tag, name) == "yes"


def _number(tag: Tag, name: str) -> int:
    text = _value(tag, name)
    if not (text.isdecimal() and len(text) < 6):
        raise PageUnreadable(name)
    return int(text)


def _time(tag: Tag, name: str) -> time:
    try:
        return time.fromisoformat(_value(tag, name))
    except ValueError as error:
        raise PageUnreadable(name) from error


def _date(tag: Tag, name: str) -> date:
    try:
        return date.fromisoformat(_value(tag, name))
    except ValueError as error:
        raise PageUnreadable(name) from error
