"""What became of the media of a message, read from the events alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.language import Words
from qingtuan.messages import Attachment, Material, Origin, Remote

KINDS = (Kind.MEDIA_FETCHED, Kind.MEDIA_FAILED, Kind.MEDIA_READ)
"""The kinds that tell of it; each is caused by the message that it is about."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that came with a message, and how far it has come."""

    remote: Remote | None = None
    """What lay with the platform; None for what came along as a file."""
    attachment: Attachment | None = None
    """The file, once it is here."""
    material: Material | None = None
    """Forwarded or quoted text, once it is here."""
    why_not: Words | None = None
    """Why it is not here, and will not be."""
    text: str = ""
    """What was read in it."""
    how: str = ""
    """By what: `vision`, `ocr`, `speech` or `document`."""
    cut: bool = False
    """Whether there is more in it than `text` holds."""
    seen_with: str = ""
    """The hash of the picture with which what was seen in it stands."""
    unread: Words | None = None
    """Why nothing was read in it."""

    @property
    def settled(self) -> bool:
        """Whether it is here, or known not to come."""
        return self.attachment is not None or self.material is not None or self.why_not is not None


@dataclass(slots=True)
class _Happened:
    outcomes: dict[int, Event] = field(default_factory=dict)
    readings: dict[str, Event] = field(default_factory=dict)
    """By hash, the newest of each."""


def by_message(events: Iterable[Event]) -> Mapping[str, list[Event]]:
    """Events of these kinds by the message that they are about; what was erased is passed over."""
    found: dict[str, list[Event]] = {}
    for event in events:
        if event.kind in KINDS and event.cause and not event.forgotten:
            found.setdefault(event.cause, []).append(event)
    return found


def pieces(message: Received, events: Iterable[Event]) -> list[Piece]:
    """Everything that came with a message, in its order: files first, then what lay with the platform. `events` are
    those that the message caused. A voice whose words the platform told is no piece: it is what was said."""
    happened = _Happened()
    for event in events:
        if event.forgotten:
            continue
        if event.kind is Kind.MEDIA_READ:
            happened.readings[event.payload["hash"]] = event
        elif event.kind in (Kind.MEDIA_FETCHED, Kind.MEDIA_FAILED):
            happened.outcomes.setdefault(event.payload["number"], event)
    return [*_files(message, happened), *_remotes(message, happened)]


def _files(message: Received, happened: _Happened) -> Iterator[Piece]:
    for attachment in message.attachments:
        yield _read(Piece(attachment=attachment), happened)


def _remotes(message: Received, happened: _Happened) -> Iterator[Piece]:
    for number, remote in enumerate(message.remotes):
        if message.spoken and remote.voice and remote.transcript:
            continue
        piece = Piece(remote=remote)
        if (outcome := happened.outcomes.get(number)) is None:
            yield piece
        elif outcome.kind is Kind.MEDIA_FAILED:
            yield replace(piece, why_not=words_of(outcome.payload.get("why", {})))
        elif attached := outcome.payload.get("attachments"):
            yield _read(replace(piece, attachment=Attachment(**attached[0])), happened)
        else:
            one = outcome.payload["materials"][0]
            yield replace(piece, material=Material(Origin(one["origin"]), one["label"], one["text"]))


def _read(piece: Piece, happened: _Happened) -> Piece:
    reading = happened.readings.get(piece.attachment.hash) if piece.attachment else None
    if reading is None:
        return piece
    payload = reading.payload
    why = payload.get("why")
    return replace(
        piece,
        text=payload.get("text", ""),
        how=payload.get("how", ""),
        cut=bool(payload.get("cut")),
        seen_with=payload.get("with", ""),
        unread=words_of(why) if why else None,
    )


def words_of(plain: Mapping[str, str]) -> Words:
    """A sentence as an event holds it."""
    return Words(str(plain.get("zh", "")), str(plain.get("en", "")))


def heard_in(message: Received, found: Iterable[Piece]) -> str:
    """What the speaker said aloud in a message that has no words, as far as it was heard here."""
    if message.text.strip():
        return ""
    said = (piece.text for piece in found if piece.how == "speech" and piece.remote and piece.remote.voice)
    return "\n".join(filter(None, said))


def completed(message: Received, events: Iterable[Event]) -> Received:
    """A message with the files that were fetched for it, and with what was heard in its voice as its words."""
    found = pieces(message, events)
    here = tuple(piece.attachment for piece in found if piece.remote and piece.attachment)
    text = heard_in(message, found)
    message = replace(message, attachments=(*message.attachments, *here)) if here else message
    return replace(message, text=text, spoken=True) if text else message
