-- Questions that wait, or waited, for a yes or a no.

CREATE TABLE confirmations (
    event     TEXT PRIMARY KEY REFERENCES events (id),  -- confirmation.asked
    code      TEXT NOT NULL,
    asker     TEXT NOT NULL,               -- person whose turn made the call
    session   TEXT NOT NULL,
    space     TEXT NOT NULL,
    turn      TEXT NOT NULL,
    tool      TEXT NOT NULL,
    binding   TEXT NOT NULL,               -- SHA-256 of tool, version and exact arguments
    expires   INTEGER NOT NULL,            -- UTC, milliseconds since 1970
    state     TEXT NOT NULL CHECK (state IN ('open', 'yes', 'no', 'expired', 'replaced')),
    message   TEXT,                        -- message.sent of the question
    delivered INTEGER,                     -- when the platform took it, or when nobody could tell whether it did
    certain   INTEGER NOT NULL DEFAULT 0,  -- 1 if the platform said that it took it
    answer    TEXT,                        -- confirmation.answered
    resumed   TEXT                         -- tool.started or tool.finished that followed a yes
) STRICT;

CREATE INDEX confirmations_open ON confirmations (asker) WHERE state = 'open';
CREATE INDEX confirmations_by_session ON confirmations (session, state);
CREATE INDEX confirmations_by_turn ON confirmations (turn);
CREATE INDEX confirmations_by_message ON confirmations (message) WHERE message IS NOT NULL;
CREATE INDEX confirmations_by_answer ON confirmations (answer) WHERE answer IS NOT NULL;
CREATE INDEX confirmations_unresumed ON confirmations (event) WHERE state = 'yes' AND resumed IS NULL;
