-- Self-made capabilities: every version that was ever deployed, and which of them counts. From capability.deployed and
-- capability.approved. Of the versions of a name that one runs which began to count last, if that was after the last
-- deletion; the owner is the author of the first one that counted and is left.
CREATE TABLE capability_versions (
    event   TEXT PRIMARY KEY REFERENCES events (id),  -- capability.deployed: the definition stands there
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    author  TEXT NOT NULL,     -- a person
    hand    INTEGER NOT NULL CHECK (hand IN (0, 1)),   -- whether it came by an editor
    hash    TEXT NOT NULL,     -- of the definition
    waits   INTEGER NOT NULL CHECK (waits IN (0, 1)),  -- for the owner's yes
    counted INTEGER,           -- seq of the event since which it counts; NULL if it never did
    began   INTEGER,           -- when that was; UTC, milliseconds since 1970
    UNIQUE (name, version)
) STRICT;

-- What else is known of a name. From capability.stored, capability.deleted and capability.switched.
CREATE TABLE capability_states (
    name    TEXT PRIMARY KEY,
    stands  TEXT,              -- capability.stored: what stands in its folder; NULL if nothing does
    off     INTEGER NOT NULL DEFAULT 0 CHECK (off IN (0, 1)),
    deleted INTEGER NOT NULL DEFAULT 0,  -- seq of the last deletion
    cleared INTEGER NOT NULL DEFAULT 0   -- seq since which failures count towards its being broken
) STRICT, WITHOUT ROWID;

-- Calls, for the counters. From capability.called.
CREATE TABLE capability_calls (
    event  TEXT PRIMARY KEY REFERENCES events (id),
    seq    INTEGER NOT NULL,
    name   TEXT NOT NULL,
    ok     INTEGER NOT NULL CHECK (ok IN (0, 1)),
    millis INTEGER NOT NULL,
    at     INTEGER NOT NULL    -- UTC, milliseconds since 1970
) STRICT;
CREATE INDEX capability_calls_by_name ON capability_calls (name, seq);
