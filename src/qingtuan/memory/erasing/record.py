"""What of the record repeats what is to be erased. Reads all of it; changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from qingtuan.events.erasing import ERASING
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, event_from_row
from qingtuan.memory.erasing.words import Needles, finder, strings_in, telling
from qingtuan.memory.likeness import fold
from qingtuan.memory.summary_table import Summary

_PAGE = 1000
MADE = frozenset(
    {
        Kind.MESSAGE_SENT,
        Kind.TALK_QUOTED,
        Kind.MODEL_ANSWERED,
        Kind.TOOL_STARTED,
        Kind.TOOL_FINISHED,
        Kind.CONFIRMATION_ASKED,
        Kind.TURN_FAILED,
        Kind.CHORE_FAILED,
    }
)
"""What programs said: it may repeat what somebody said to them."""
ABOUT = frozenset({Kind.PAGE_INTENDED, Kind.BELIEF_PROPOSED, Kind.BELIEF_REVIEWED})
"""What is written down of an entry besides the events of its story."""
_TALK = frozenset({Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT})
_CALLS = frozenset({Kind.MODEL_ANSWERED, Kind.TOOL_STARTED, Kind.TOOL_FINISHED})
_LASTING = frozenset({*ERASING, Kind.WIKI_REWRITTEN, Kind.ERASURE_FINISHED})


def each(log: Log, condition: str = "1", values: Sequence[Any] = ()) -> Iterator[Event]:
    """Every event that fits an SQL condition and has anything to erase, in order."""
    after = 0
    sql = f"SELECT * FROM events WHERE seq > ? AND ({condition}) ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
    while rows := log.database.rows(sql, [after, *values]):
        after = rows[-1]["seq"]
        for event in map(event_from_row, rows):
            if not event.forgotten and event.kind not in _LASTING:
                yield event


def with_their_calls(log: Log, found: Iterable[Event]) -> dict[str, Event]:
    """These events by id, and with each call or result all that belongs to the call: the answer that made it with
    the others in that answer, and the question that it waited for. A call is never torn from its result."""
    erased = {event.id: event for event in found}
    turns = {event.place.turn for event in erased.values() if event.kind in _CALLS and event.place.turn}
    for turn in turns:
        events = [event for event in log.of_turn(turn) if not event.forgotten]
        while True:
            calls = {call for event in events if event.id in erased for call in _calls_of(event)}
            more = [event for event in events if event.id not in erased and calls & _calls_of(event)]
            if not more:
                break
            erased |= {event.id: event for event in more}
    for event in list(erased.values()):
        if event.kind in _CALLS and event.cause:
            erased |= {asked.id: asked for asked in _question_behind(log, event.cause)}
    return erased


def _calls_of(event: Event) -> set[str]:
    if event.kind is Kind.MODEL_ANSWERED:
        return {call["id"] for call in event.payload.get("calls", ())}
    return {event.payload["call"]} if event.kind in _CALLS else set()


def _question_behind(log: Log, cause: str) -> Iterator[Event]:
    """The question whose yes a call ran on."""
    answer = log.get(cause)
    if answer is not None and answer.kind is Kind.CONFIRMATION_ANSWERED and answer.cause:
        asked = log.get(answer.cause)
        if asked is not None and not asked.forgotten:
            yield asked


def parts_of(event: Event) -> Iterator[str]:
    """The hashes of parts that an event names."""
    payload = event.payload
    match event.kind:
        case Kind.MODEL_REQUESTED:
            yield from payload.get("messages", ())
            yield from filter(None, (payload.get("tools"), payload.get("params")))
        case Kind.TURN_STARTED:
            memory = payload.get("memory", {})
            yield from (memory[name] for name in ("pinned", "recalled") if name in memory)
        case Kind.SUMMARY_WRITTEN:
            yield from filter(None, (payload.get("text"),))
        case Kind.PAGE_INTENDED:
            yield from (page["after"] for page in payload.get("pages", ()) if page["after"])
        case _:
            return


NAMING_PARTS = (Kind.MODEL_REQUESTED, Kind.TURN_STARTED, Kind.SUMMARY_WRITTEN, Kind.PAGE_INTENDED)


def said_by(event: Event) -> Iterator[str]:
    """What an event says, as it stands in later requests."""
    payload = event.payload
    match event.kind:
        case Kind.MESSAGE_RECEIVED | Kind.MESSAGE_SENT | Kind.TALK_OVERHEARD | Kind.TALK_QUOTED:
            yield payload.get("text", "")
        case Kind.MODEL_ANSWERED:
            yield payload.get("text", "")
            yield from (call["arguments"] for call in payload.get("calls", ()))
        case Kind.TOOL_FINISHED:
            yield payload.get("shown", "")
        case Kind.MEDIA_READ:
            yield payload.get("text", "")
        case Kind.MEDIA_FETCHED:
            yield from (one["text"] for one in payload.get("materials", ()))
        case _:
            return


def lines_of(events: Iterable[Event]) -> list[str]:
    """The lines of what events say, each once."""
    return list(dict.fromkeys(line for event in events for text in said_by(event) for line in text.splitlines()))


def parts_that(log: Log, hold: Callable[[str, bytes], bool]) -> set[str]:
    """The hashes of all parts for which `hold` is true, asked with hash and bytes."""
    found: set[str] = set()
    after = ""
    while rows := log.database.rows("SELECT hash, body FROM parts WHERE hash > ? ORDER BY hash LIMIT 200", (after,)):
        after = rows[-1]["hash"]
        found |= {row["hash"] for row in rows if hold(row["hash"], bytes(row["body"]))}
    return found


def part_holds(needles: Needles) -> Callable[[str, bytes], bool]:
    """Whether any string in a part holds one of the needles."""
    return lambda _, body: any(map(needles.in_text, strings_in(body)))


def delete_parts(log: Log, hashes: Iterable[str]) -> int:
    """Take parts away. How many there were."""
    return sum(log.database.execute("DELETE FROM parts WHERE hash = ?", (name,)).rowcount for name in hashes)


def media_of(events: Iterable[Event]) -> set[str]:
    """The hashes of files and pictures that came with events."""
    attached = (one for event in events for one in event.payload.get("attachments", ()))
    return {str(one["hash"]) for one in attached if isinstance(one, dict) and "hash" in one}


def media_only_of(log: Log, erased: Collection[str], events: Iterable[Event]) -> list[str]:
    """Of the files that came with erased events, those that no other event brought."""
    wanted = media_of(events)
    if wanted:
        with_files = each(log, "json_extract(payload, '$.attachments') IS NOT NULL")
        wanted -= media_of(event for event in with_files if event.id not in erased)
    return sorted(wanted)


def talk_of(events: Iterable[Event]) -> dict[str, list[str]]:
    """By space, the sessions in which these messages and replies were said."""
    found: dict[str, dict[str, None]] = {}
    for event in events:
        if event.kind in _TALK and event.place.space and event.place.session:
            found.setdefault(str(event.place.space), {})[event.place.session] = None
    return {space: list(sessions) for space, sessions in found.items()}


def of_summaries(log: Log, gone: Sequence[Summary]) -> tuple[dict[str, Event], set[str]]:
    """What repeats summaries that go: the answers in which they were made, and pieces of requests that show them."""
    found_in = finder(fold(line) for one in gone for line in one.text.splitlines() if telling(line))
    answers: dict[str, Event] = {}
    named: set[str] = set()
    kinds = [Kind.MODEL_ANSWERED, Kind.MODEL_REQUESTED, *dict.fromkeys(one.session for one in gone)]
    for event in each(log, f"kind IN (?, ?) AND session IN ({','.join('?' * (len(kinds) - 2))})", kinds):
        if event.kind is Kind.MODEL_REQUESTED:
            named.update(parts_of(event))
        elif event.place.person is None and any(any(found_in(fold(text))) for text in said_by(event)):
            answers[event.id] = event

    def shows(name: str) -> bool:
        with suppress(KeyError):
            return any(any(found_in(fold(text))) for text in strings_in(log.part(name)))
        return False

    return answers, set(filter(shows, named))
