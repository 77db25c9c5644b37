"""What a message holds besides words: things to fetch, and things that only have a name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from qingtuan.channels import labels
from qingtuan.channels.foreign import text_in
from qingtuan.messages import Remote

DOWNLOAD_BYTES = 20 * 1024 * 1024
"""What the Bot API lets a bot download (Bot API, getFile)."""
_LONGEST = 300

Thing = Mapping[str, Any]


def remotes_of(message: Thing) -> tuple[Remote, ...]:
    """Everything of a message that lies with Telegram."""
    found = [remote for key, kind in _FILES.items() if (remote := _file(message.get(key), kind))]
    if "animation" in message:  # comes as a document, too, for programs that know no animations
        found = [remote for remote in found if remote.kind == "video"]
    photo = _largest(message.get("photo"))
    return (photo, *found) if photo else tuple(found)


def reference(remote: Remote) -> str | None:
    """The id by which Telegram gives a file; None for a reference that is none of ours."""
    try:
        value = json.loads(remote.reference)
    except ValueError:
        return None
    found = value.get("file_id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


_FILES: Mapping[str, Literal["audio", "video", "file"]] = {
    "voice": "audio",
    "audio": "audio",
    "video": "video",
    "video_note": "video",
    "animation": "video",
    "document": "file",
}


def _file(thing: Any, kind: Literal["image", "audio", "video", "file"]) -> Remote | None:
    if not isinstance(thing, Mapping) or not isinstance(thing.get("file_id"), str):
        return None
    size = thing.get("file_size")
    return Remote(
        kind,
        json.dumps({"file_id": thing["file_id"]}),
        _text(thing, "file_name"),
        size if isinstance(size, int) and size >= 0 else None,
    )


def _largest(sizes: Any) -> Remote | None:
    """The largest size of a picture that may be downloaded."""
    if not isinstance(sizes, list):
        return None
    fitting = [one for one in sizes if isinstance(one, Mapping) and (one.get("file_size") or 0) <= DOWNLOAD_BYTES]
    best = max(fitting, key=lambda one: int(one.get("width") or 0) * int(one.get("height") or 0), default=None)
    return _file(best, "image")


def label_of(message: Thing) -> str:
    """A line for what has no text and is no file: what it is, and what stands on it. Foreign."""
    lines = [say(message[key]) for key, say in _LABELS.items() if isinstance(message.get(key), Mapping)]
    # A venue is a location with a name, and comes as both.
    if "venue" in message:
        lines = [line for line in lines if not line.startswith(labels.sign(labels.PLACE))]
    return "\n".join(lines)


def _sticker(thing: Thing) -> str:
    return f"{labels.sign(labels.STICKER)} {_text(thing, 'emoji')}".strip()


def _contact(thing: Thing) -> str:
    name = f"{_text(thing, 'first_name')} {_text(thing, 'last_name')}".strip()
    return f"{labels.sign(labels.CONTACT)} {name} {_text(thing, 'phone_number')}".strip()


def _location(thing: Thing) -> str:
    return f"{labels.sign(labels.PLACE)} {float(thing['latitude']):.5f}, {float(thing['longitude']):.5f}"


def _venue(thing: Thing) -> str:
    where = thing.get("location")
    place = _location(where).removeprefix(f"{labels.sign(labels.PLACE)} ") if isinstance(where, Mapping) else ""
    parts = (_text(thing, "title"), _text(thing, "address"), place)
    return f"{labels.sign(labels.VENUE)} " + ", ".join(part for part in parts if part)


def _poll(thing: Thing) -> str:
    options = thing.get("options") or ()
    texts = [_text(one, "text") for one in options if isinstance(one, Mapping)][:12]
    return f"{labels.sign(labels.POLL)} {_text(thing, 'question')}: {' / '.join(texts)}"


def _dice(thing: Thing) -> str:
    return f"{labels.sign(labels.DICE)} {_text(thing, 'emoji')} {int(thing['value'])}"


def _game(thing: Thing) -> str:
    return f"{labels.sign(labels.GAME)} {_text(thing, 'title')}"


def _named(name: str) -> Callable[[Thing], str]:
    return lambda _: labels.sign(name)


_LABELS: Mapping[str, Callable[[Thing], str]] = {
    "sticker": _sticker,
    "contact": _contact,
    "venue": _venue,
    "location": _location,
    "poll": _poll,
    "dice": _dice,
    "story": _named(labels.STORY),
    "game": _game,
    "paid_media": _named(labels.PAID),
    "invoice": _named(labels.INVOICE),
    "gift": _named(labels.GIFT),
    "checklist": _named(labels.CHECKLIST),
    "giveaway": _named(labels.GIVEAWAY),
}


def _text(of: Any, key: str) -> str:
    return text_in(of, key)[:_LONGEST]
