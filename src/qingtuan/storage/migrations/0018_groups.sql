-- Groups: who left one, and whether the assistant is there and may write. From group.changed.
CREATE TABLE groups_left (
    space   TEXT NOT NULL,
    account TEXT NOT NULL,
    event   TEXT NOT NULL REFERENCES events (id),
    PRIMARY KEY (space, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE groups_own (
    channel TEXT NOT NULL,
    space   TEXT NOT NULL,
    gone    INTEGER NOT NULL CHECK (gone IN (0, 1)),
    muted   INTEGER,      -- until when, UTC milliseconds since 1970; NULL while it may write
    event   TEXT NOT NULL REFERENCES events (id),
    PRIMARY KEY (channel, space)
) STRICT, WITHOUT ROWID;

-- Persons who do not want to be overheard, in any group. From overhearing.chosen.
CREATE TABLE unheard (
    person TEXT PRIMARY KEY,
    event  TEXT NOT NULL REFERENCES events (id)
) STRICT, WITHOUT ROWID;

-- What was said in enabled groups and not to the assistant: the newest 200 messages of a group, for 7 days. No events:
-- those stay for good, and this was never meant for it. What a turn uses of it is copied into that turn's events; the
-- rest is deleted, and so no replay makes it again.
CREATE TABLE overheard (
    number     INTEGER PRIMARY KEY,   -- in the order of hearing
    channel    TEXT NOT NULL,
    space      TEXT NOT NULL,
    message_id TEXT NOT NULL,
    account    TEXT NOT NULL,
    person     TEXT NOT NULL,
    said_at    TEXT NOT NULL,
    heard      INTEGER NOT NULL,      -- UTC, milliseconds since 1970
    text       TEXT NOT NULL,
    used       INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),  -- whether it was copied into a turn
    UNIQUE (channel, space, message_id)
) STRICT;
CREATE INDEX overheard_by_space ON overheard (space, number);
CREATE INDEX overheard_by_person ON overheard (person);
