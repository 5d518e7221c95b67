-- Clients that registered by OAuth, the consents that wait, and what was granted. Of the place, as tokens are.
CREATE TABLE oauth (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX oauth_by_end ON oauth (tenant, kind, expires_at);
