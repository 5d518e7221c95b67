-- Sentences worth knowing later, each with the observation it was said in.
CREATE TABLE statements (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    source_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    worth REAL NOT NULL,
    at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX statements_by_source ON statements (tenant, source_id);
CREATE INDEX statements_by_project ON statements (tenant, project, at);
CREATE INDEX statements_by_session ON statements (tenant, session_id);
