-- The compressed older parts of sessions. The first columns are those of seed 001; ids are ids of events.

CREATE TABLE session_summaries (
    id                   TEXT PRIMARY KEY REFERENCES events (id),  -- summary.written
    session_key          TEXT NOT NULL,
    message_type         TEXT NOT NULL CHECK (message_type IN ('private', 'group')),
    user_id              TEXT,             -- the account of a private chat
    group_id             TEXT,
    summary              TEXT NOT NULL,
    message_start_id     TEXT NOT NULL,    -- first and last message that it covers
    message_end_id       TEXT NOT NULL,
    source_message_count INTEGER NOT NULL,
    created_at           TEXT NOT NULL,    -- ISO 8601, UTC
    first_seq            INTEGER NOT NULL, -- position in the log of the first thing that was read
    last_seq             INTEGER NOT NULL, -- position up to which the session is covered
    first_day            TEXT NOT NULL,    -- days of the person's zone, ISO
    last_day             TEXT NOT NULL,
    level                INTEGER NOT NULL, -- 1 for a summary of messages; of summaries, one more than the highest
    is_foreign           INTEGER NOT NULL, -- 1 if it was made from material
    absorbed_by          TEXT,             -- the summary that took its place
    deleted              TEXT              -- summary.deleted
) STRICT;

CREATE INDEX summaries_in_force ON session_summaries (session_key, last_seq)
    WHERE absorbed_by IS NULL AND deleted IS NULL;
