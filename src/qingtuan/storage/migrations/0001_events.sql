-- Events: append-only. Everything else below is a projection of them, written in the same transaction,
-- or content that they refer to by hash.

CREATE TABLE events (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    time    INTEGER NOT NULL,              -- UTC, milliseconds since 1970
    kind    TEXT NOT NULL,
    session TEXT,
    space   TEXT,
    turn    TEXT,
    person  TEXT,
    origin  TEXT NOT NULL,
    cause   TEXT REFERENCES events (id),   -- the event that caused this one
    payload TEXT NOT NULL                  -- JSON object
) STRICT;

CREATE INDEX events_by_session ON events (session, seq);
CREATE INDEX events_by_turn ON events (turn, seq) WHERE turn IS NOT NULL;
CREATE INDEX events_by_person ON events (person, seq);
CREATE INDEX events_by_kind ON events (kind, seq);
CREATE INDEX events_by_cause ON events (cause) WHERE cause IS NOT NULL;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are append-only');
END;

-- The one change that is allowed: a person who was forgotten leaves tombstones, and nothing but the payload changes.
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
WHEN NOT (
    NEW.payload = '{"forgotten":true}'
    AND OLD.kind <> 'person.forgotten'
    AND EXISTS (SELECT 1 FROM events AS f WHERE f.kind = 'person.forgotten' AND f.person = OLD.person)
    AND NEW.seq = OLD.seq AND NEW.id = OLD.id AND NEW.time = OLD.time AND NEW.kind = OLD.kind
    AND NEW.session IS OLD.session AND NEW.space IS OLD.space AND NEW.turn IS OLD.turn
    AND NEW.person IS OLD.person AND NEW.origin = OLD.origin AND NEW.cause IS OLD.cause
)
BEGIN
    SELECT RAISE(ABORT, 'events are append-only');
END;

-- Pieces of model requests, each once: a request event names the hashes of its messages, tools and parameters.
CREATE TABLE parts (
    hash TEXT PRIMARY KEY,                 -- SHA-256 of body, hex
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Inbound messages and how far each has come.
CREATE TABLE inbox (
    event      TEXT PRIMARY KEY REFERENCES events (id),
    channel    TEXT NOT NULL,
    space      TEXT NOT NULL,
    message_id TEXT NOT NULL,
    session    TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'working', 'done')),
    turn       TEXT,
    UNIQUE (channel, space, message_id)
) STRICT;

CREATE INDEX inbox_open ON inbox (state) WHERE state <> 'done';

-- Outbound messages and what became of each.
CREATE TABLE outbox (
    event       TEXT PRIMARY KEY REFERENCES events (id),
    channel     TEXT NOT NULL,
    space       TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'refused', 'unknown')),
    platform_id TEXT
) STRICT;

CREATE INDEX outbox_open ON outbox (state) WHERE state IN ('waiting', 'sending');
CREATE INDEX outbox_by_platform_id ON outbox (platform_id, space) WHERE platform_id IS NOT NULL;

-- Sessions, and which one of a space is running.
CREATE TABLE sessions (
    id      TEXT PRIMARY KEY,
    space   TEXT NOT NULL,
    name    TEXT,
    started TEXT NOT NULL REFERENCES events (id),
    cleared INTEGER NOT NULL DEFAULT 0,    -- seq of the event since which context counts
    UNIQUE (space, name)
) STRICT;

CREATE TABLE running_sessions (
    space   TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id)
) STRICT;
