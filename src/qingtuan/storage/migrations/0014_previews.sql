-- Messages that show an answer while it is written, until they become it or go.
CREATE TABLE previews (
    turn        TEXT PRIMARY KEY,
    event       TEXT NOT NULL,  -- preview.shown
    channel     TEXT NOT NULL,
    space       TEXT NOT NULL,
    platform_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
