"""What a program says to the owner and asks of them. It is somebody else's text before the owner's eyes: named by our
own name for the program, fenced in, bounded, its secrets covered; and nothing that it says or hears approves anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from qingtuan.confirmations.inquiry import Inquiry, Recipient, Reply
from qingtuan.confirmations.visible import escaped, with_plain_hosts
from qingtuan.errors import LimitReached, NotAllowed, UsageWrong
from qingtuan.events.outbox import Draft
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.messages import Origin
from qingtuan.servers.mcp.call import Call
from qingtuan.servers.mcp.offers import LONGEST_CHOICE, MOST_CHOICES, USUAL_WAIT
from qingtuan.servers.mcp.ports import Answer, Ports
from qingtuan.turn.questions import owner_chat, owners_place

_MOST_LINES = 20
_BEAT = 10.0
"""Seconds between two signs to the program that the owner is still being waited for."""


@dataclass(slots=True)
class Owner:
    """The two tools."""

    ports: Ports
    _asking: set[str] = field(default_factory=set)
    """Accounts of programs of which a question is open."""
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """Close what is being asked: nobody will be there for the answer."""
        self._stopping.set()

    async def notify_owner(self, call: Call, arguments: Mapping[str, Any]) -> Answer:
        kit = self.ports.kit
        chat = owner_chat(kit)
        language = kit.speaks_to(Reader(OWNER, Role.OWNER, chat.space))
        text = fenced(arguments["text"], language)
        if not text:
            raise UsageWrong(_NOTHING)
        said = _SAYS.say(language).format(name=call.program.name, text=text)
        draft = Draft(chat.channel, said, "notice", Origin.AGENT, by_code=True)
        kit.record.outbox.put(draft, owners_place(kit, chat), cause=call.event.id)
        return Answer(_QUEUED.say(call.language), {"outcome": "queued"})

    async def ask_owner(self, call: Call, arguments: Mapping[str, Any]) -> Answer:
        question = arguments["question"].strip()
        offered = arguments.get("choices", ())
        choices = tuple(dict.fromkeys(choice.strip() for choice in offered))
        if not question or not all(choices) or len(offered) > MOST_CHOICES:
            raise UsageWrong(_NO_QUESTION)
        if call.program.account in self._asking:
            raise LimitReached(_ONE_AT_A_TIME)
        self._asking.add(call.program.account)
        try:
            reply = await self._reply(call, self._inquiry(call, question, choices, arguments))
        finally:
            self._asking.discard(call.program.account)
        if reply.why is not None:
            raise NotAllowed(reply.why)
        outcome = "declined" if reply.kind == "skipped" else reply.kind
        data: dict[str, Any] = {"outcome": outcome}
        if outcome == "answered":
            data["answer"] = reply.text
        return Answer(_OUTCOMES[outcome].filled(text=reply.text).say(call.language), data)

    def _inquiry(self, call: Call, question: str, choices: tuple[str, ...], arguments: Mapping[str, Any]) -> Inquiry:
        language = call.language
        return Inquiry(
            asker=call.program.name,
            kind="program",
            text=_covered(question, language),
            choices=tuple(_covered(choice, language) for choice in choices),
            lasts=timedelta(minutes=arguments.get("wait_minutes", USUAL_WAIT)),
        )

    async def _reply(self, call: Call, inquiry: Inquiry) -> Reply:
        """What comes of a question. When the program goes away, this is cancelled, and with it the question."""
        if self._stopping.is_set():
            raise NotAllowed(_STOPPING)
        asking = asyncio.ensure_future(self.ports.asks.ask(inquiry, Recipient(OWNER)))
        stopping = asyncio.ensure_future(self._stopping.wait())
        showing = asyncio.ensure_future(self._show(call))
        try:
            await asyncio.wait([asking, stopping], return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else Reply("cancelled")
        finally:
            tasks = [asking, stopping, showing]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _show(self, call: Call) -> None:
        """Tell the program that it is not forgotten, which would else give up."""
        clock, waited = self.ports.kit.record.clock, 0.0
        while True:
            call.report(waited, _WAITING.say(call.language))
            await clock.sleep(_BEAT)
            waited += _BEAT


def fenced(text: str, language: Language) -> str:
    """Somebody else's text as a block in which nothing takes effect and nothing is hidden; empty for nothing to see."""
    covered = mask(text, language=language).text.replace("\r\n", "\n").replace("\r", "\n")
    lines = [escaped(with_plain_hosts(line)).rstrip() for line in covered.strip().split("\n")]
    if not any(lines):
        return ""
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "…"]
    inside = "\n".join(lines)
    fence = "```"
    while fence in inside:
        fence += "`"
    return f"{fence}\n{inside}\n{fence}"


def _covered(text: str, language: Language) -> str:
    return mask(text, language=language).text


_SAYS = Words("程序 {name} 让我告诉你（它说的，不是我）：\n\n{text}", "The program {name} says (it, not I):\n\n{text}")
_NOTHING = Words("没有可以告诉主人的内容。", "There is nothing to tell in that.")
_QUEUED = Words("已经排上，会发到主人的私聊。", "Queued for the owner's private chat.")
_NO_QUESTION = Words(
    f"要有一个问题；choices 最多 {MOST_CHOICES} 个，每个 1 到 {LONGEST_CHOICE} 字。",
    f"A question is needed, and at most {MOST_CHOICES} choices of 1 to {LONGEST_CHOICE} characters each.",
)
_ONE_AT_A_TIME = Words("上一个问题还没回答，一次只能问一个。", "The last question is still open; ask one at a time.")
_STOPPING = Words("正在停下，现在问不了。", "It is stopping; nobody can be asked now.")
_WAITING = Words("等主人回答", "waiting for the owner")
_OUTCOMES = {
    "answered": Words("主人回答：{text}", "The owner answers: {text}"),
    "declined": Words("主人不想回答。", "The owner declines to answer."),
    "expired": Words("主人没有在时限内回答。", "The owner did not answer in time."),
    "cancelled": Words("问题关掉了，没有回答。", "The question was closed without an answer."),
}
