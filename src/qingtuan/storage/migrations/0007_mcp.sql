-- Which pin counts for a server of tools: what it was when it was first seen, or last approved.

CREATE TABLE pinned_servers (
    server TEXT PRIMARY KEY,
    event  TEXT NOT NULL REFERENCES events (id)  -- server.pinned
) STRICT;
