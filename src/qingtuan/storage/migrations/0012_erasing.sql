-- The one change that is allowed: what was erased leaves tombstones, and nothing but the payload changes. Erased is
-- what came before a `person.forgotten` and is that person's, and what such an event or a `belief.purged` names.
-- Nothing becomes a tombstone twice, and these events themselves never do: on their word the others did.
DROP TRIGGER events_are_never_changed;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
WHEN NOT (
    NEW.payload IS '{"forgotten":true}' AND OLD.payload IS NOT '{"forgotten":true}'
    AND OLD.kind NOT IN ('person.forgotten', 'belief.purged', 'wiki.rewritten', 'erasure.finished')
    AND (
        EXISTS (
            SELECT 1 FROM events AS f
            WHERE f.kind = 'person.forgotten' AND f.person = OLD.person AND f.seq > OLD.seq
        )
        OR EXISTS (
            SELECT 1 FROM events AS f, json_each(f.payload, '$.events') AS named
            WHERE f.kind IN ('person.forgotten', 'belief.purged') AND f.seq > OLD.seq
            AND json_type(f.payload, '$.events') IS 'array' AND named.value IS OLD.id
        )
    )
    AND NEW.seq IS OLD.seq AND NEW.id IS OLD.id AND NEW.time IS OLD.time AND NEW.kind IS OLD.kind
    AND NEW.session IS OLD.session AND NEW.space IS OLD.space AND NEW.turn IS OLD.turn
    AND NEW.person IS OLD.person AND NEW.origin IS OLD.origin AND NEW.cause IS OLD.cause
)
BEGIN
    SELECT RAISE(ABORT, 'events are append-only');
END;
