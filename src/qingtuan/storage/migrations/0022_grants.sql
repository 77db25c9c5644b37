-- What servers of tools let us in by, after the owner logged in: secrets, so no event holds them and no replay makes
-- them again.
CREATE TABLE grants (
    server   TEXT PRIMARY KEY,     -- its name in mcp.json
    address  TEXT NOT NULL,        -- hash of its address: what was given for another one is of no use
    issuer   TEXT NOT NULL,        -- the authorization server that the owner logged in at
    client   TEXT NOT NULL,        -- JSON, as that server registered us
    metadata TEXT,                 -- JSON, what that server says of its own addresses
    tokens   TEXT,                 -- JSON; NULL once they are of no use any more
    expires  INTEGER               -- UTC, milliseconds since 1970: the end of the access token, if it was told
) STRICT;
