-- What agents use to share work: leases, signals, checkpoints, sentinels, sketches, routines, facets. body is JSON.
CREATE TABLE coordination (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    status TEXT NOT NULL,
    agent TEXT,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX coordination_by_subject ON coordination (tenant, subject, kind);
CREATE INDEX coordination_by_status ON coordination (tenant, kind, status);
