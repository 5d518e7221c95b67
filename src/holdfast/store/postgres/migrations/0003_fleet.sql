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
