-- What waits for a person's word before it is written to the memory, or waited.

CREATE TABLE candidates (
    event    TEXT PRIMARY KEY REFERENCES events (id),  -- belief.proposed
    what     TEXT NOT NULL,     -- 'entry', 'overtaken' (a write that a hand edit came before), or another part's word
    scope    TEXT NOT NULL,     -- where it would be written
    speaker  TEXT,              -- person who said it
    since    INTEGER NOT NULL,  -- since when it waits; UTC, milliseconds since 1970
    state    TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'rejected', 'dropped')),
    reviewed TEXT,              -- belief.reviewed
    written  TEXT               -- page.intended by which it was written
) STRICT;

CREATE INDEX candidates_open ON candidates (since) WHERE state = 'open';
CREATE INDEX candidates_by_scope ON candidates (scope, state);
CREATE INDEX candidates_by_write ON candidates (written) WHERE written IS NOT NULL;

-- By what number each of those who may decide about it knows it.
CREATE TABLE candidate_numbers (
    person TEXT NOT NULL,
    number INTEGER NOT NULL,
    event  TEXT NOT NULL REFERENCES candidates (event),
    asked  TEXT,                -- review.asked in which this person was asked about it
    PRIMARY KEY (person, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX candidate_numbers_by_event ON candidate_numbers (event);
