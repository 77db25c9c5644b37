"""The buttons under a question: what they say, whose press counts, and that they go once there is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qingtuan.channels.telegram.inbound import CHANNEL, Press
from qingtuan.confirmations import visible
from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.confirmations.inquiry import Asked
from qingtuan.confirmations.inquiry_words import labels
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.trust import may_answer
from qingtuan.language import Words
from qingtuan.messages import Inbound, Outbound, Space
from qingtuan.tools.plain import line
from qingtuan.turn.kit import Kit

_YES = Words("确认", "Confirm")
_NO = Words("取消", "Cancel")
_NOT_YOURS = Words("这个不是问你的。", "This is not for you to answer.")
_OVER = Words("已经有了答复。", "It was answered already.")
_CLOSING = frozenset(
    {Kind.CONFIRMATION_ANSWERED, Kind.CONFIRMATION_EXPIRED, Kind.INQUIRY_ANSWERED, Kind.INQUIRY_CLOSED}
)
_BUTTON = 40
"""Characters of a choice on its button; the message has all of it."""
_ANSWERS: Mapping[str, str] = {"yes": "确认", "no": "取消"}
"""What a press says, in a word from the list of answers; whatever the button shows."""


class Buttons:
    """Makes the buttons, and judges presses before they become messages: a press by somebody who may not answer is no
    talk."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def under(self, message: Outbound) -> Mapping[str, Any] | None:
        """The buttons of a question; None under all else. What they carry names the message, so that they answer none
        but this. A yes that must be typed has no button."""
        if message.kind != "question":
            return None
        if (inquiry := self._kit.record.inquiries.asked_in(message.id)) is not None:
            return self._choices(inquiry, message.id)
        if (asked := self._kit.book.asked_in(message.id)) is None:
            return None
        event = self._kit.record.log.get(message.id)
        person = self._kit.people.person(event.place.person or "") if event else None
        language = (person.language if person else None) or self._kit.texts.language
        offered = [("no", _NO)] if asked.must_type else [("yes", _YES), ("no", _NO)]
        row = [{"text": words.say(language), "callback_data": f"{choice}:{message.id}"} for choice, words in offered]
        return {"inline_keyboard": [row]}

    def _choices(self, inquiry: Asked, message: str) -> Mapping[str, Any] | None:
        """One button for each choice of a program's question, with its own words, and one to decline. A question that
        takes words, or several choices, has only the latter."""
        offered = [] if inquiry.several else list(zip(labels(inquiry.choices), inquiry.choices, strict=True))
        rows = [
            [{"text": f"{label}. {line(visible.escaped(choice), _BUTTON)}", "callback_data": f"{label}:{message}"}]
            for label, choice in offered
        ]
        person = self._kit.people.person(inquiry.person)
        language = (person.language if person else None) or self._kit.texts.language
        return {"inline_keyboard": [*rows, [{"text": _NO.say(language), "callback_data": f"no:{message}"}]]}

    def judge(self, press: Press) -> Inbound | Words:
        """The answer that a press is, or what its presser is told."""
        if (inquiry := self._inquiry(press)) is not None:
            return self._judged(press, inquiry)
        asked = self._asked(press)
        people, account = self._kit.people, press.inbound.account
        if asked is None or people.find(account) is None:
            return _NOT_YOURS
        if not may_answer(asked.facts, people.reader(account, press.inbound.space)):
            return _NOT_YOURS
        if asked.state not in ("open", "expired"):
            return _OVER
        choice = press.data.partition(":")[0]
        return replace(press.inbound, text=_ANSWERS[choice], time=self._kit.record.clock.now())

    def _judged(self, press: Press, inquiry: Asked) -> Inbound | Words:
        people, account = self._kit.people, press.inbound.account
        known = people.find(account) is not None
        if not known or not people.reader(account, press.inbound.space).is_(inquiry.person):
            return _NOT_YOURS
        if inquiry.state != "open":
            return _OVER
        choice = press.data.partition(":")[0]
        if choice not in ("no", *labels(inquiry.choices)):
            return _NOT_YOURS
        return replace(press.inbound, text=_ANSWERS.get(choice, choice), time=self._kit.record.clock.now())

    def closed(self, event: Event) -> tuple[Space, str] | None:
        """Where the question stands that an event closes, if it stands in a chat of Telegram: its chat and its id."""
        if event.kind not in _CLOSING or event.cause is None:
            return None
        asked = self._kit.book.get(event.cause) or self._kit.record.inquiries.get(event.cause)
        message = self._kit.record.log.get(asked.message) if asked and asked.message else None
        if message is None or message.payload.get("channel") != CHANNEL or message.place.space is None:
            return None
        sent = (e for e in self._kit.record.log.caused_by(message.id) if e.kind is Kind.DELIVERY_SENT)
        found = next((e.payload["platform_id"] for e in sent if "platform_id" in e.payload), None)
        return (message.place.space, found) if isinstance(found, str) else None

    def _inquiry(self, press: Press) -> Asked | None:
        """The question of a program under whose message the button stands, if what it carries says so, too."""
        if press.inbound.quotes is None:
            return None
        message = self._kit.book.of_message(press.inbound.space, press.inbound.quotes)
        if message is None or message != press.data.partition(":")[2]:
            return None
        return self._kit.record.inquiries.asked_in(message)

    def _asked(self, press: Press) -> Confirmation | None:
        """The question under whose message the button stands, if what it carries says so, too."""
        choice, _, named = press.data.partition(":")
        if press.inbound.quotes is None or choice not in _ANSWERS:
            return None
        message = self._kit.book.of_message(press.inbound.space, press.inbound.quotes)
        return self._kit.book.asked_in(message) if message is not None and message == named else None
