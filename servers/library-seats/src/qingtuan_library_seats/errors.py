"""What can go wrong between a wish and the library. Each error says it in one sentence, with what to do next.

    LibraryError
    ├── SettingsWrong        a variable of the environment is missing or cannot be used
    ├── ArgumentWrong        a date, a time or a name that cannot be understood
    ├── LoginNeeded          the library does not let this reader in
    ├── CaptchaNeeded        the library wants to see a person first
    ├── AreaUnknown          there is no such area
    ├── SeatUnknown          there is no such seat
    ├── SeatTaken            somebody else has it
    ├── ReservationUnknown   the reader has no such reservation
    ├── NotAllowed           against a rule of the library
    ├── SiteUnavailable      the site does not answer; nothing was changed
    │   └── PageUnreadable   it answers with a page that the driver does not know
    └── OutcomeUnknown       the site fell silent in the middle of a change: it may have been made

A driver raises them from `LoginNeeded` on. The desk adds what it can find out, such as seats that are still free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from qingtuan_library_seats.text import clean, listed

if TYPE_CHECKING:
    from qingtuan_library_seats.driver import Slot

Rule = Literal["hours", "past", "ahead", "granularity", "overlap", "check-in-time", "state", "other"]

_NEXT: dict[Rule, str] = {
    "hours": "请换到开放时间以内。",
    "past": "请换以后的时间。",
    "ahead": "请换近一点的日期。",
    "granularity": "请把开始和结束时间改好再试。",
    "overlap": "同一时间只能约一个座位；要换，先用 cancel_reservation 取消它。",
    "check-in-time": "",
    "state": "可以用 list_reservations 看现有的预约。",
    "other": "",
}


class LibraryError(Exception):
    """Base of all of them; `str()` is the sentence."""


class SettingsWrong(LibraryError):
    """A variable of the environment is missing or cannot be used."""


class ArgumentWrong(LibraryError):
    """An argument that cannot be understood."""


class LoginNeeded(LibraryError):
    """The library does not let this reader in."""

    def __init__(self, detail: str = "用户名或密码不对") -> None:
        super().__init__(
            f"登录不了图书馆：{detail}。请检查环境变量 LIBRARY_USER 和 LIBRARY_PASSWORD，改好后重启这个服务。"
        )


class CaptchaNeeded(LibraryError):
    """The library wants a captcha, which only a person may solve."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"图书馆要求输入验证码，这一步要由本人来做：请用浏览器打开 {address} 登录并输入验证码，然后再试一次。"
        )
        self.address = address


class AreaUnknown(LibraryError):
    """There is no such area; `areas` are those that there are."""

    def __init__(self, area: str, areas: Sequence[str] = ()) -> None:
        known = f"有这些区域：{listed(areas)}" if areas else "请用 list_areas 看有哪些"
        super().__init__(f"没有“{clean(area)}”这个区域，{known}。")
        self.area, self.areas = area, areas


class SeatUnknown(LibraryError):
    """There is no such seat; `near` are the names that come close."""

    def __init__(self, seat_id: str, near: Sequence[str] = ()) -> None:
        hint = f"，相近的有：{listed(near)}" if near else ""
        super().__init__(f"没有“{clean(seat_id)}”这个座位{hint}。请用 find_seats 查到的 seat_id。")
        self.seat_id = seat_id


class SeatTaken(LibraryError):
    """Somebody has it at that time; `free` are seats of the same area that can be had, None where nobody has looked."""

    def __init__(self, seat_id: str, slot: Slot, free: Sequence[str] | None = None) -> None:
        if free:
            hint = f"同一区域这段时间还空着的有：{listed(free)}，换一个座位号再约就行"
        elif free is None:
            hint = "请用 find_seats 再看看还有哪些空座"
        else:
            hint = "同一区域这段时间没有空座了，可以用 find_seats 看别的区域或别的时间"
        super().__init__(f"没有约成：{seat_id} 在 {slot} 已经被别人约走了。{hint}。")
        self.seat_id, self.slot = seat_id, slot


class ReservationUnknown(LibraryError):
    """The reader has no such reservation."""

    def __init__(self, reservation_id: str, own: Sequence[str] = ()) -> None:
        hint = f"现有的是：{listed(own)}" if own else "现在没有预约"
        super().__init__(f"没有编号为“{clean(reservation_id)}”的预约，{hint}。可以用 list_reservations 查看。")


class NotAllowed(LibraryError):
    """Against a rule of the library. `detail` is one sentence, with the figures of the rule."""

    def __init__(self, rule: Rule, detail: str) -> None:
        super().__init__(clean(detail, 200) + _NEXT[rule])
        self.rule = rule


class SiteUnavailable(LibraryError):
    """The site does not answer. Nothing was changed."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"图书馆网站现在用不了（{clean(detail)}），什么都没有改动。请过一会儿再试。")


class PageUnreadable(SiteUnavailable):
    """The site answers with something that the driver cannot read."""

    def __init__(self, what: str) -> None:
        super().__init__(f"网页读不懂：{what}；可能网站改版了，要更新驱动")


class OutcomeUnknown(LibraryError):
    """A change may or may not have been made, and the site does not tell."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}的请求已经发出，但图书馆网站中途没有了回音，也没能核对：可能已经办成了。"
            "先不要重复，请用 list_reservations 看看结果。"
        )
