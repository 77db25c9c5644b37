"""Past talk as Markdown, a text for each day, as far as one reader may see it. Secrets are covered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, tzinfo

from qingtuan.clock import day_of
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.redaction import mask
from qingtuan.language import Language, Words
from qingtuan.memory.talk import Talk
from qingtuan.memory.wiki.one_line import flat

_PRIVATE = Words("私聊", "private")
_GROUP = Words("群", "group")
_ASSISTANT = Words("小青团", "Qingtuan")
_ATTACHED = Words("[附件：{name}]", "[attached: {name}]")


def days(talk: Talk, zone: tzinfo, language: Language) -> Iterator[tuple[date, str]]:
    """Each day on which something was said, with all of it, in order; days of `zone`."""
    day: date | None = None
    lines: list[str] = []
    place = ""
    for event in talk.all():
        # A clock that was set back moves nothing to a day that is told already.
        told = max(day_of(event.time, zone), day or date.min)
        if told != day:
            if day is not None:
                yield day, "\n".join(lines)
            day, lines, place = told, [f"# {told}"], ""
        here = _place(event, language)
        if here != place:
            place = here
            lines += ["", f"## {here}"]
        lines += _message(event, zone, language)
    if day is not None:
        yield day, "\n".join(lines)


def _place(event: Event, language: Language) -> str:
    space = event.place.space
    if space is None:
        return "?"
    return f"{(_GROUP if space.is_group else _PRIVATE).say(language)} {flat(space.id)} · {event.place.session}"


def _message(event: Event, zone: tzinfo, language: Language) -> Iterator[str]:
    payload = event.payload
    who = _ASSISTANT.say(language)
    if event.kind is Kind.MESSAGE_RECEIVED:
        nickname = flat(str(payload.get("nickname") or ""))[:40]
        account = flat(str(payload.get("account") or "?"))
        who = f"{nickname} ({account})" if nickname else account
    yield ""
    yield f"**{event.time.astimezone(zone):%H:%M} {_plain(who)}**"
    yield ""
    text = mask(str(payload.get("text") or ""), language=language).text
    names = [flat(str(one.get("name", ""))) for one in payload.get("attachments", ())]
    attached = [_ATTACHED.say(language).format(name=name) for name in names]
    # Quoted, so that nothing in it can be taken for a heading, a comment or another's words.
    for line in (*text.splitlines(), *attached):
        yield f"> {line}".rstrip()


def _plain(text: str) -> str:
    """A name within emphasis."""
    return text.replace("*", "·").replace("_", "-").replace("<", "‹")
