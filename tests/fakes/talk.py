"""One session, event by event, as the product writes it; and a model beside it that answers from a script."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.clock import ManualClock
from qingtuan.events import sessions, turns
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session, Sessions
from qingtuan.identity.scopes import Reader, Role
from qingtuan.ids import Ids
from qingtuan.memory import summaries
from qingtuan.memory.asking import Customs, Question
from qingtuan.memory.compressing import SummaryRules
from qingtuan.memory.summaries import Summaries
from qingtuan.messages import Origin, Space
from qingtuan.prompt.history import KINDS, history
from qingtuan.storage.sqlite import Database

PRIVATE = Space("private", "cli:local")
GROUP = Space("group", "qq:777")
SHANGHAI = ZoneInfo("Asia/Shanghai")
OWNER = Reader("owner", Role.OWNER, PRIVATE)
SMALL = SummaryRules(
    max_stored=6, keep_recent=2, batch=4, min_source=2, max_in_context=2, max_context_messages=3, longest=1000
)
CUSTOMS = Customs(language=lambda _: "zh", zone=lambda _: SHANGHAI)


class Scripted:
    """A model that answers what it was told to, and after that with the m1 and r1 that stand in the question."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> str:
        self.questions.append(question)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return "- " + " ".join(re.findall(r"\b[mr]\d+\b", question.user))


class Talk:
    """A session that grows; each event is 20 seconds after the one before. It begins on Sunday, 29 November 2026,
    at ten in the morning in Shanghai."""

    def __init__(self, database: Database, space: Space = PRIVATE) -> None:
        self.clock = ManualClock(datetime(2026, 11, 29, 2, tzinfo=UTC))
        ids = Ids(self.clock)
        self.log = Log(database, self.clock, ids, (sessions.project, turns.project, summaries.project))
        self.sessions = Sessions(self.log, ids)
        self.space = space
        self._name = self.sessions.running(space, "owner").id
        self._turns = 0

    @property
    def session(self) -> Session:
        return self.sessions.get(self._name)

    def add(self, kind: Kind, turn: str | None, person: str, payload: dict[str, Any], origin: Origin) -> Event:
        self.clock.advance(timedelta(seconds=20))
        return self.log.append(kind, Place(self._name, self.space, turn, person), payload, origin=origin)

    def receive(self, text: str, account: str = "cli:local", **payload: Any) -> Event:
        person = "owner" if account == "cli:local" else account.replace(":", "-")
        origin = Origin.OWNER if person == "owner" else Origin.PERSON
        said = {"text": text, "account": account, "channel": account.partition(":")[0], **payload}
        return self.add(Kind.MESSAGE_RECEIVED, None, person, said, origin)

    def begin(self, *messages: Event) -> str:
        self._turns += 1
        turn = f"turn_{self._turns}"
        person = messages[0].place.person if messages else "owner"
        names = [message.id for message in messages]
        self.add(Kind.TURN_STARTED, turn, person or "", {"messages": names}, Origin.SYSTEM)
        return turn

    def reply(self, turn: str, text: str, origin: Origin = Origin.ASSISTANT) -> None:
        self.add(Kind.MODEL_ANSWERED, turn, "owner", {"text": text}, origin)
        self.add(Kind.MESSAGE_SENT, turn, "owner", {"kind": "reply", "text": text, "channel": "cli"}, origin)

    def finish(self, turn: str) -> None:
        self.add(Kind.TURN_FINISHED, turn, "owner", {"outcome": "replied"}, Origin.SYSTEM)

    def say(self, text: str, reply: str = "好", account: str = "cli:local", **payload: Any) -> Event:
        message = self.receive(text, account, **payload)
        turn = self.begin(message)
        self.reply(turn, reply)
        self.finish(turn)
        return message

    def chat(self, first: int, exchanges: int) -> None:
        for number in range(first, first + exchanges):
            self.say(f"m{number}", f"r{number}")


class Summarised(Talk):
    """A session with its summaries."""

    def __init__(self, database: Database, rules: SummaryRules = SMALL, space: Space = PRIVATE) -> None:
        super().__init__(database, space)
        self.summaries = Summaries(self.log, rules, CUSTOMS)

    def raw(self) -> list[str]:
        events = self.summaries.window(self.session, KINDS)
        return [item.message.text for item in history(events, OWNER, "zh")]

    def context(self) -> list[str]:
        return [text.text for text in self.summaries.in_context(self.session)]
