"""Looking at the pictures of a turn: one request to the model that sees, whose answer then stands in their place.

Without tools and without thinking: some models that see go blind with either, and do not say so (turn.md, Models). What
the model answers was made from what is in the picture, so it is material, and an event: later requests carry it instead
of the picture.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from qingtuan.errors import ModelRefused, ModelUnreachable, NotThere, QingtuanError
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.language import Words
from qingtuan.media import happened
from qingtuan.media.collector import Reading
from qingtuan.media.kinds import VIEWABLE
from qingtuan.messages import Attachment, Origin
from qingtuan.models.chat import Answer, ImagePart, WireRequest
from qingtuan.prompt.pipeline import Built, build
from qingtuan.prompt.view import TurnView
from qingtuan.turn.answered import answer_payload, streaming
from qingtuan.turn.kit import Kit
from qingtuan.turn.telling import told_of
from qingtuan.turn.turn import Turn

MOST = 8
"""Pictures of a turn that are looked at."""
_MOST_BYTES = 20 * 1024 * 1024
"""Bytes of them together: more is refused by most makers."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a message of the turn that nobody looked at yet."""

    message: Received
    attachment: Attachment


@dataclass(frozen=True, slots=True)
class Seeing:
    """Looks at what came with the messages of one turn."""

    kit: Kit
    turn: Turn

    def unseen(self) -> list[Picture]:
        """The pictures that are to be looked at."""
        if self.kit.pictures is None or self.kit.models.looks is None:
            return []
        log, found = self.kit.record.log, dict[str, Picture]()
        for message in self.turn.messages:
            stored = Received.of(message.event)  # without what was fetched: that stands in the events
            for piece in happened.pieces(stored, log.caused_by(message.event.id)):
                attached = piece.attachment
                if attached and attached.media_type in VIEWABLE and not piece.how and not piece.unread:
                    found.setdefault(attached.hash, Picture(message, attached))
        return list(found.values())

    async def look(self, pictures: Sequence[Picture], view: TurnView) -> None:
        """Look at them, and write down what is in them, or why nobody knows.

        Raises:
            StorageFailed: it cannot be written down.
        """
        shown: list[tuple[Picture, ImagePart]] = []
        size = 0
        for picture in pictures:
            part = await self._opened(picture)
            if part is None:
                continue
            size += len(part.data)
            if len(shown) >= MOST or size > _MOST_BYTES:
                self._tell(picture, Reading(why=_MANY))
            else:
                shown.append((picture, part))
        if shown:
            await self._ask(shown, view)

    async def _opened(self, picture: Picture) -> ImagePart | None:
        try:
            if self.kit.pictures is None:
                return None
            return await asyncio.to_thread(self.kit.pictures.open, picture.attachment)
        except NotThere as error:
            self._tell(picture, Reading(why=error.words))
            return None

    async def _ask(self, shown: Sequence[tuple[Picture, ImagePart]], view: TurnView) -> None:
        parts = tuple(part for _, part in shown)
        try:
            try:
                answer, cause = await self._answer(replace(view, pictures=parts))
            except ModelRefused as error:
                # What is refused as a link may be taken as bytes, and the other way round.
                other = _other_form(parts)
                if error.reason not in ("request", "content", "history") or other is None:
                    raise
                answer, cause = await self._answer(replace(view, pictures=other))
        except (ModelRefused, ModelUnreachable) as error:
            await self._blind([picture for picture, _ in shown], error)
            return
        self._seen([picture for picture, _ in shown], answer, cause)

    async def _answer(self, view: TurnView) -> tuple[Answer, str | None]:
        recorder = _Recorder(self.kit, self.turn, build(view))
        async with streaming(self.kit.models, recorder.built.request, recorder) as pieces:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    recorder.answered(piece)
                    if not piece.text.strip():
                        raise ModelUnreachable(_NO_ANSWER)
                    return piece, recorder.event
        raise ModelUnreachable(_NO_ANSWER)

    def _seen(self, pictures: Sequence[Picture], answer: Answer, cause: str | None) -> None:
        """One answer for all of them stands with the first; the others say so."""
        first, *others = pictures
        payload = {"how": "vision", "text": answer.text.strip(), "model": answer.model, "request": cause}
        with self.kit.record.log.transaction():
            self._write(first, payload)
            for other in others:
                self._write(other, {"how": "vision", "text": "", "with": first.attachment.hash})

    async def _blind(self, pictures: Sequence[Picture], error: QingtuanError) -> None:
        """The model that sees did not: what text there is may be read all the same."""
        why = told_of(error, self.turn.reader, _BROKE)
        for picture in pictures:
            reading = await self.kit.pictures.read(picture.attachment) if self.kit.pictures else None
            self._tell(picture, reading if reading and reading.text else Reading(why=why))

    def _tell(self, picture: Picture, reading: Reading) -> None:
        payload: dict[str, Any] = {"why": asdict(reading.why)} if reading.why else {}
        if reading.how:
            payload |= {"how": reading.how, "text": reading.text}
        self._write(picture, payload)

    def _write(self, picture: Picture, payload: dict[str, Any]) -> None:
        content = {"hash": picture.attachment.hash, **payload}
        self.kit.record.log.append(
            Kind.MEDIA_READ, self.turn.place, content, origin=Origin.FILE, cause=picture.message.event.id
        )


def _other_form(parts: tuple[ImagePart, ...]) -> tuple[ImagePart, ...] | None:
    """The same pictures in the form in which they were not sent; None where there is no other."""
    if any(part.url is None for part in parts):
        return None
    return tuple(replace(part, swapped=True) for part in parts)


class _Recorder:
    """Writes the request down, with the pictures by their hashes: their bytes stand in the media folder."""

    def __init__(self, kit: Kit, turn: Turn, built: Built) -> None:
        self._kit = kit
        self._turn = turn
        self.built = built
        self.event: str | None = None

    def requested(self, wire: WireRequest, model: str) -> None:
        facts = {
            "model": model,
            "route": self.built.draft.route,
            "purpose": "vision",
            "layers": [
                {"number": layer.number, "name": layer.name, "chars": len(layer.text), "source": layer.source}
                for layer in self.built.layers
            ],
            "talk": {"before": [0, 0], "current": [1, len(self._turn.words)], "left_out": 0},
            "steps": [{"adapter": step.adapter, "changed": list(step.changed)} for step in self.built.steps],
        }
        requests, place = self._kit.record.requests, self._turn.place
        self.event = requests.store(wire.without_pictures(), place, facts, cause=self._turn.cause, aside=True).id

    def failed(self, model: str, reason: str, *, again: bool) -> None:
        payload = {"model": model, "reason": reason, "again": again, "purpose": "vision"}
        self._kit.record.log.append(Kind.MODEL_FAILED, self._turn.place, payload, cause=self.event or self._turn.cause)

    def answered(self, answer: Answer) -> None:
        # Beside the turn: it is no answer to the person, and no round.
        place = Place(self._turn.session.id, self._turn.session.space, None, self._turn.reader.person)
        payload = {**answer_payload(answer, self._kit.models), "purpose": "vision", "route": "vision"}
        payload.pop("calls", None)
        self._kit.record.log.append(Kind.MODEL_ANSWERED, place, payload, origin=Origin.FILE, cause=self.event)


_MANY = Words(f"一次最多看 {MOST} 张，这张没有看。", f"At most {MOST} pictures are looked at; this one was not.")
_NO_ANSWER = Words("看图的模型没有说什么。", "The model that sees said nothing.")
_BROKE = Words("看图的模型这会儿用不了。", "The model that sees does not work now.")
