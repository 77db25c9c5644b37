-- Keys of programs. Of the key itself only a hash is kept, and only here: no event holds it, so no replay makes it again.
CREATE TABLE keys (
    name    TEXT PRIMARY KEY,      -- the account is http:<name>
    event   TEXT NOT NULL REFERENCES events (id),  -- the newest key.issued of this name
    person  TEXT NOT NULL,
    scope   TEXT NOT NULL CHECK (scope IN ('private', 'own', 'public')),
    hash    TEXT,                  -- SHA-256 of the key; NULL once it is revoked
    issued  INTEGER NOT NULL,      -- UTC, milliseconds since 1970
    revoked INTEGER
) STRICT;
