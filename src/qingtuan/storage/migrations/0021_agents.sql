-- Keys of other agents: the account is a2a:<name>.
ALTER TABLE keys ADD COLUMN platform TEXT NOT NULL DEFAULT 'http';

-- What other agents asked for: each a task of theirs (servers/a2a/book.py). What became of it is read from its turns.
CREATE TABLE agent_tasks (
    id       TEXT PRIMARY KEY,
    space    TEXT NOT NULL,        -- the private chat of the agent's account
    context  TEXT NOT NULL,        -- the name of its session there
    session  TEXT NOT NULL,
    event    TEXT NOT NULL REFERENCES events (id),  -- the first task.asked
    hops     INTEGER NOT NULL,
    canceled INTEGER NOT NULL DEFAULT 0,
    asked    INTEGER NOT NULL      -- UTC, milliseconds since 1970, of the newest message
) STRICT;
CREATE INDEX agent_tasks_by_space ON agent_tasks (space, asked);
CREATE TABLE agent_task_messages (
    message TEXT PRIMARY KEY REFERENCES events (id),
    task    TEXT NOT NULL REFERENCES agent_tasks (id) ON DELETE CASCADE,
    event   TEXT NOT NULL          -- the task.asked that brought it
) STRICT;
CREATE INDEX agent_task_messages_by_task ON agent_task_messages (task);

-- What the card of each agent was when it was first seen, or last approved.
CREATE TABLE pinned_agents (
    agent TEXT PRIMARY KEY,
    event TEXT NOT NULL REFERENCES events (id)
) STRICT;

-- How the talk of a person with another agent can be gone on with, in the session where they have it.
CREATE TABLE agent_talks (
    session TEXT NOT NULL,
    person  TEXT NOT NULL,
    agent   TEXT NOT NULL,
    event   TEXT NOT NULL REFERENCES events (id),
    PRIMARY KEY (session, person, agent)
) STRICT;
