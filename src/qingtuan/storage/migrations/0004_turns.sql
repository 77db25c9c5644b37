-- Turns that have begun and not ended: what a start takes up again.
CREATE TABLE open_turns (
    turn    TEXT PRIMARY KEY,
    started TEXT NOT NULL REFERENCES events (id)
) STRICT;
