-- WeChat (channels/wxclaw). No projections of events: a cursor and tokens of somebody else's server, which are
-- credentials. They hold nothing that was said; without them messages are given again (and known by their ids), and
-- nothing can be sent to somebody before they write.
CREATE TABLE wxclaw_accounts (
    account TEXT PRIMARY KEY,
    cursor TEXT NOT NULL DEFAULT '',
    ended TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE wxclaw_chats (
    account TEXT NOT NULL,
    user TEXT NOT NULL,
    token TEXT NOT NULL,
    heard INTEGER,
    sent INTEGER NOT NULL DEFAULT 0,
    closed INTEGER NOT NULL DEFAULT 0,
    throttled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, user)
) STRICT, WITHOUT ROWID;

CREATE INDEX wxclaw_chats_of_user ON wxclaw_chats (user, heard);
