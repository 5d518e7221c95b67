-- Clients that registered by OAuth, the consents that wait, and what was granted. Of the place, as tokens are.
CREATE TABLE IF NOT EXISTS oauth (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE INDEX IF NOT EXISTS oauth_by_end ON oauth (space, kind, expires_at);
