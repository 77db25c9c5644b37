"""The buttons under a question: what they say, whose press counts, and that they go once there is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qingtuan.channels.telegram.inbound import CHANNEL, Press
from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.trust import may_answer
from qingtuan.language import Words
from qingtuan.messages import Inbound, Outbound, Space
from qingtuan.turn.kit import Kit

_YES = Words("确认", "Confirm")
_NO = Words("取消", "Cancel")
_NOT_YOURS = Words("这个不是问你的。", "This is not for you to answer.")
_OVER = Words("已经有了答复。", "It was answered already.")
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
        if message.kind != "question" or (asked := self._kit.book.asked_in(message.id)) is None:
            return None
        event = self._kit.record.log.get(message.id)
        person = self._kit.people.person(event.place.person or "") if event else None
        language = (person.language if person else None) or self._kit.texts.language
        offered = [("no", _NO)] if asked.must_type else [("yes", _YES), ("no", _NO)]
        row = [{"text": words.say(language), "callback_data": f"{choice}:{message.id}"} for choice, words in offered]
        return {"inline_keyboard": [row]}

    def judge(self, press: Press) -> Inbound | Words:
        """The answer that a press is, or what its presser is told."""
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

    def closed(self, event: Event) -> tuple[Space, str] | None:
        """Where the question stands that an event closes, if it stands in a chat of Telegram: its chat and its id."""
        if event.kind not in (Kind.CONFIRMATION_ANSWERED, Kind.CONFIRMATION_EXPIRED) or event.cause is None:
            return None
        asked = self._kit.book.get(event.cause)
        message = self._kit.record.log.get(asked.message) if asked and asked.message else None
        if message is None or message.payload.get("channel") != CHANNEL or message.place.space is None:
            return None
        sent = (e for e in self._kit.record.log.caused_by(message.id) if e.kind is Kind.DELIVERY_SENT)
        found = next((e.payload["platform_id"] for e in sent if "platform_id" in e.payload), None)
        return (message.place.space, found) if isinstance(found, str) else None

    def _asked(self, press: Press) -> Confirmation | None:
        """The question under whose message the button stands, if what it carries says so, too."""
        choice, _, named = press.data.partition(":")
        if press.inbound.quotes is None or choice not in _ANSWERS:
            return None
        message = self._kit.book.of_message(press.inbound.space, press.inbound.quotes)
        return self._kit.book.asked_in(message) if message is not None and message == named else None
