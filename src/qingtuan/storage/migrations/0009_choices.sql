-- What was chosen for one space by a command: how talk becomes memory there, which persona card speaks, whether a
-- group is answered. What is not here is as the settings say.
CREATE TABLE choices (
    space TEXT NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    event TEXT NOT NULL REFERENCES events (id),  -- settings.changed
    PRIMARY KEY (space, name)
) STRICT, WITHOUT ROWID;
