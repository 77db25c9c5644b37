"""Questions to a model beside the conversation: recorded like every request, with no tools and no history."""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.errors import ModelUnreachable
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.language import Words
from qingtuan.memory.asking import Question
from qingtuan.messages import Origin
from qingtuan.models.chat import Answer, ChatMessage, Params, Request, WireRequest
from qingtuan.turn.answered import answer_payload, streaming
from qingtuan.turn.kit import Kit

_TEMPERATURE = 0.2
_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class Aside:
    """Asks the cheap model for one session."""

    kit: Kit
    place: Place

    async def __call__(self, question: Question) -> str:
        """The text of the answer. Raises `ModelUnreachable`, `ModelRefused`."""
        choice = self.kit.models.choose("flash")
        params = Params(
            model=choice.model, temperature=_TEMPERATURE, max_tokens=_TOKENS, schema=question.schema, thinking=False
        )
        messages = (ChatMessage("system", question.system), ChatMessage("user", question.user))
        recorder = _Recorder(self.kit, self.place, question.purpose)
        async with streaming(self.kit.models, Request(messages, (), params), recorder) as pieces:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    recorder.answered(piece)
                    return piece.text
        raise ModelUnreachable(Words("模型没有回答。", "The model gave no answer."))


class _Recorder:
    def __init__(self, kit: Kit, place: Place, purpose: str) -> None:
        self._kit = kit
        self._place = place
        self._purpose = purpose
        self._event: str | None = None

    def requested(self, wire: WireRequest, model: str) -> None:
        facts = {"model": model, "purpose": self._purpose}
        self._event = self._kit.record.requests.store(wire, self._place, facts, aside=True).id

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        payload = {"model": model, "reason": reason, "again": again, "purpose": self._purpose}
        self._kit.record.log.append(Kind.MODEL_FAILED, self._place, payload, cause=self._event)

    def answered(self, answer: Answer) -> None:
        payload = {**answer_payload(answer, self._kit.models), "purpose": self._purpose}
        self._kit.record.log.append(
            Kind.MODEL_ANSWERED, self._place, payload, origin=Origin.ASSISTANT, cause=self._event
        )
