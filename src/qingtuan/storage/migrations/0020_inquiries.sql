-- Questions that programs put to people, and what became of each. What was answered stands in the message alone.

CREATE TABLE inquiries (
    event     TEXT PRIMARY KEY REFERENCES events (id),  -- inquiry.asked
    code      TEXT NOT NULL,
    person    TEXT NOT NULL,               -- who is asked
    session   TEXT NOT NULL,
    space     TEXT NOT NULL,
    turn      TEXT,                        -- the turn that waits for the answer, if one does
    expires   INTEGER NOT NULL,            -- UTC, milliseconds since 1970
    state     TEXT NOT NULL CHECK (state IN ('open', 'answered', 'declined', 'expired', 'gone')),
    message   TEXT,                        -- message.sent of the question
    delivered INTEGER,                     -- when the platform took it, or when nobody could tell whether it did
    certain   INTEGER NOT NULL DEFAULT 0   -- 1 if the platform said that it took it
) STRICT;

CREATE INDEX inquiries_open ON inquiries (person) WHERE state = 'open';
CREATE INDEX inquiries_by_message ON inquiries (message) WHERE message IS NOT NULL;
