-- Standing yeses: what the owner allowed ahead, and how often it was used.
CREATE TABLE standing_yes (
    event     TEXT PRIMARY KEY REFERENCES events (id),  -- standing.given
    number    INTEGER NOT NULL UNIQUE,     -- what people call it by; never used twice
    state     TEXT NOT NULL CHECK (state IN ('given', 'revoked')),
    used      INTEGER NOT NULL DEFAULT 0,  -- calls that ran on it
    last_used INTEGER                      -- UTC, milliseconds since 1970
) STRICT;

-- Questions that are put to the owner for somebody else: both are told, once, when one runs out.
ALTER TABLE confirmations ADD COLUMN owner_at TEXT;  -- the owner's private chat; NULL if the asker was asked
ALTER TABLE confirmations ADD COLUMN told TEXT;      -- message.sent

CREATE INDEX confirmations_untold ON confirmations (event)
    WHERE state = 'expired' AND told IS NULL AND owner_at IS NOT NULL;
CREATE INDEX confirmations_by_expiry ON confirmations (expires) WHERE state IN ('open', 'expired');
