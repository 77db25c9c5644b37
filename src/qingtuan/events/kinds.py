"""Every kind of event, each with its sentence. The list is closed: an unknown kind cannot be written."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """One kind of event; `sentence` says what it means that it happened."""

    sentence: str

    def __new__(cls, value: str, sentence: str = "") -> Kind:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.sentence = sentence
        return kind

    MESSAGE_RECEIVED = "message.received", "A person's message arrived and was accepted."
    MESSAGE_IGNORED = (
        "message.ignored",
        "A message arrived and was not answered; the reason stands, the content does not.",
    )
    MESSAGE_SENT = "message.sent", "A reply, question or notice was put into the outbox."
    COMMAND_RUN = "command.run", "A command was carried out or refused."

    SESSION_STARTED = "session.started", "A new session of a space began."
    SESSION_CHOSEN = "session.chosen", "A session became the running one of its space."
    SESSION_CLEARED = "session.cleared", "The context of a session was emptied; its events stay."
    SESSION_REPAIRED = (
        "session.repaired",
        "A part of the history that a provider refused was dropped or rewritten.",
    )

    TURN_STARTED = "turn.started", "Work on a message began."
    TURN_FINISHED = "turn.finished", "Work on a message ended; the outcome stands in the payload."
    TURN_FAILED = "turn.failed", "Something broke in a turn; the detail is for the owner."

    MODEL_REQUESTED = "model.requested", "A request went to a model; its parts are named by hash."
    MODEL_ANSWERED = "model.answered", "A model's answer arrived whole."
    MODEL_FAILED = "model.failed", "A request to a model came to nothing, or its answer could not be used."

    TOOL_STARTED = (
        "tool.started",
        "A tool call is about to run; with no result after it, its outcome is unknown.",
    )
    TOOL_FINISHED = "tool.finished", "A tool call has its result: a value, an error, a refusal or a question."

    CONFIRMATION_ASKED = "confirmation.asked", "A call was stopped until somebody says yes or no."
    CONFIRMATION_ANSWERED = "confirmation.answered", "A question got its yes or its no, or was replaced."
    CONFIRMATION_EXPIRED = "confirmation.expired", "A question ran out of time."
    STANDING_GIVEN = "standing.given", "The owner allowed calls of a tool ahead: which, and until when."
    STANDING_REVOKED = "standing.revoked", "What was allowed ahead was taken back, or replaced by the same anew."

    DELIVERY_STARTED = "delivery.started", "A message is being handed to its platform."
    DELIVERY_SENT = "delivery.sent", "The platform took the message."
    DELIVERY_REFUSED = "delivery.refused", "The platform refused the message."
    DELIVERY_UNKNOWN = (
        "delivery.unknown",
        "Nobody knows whether the platform took the message; it is not sent again.",
    )

    PAGE_INTENDED = "page.intended", "Pages are about to change, with their hashes before and after."
    BELIEF_WRITTEN = "belief.written", "A belief stands in the wiki, or was seen there again."
    BELIEF_RETRACTED = "belief.retracted", "A belief moved to history, or was purged."
    BELIEF_PROPOSED = "belief.proposed", "A candidate waits for review."
    BELIEF_REVIEWED = "belief.reviewed", "A candidate was accepted, changed, rejected or dropped."
    WRITE_UNDONE = "write.undone", "A write was taken back."
    PAGE_EDITED = "page.edited", "Somebody changed pages by hand."
    NOTE_WRITTEN = "note.written", "A note was written as a page."
    WIKI_COMMITTED = "wiki.committed", "The writes of a turn, or hand edits, became a commit."

    SUMMARY_WRITTEN = "summary.written", "An older part of a session was compressed."
    SUMMARY_DELETED = "summary.deleted", "A summary was deleted; what it covered is read raw again."
    EXTRACTION_DONE = "extraction.done", "A stretch of a session was searched for what should be remembered."

    CHORE_FAILED = "chore.failed", "Something that was due after a reply came to nothing; it stays due."

    SERVER_PINNED = (
        "server.pinned",
        "A server's tools were seen for the first time, or approved as they are now.",
    )

    SETTINGS_CHANGED = "settings.changed", "A setting was changed from within."
    PERSON_CLAIMED = "person.claimed", "An account was bound to the owner by the one-use code."
    PERSON_LINKED = "person.linked", "Two accounts became one person, or were parted again."
    PERSON_FORGOTTEN = "person.forgotten", "A person was erased; their events became tombstones."
