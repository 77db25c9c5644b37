-- A message goes out part by part; each part has an outcome and an id of its own.
ALTER TABLE outbox ADD COLUMN part  INTEGER NOT NULL DEFAULT 0;  -- the part on its way, or the next one
ALTER TABLE outbox ADD COLUMN parts INTEGER NOT NULL DEFAULT 1;  -- how many are to go out
ALTER TABLE outbox ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;  -- how often that part was certainly not taken
ALTER TABLE outbox ADD COLUMN due   INTEGER;                     -- not to be tried before, UTC, milliseconds since 1970
ALTER TABLE outbox ADD COLUMN why   TEXT;                        -- why it is not sent, as the platform or we say

CREATE TABLE outbox_parts (
    event       TEXT NOT NULL,             -- message.sent
    part        INTEGER NOT NULL,          -- from 0
    state       TEXT NOT NULL CHECK (state IN ('sent', 'refused', 'unknown')),
    platform_id TEXT,
    PRIMARY KEY (event, part)
) STRICT, WITHOUT ROWID;

INSERT INTO outbox_parts (event, part, state, platform_id)
    SELECT event, 0, state, platform_id FROM outbox WHERE state = 'sent' AND platform_id IS NOT NULL;

DROP INDEX outbox_by_platform_id;
ALTER TABLE outbox DROP COLUMN platform_id;
CREATE INDEX outbox_by_platform_id ON outbox_parts (platform_id) WHERE platform_id IS NOT NULL;
