-- What several servers of one memory share.

-- Which server does a job now, and when one finished it last. Space 0 stands for all. A lease that was not renewed
-- until `expires` is free: its server is dead, or cannot reach the database.
CREATE TABLE leases (
    space bigint NOT NULL,
    job text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    expires timestamptz NOT NULL,
    done timestamptz NOT NULL,
    PRIMARY KEY (space, job)
) WITH (fillfactor = 50);

-- Until when some server has live readers of the tenant. A write reads it with the space's lock, and notes its events
-- in live_events only until then.
ALTER TABLE spaces ADD COLUMN watched_until timestamptz;

-- What happened in watched spaces, for the live readers of other servers. A record is named by its table and id, and
-- read when the event is read; body holds what is no record. place is a number of the space's order of writes.
CREATE TABLE live_events (
    space bigint NOT NULL,
    place bigint NOT NULL,
    server text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    session text COLLATE "C",
    agent text COLLATE "C",
    audience text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (space, place)
);

-- When the allowance of a caller is full again: see shared/rate_limits.py. Not logged: after a crash of the database
-- all begin with a full one.
CREATE UNLOGGED TABLE rate_limits (
    space bigint NOT NULL,
    caller text COLLATE "C" NOT NULL,
    full_at timestamptz NOT NULL,
    PRIMARY KEY (space, caller)
) WITH (fillfactor = 50);

-- Which data folder calls the space by its generation: every server numbers them by itself.
ALTER TABLE spaces ADD COLUMN folder text COLLATE "C" NOT NULL DEFAULT '';
