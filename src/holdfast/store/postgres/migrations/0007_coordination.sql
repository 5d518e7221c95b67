-- What agents use to share work: leases, signals, checkpoints, sentinels, sketches, routines, facets. body is JSON.
CREATE TABLE coordination (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    body text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE INDEX coordination_by_subject ON coordination (space, subject, kind);

CREATE INDEX coordination_by_status ON coordination (space, kind, status);
