-- One-use codes: that of the owner's claim, and those by which somebody links a second account.

CREATE TABLE codes (
    event   TEXT PRIMARY KEY REFERENCES events (id),  -- code.given
    use     TEXT NOT NULL CHECK (use IN ('claim', 'link')),
    person  TEXT NOT NULL,             -- who asked for it
    account TEXT,                      -- the one account that may send it; NULL for a claim: any that may be the owner's
    expires INTEGER NOT NULL,          -- UTC, milliseconds since 1970; put off when the right code has come
    wrong   INTEGER NOT NULL DEFAULT 0,
    state   TEXT NOT NULL CHECK (state IN ('open', 'shown', 'used', 'void')),
    shown   TEXT                       -- code.tried by which it was right: it waits for a yes or a no
) STRICT;

CREATE INDEX codes_open ON codes (expires) WHERE state IN ('open', 'shown');

-- Persons that became one with another, and whether they were parted again.
CREATE TABLE links (
    event  TEXT PRIMARY KEY REFERENCES events (id),  -- person.linked, person.claimed
    kept   TEXT NOT NULL,
    gone   TEXT NOT NULL,
    parted TEXT REFERENCES events (id)               -- person.parted
) STRICT;
