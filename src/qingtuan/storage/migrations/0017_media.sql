-- Pictures, voice and files, each with what it came with: a message, what was fetched for one, a tool's result.
-- A projection of the events of these kinds (media/files.py); the bytes stand in media/ under the hash.
CREATE TABLE media_files (
    event TEXT NOT NULL,
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sent INTEGER NOT NULL,  -- 1: a person sent it; 0: a tool brought it
    PRIMARY KEY (event, hash)
) WITHOUT ROWID;

CREATE INDEX media_files_by_hash ON media_files (hash);

INSERT OR IGNORE INTO media_files (event, hash, kind, name, media_type, size, sent)
SELECT e.id, a.value ->> 'hash', a.value ->> 'kind', a.value ->> 'name', a.value ->> 'media_type', a.value ->> 'size',
    e.kind <> 'tool.finished'
FROM events AS e, json_each(e.payload, '$.attachments') AS a
WHERE e.kind IN ('message.received', 'tool.finished') AND json_type(e.payload, '$.attachments') = 'array';
