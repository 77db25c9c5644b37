-- Standing yeses: what the owner allowed ahead, and how often it was used.
CREATE TABLE standing_yes (
    event     TEXT PRIMARY KEY REFERENCES events (id),  -- standing.given
    number    INTEGER NOT NULL UNIQUE,     -- what people call it by; never used twice
    state     TEXT NOT NULL CHECK (state IN ('given', 'revoked')),
    used      INTEGER NOT NULL DEFAULT 0,  -- calls that ran on it
    last_used INTEGER                      -- UTC, milliseconds since 1970
) STRICT;

-- The notice that a question of somebody else ran out: told once.
ALTER TABLE confirmations ADD COLUMN told TEXT;  -- message.sent

CREATE INDEX confirmations_untold ON confirmations (event) WHERE state = 'expired' AND told IS NULL;
