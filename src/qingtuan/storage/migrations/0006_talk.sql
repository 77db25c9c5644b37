-- What people said and were told, found by where it was said, by whom, and by both: what recollection walks along.
-- Their condition stands word for word in the queries, or SQLite does not use them.

CREATE INDEX talk_in_space ON events (space, seq)
    WHERE kind = 'message.received' OR kind = 'message.sent';
CREATE INDEX talk_by_person ON events (person, seq)
    WHERE kind = 'message.received' OR kind = 'message.sent';
CREATE INDEX talk_by_person_in_space ON events (space, person, seq)
    WHERE kind = 'message.received' OR kind = 'message.sent';
