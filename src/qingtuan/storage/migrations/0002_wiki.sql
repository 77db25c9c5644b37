-- What the files of the wiki are, as far as events say: a file with another hash was changed by hand.
CREATE TABLE wiki_pages (
    path TEXT PRIMARY KEY,
    hash TEXT NOT NULL                     -- SHA-256 of the bytes, hex
) STRICT, WITHOUT ROWID;

-- Each page of each write, and how far it has come:
--   open       intended; the file may or may not have changed, the commit is not recorded
--   committed  in the history of git
--   overtaken  the page was changed by hand before the write reached it: to be applied again, or given up
--   dropped    given up
CREATE TABLE wiki_writes (
    event     TEXT NOT NULL REFERENCES events (id),  -- page.intended
    path      TEXT NOT NULL,
    seq       INTEGER NOT NULL,            -- position of the event in the log
    turn      TEXT,
    cause     TEXT,                        -- the event that the write was made for
    before    TEXT,                        -- hash; NULL if there was no page
    after     TEXT,                        -- hash; NULL if the page goes
    state     TEXT NOT NULL CHECK (state IN ('open', 'committed', 'overtaken', 'dropped')),
    revision  TEXT,                        -- id of the commit
    undone    TEXT REFERENCES events (id), -- write.undone
    PRIMARY KEY (event, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX wiki_writes_unfinished ON wiki_writes (seq) WHERE state IN ('open', 'overtaken');
CREATE INDEX wiki_writes_by_turn ON wiki_writes (turn) WHERE turn IS NOT NULL;
CREATE INDEX wiki_writes_by_cause ON wiki_writes (cause) WHERE cause IS NOT NULL;
CREATE INDEX wiki_writes_by_path ON wiki_writes (path, seq);
