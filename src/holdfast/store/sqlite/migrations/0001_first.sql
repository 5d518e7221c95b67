-- The first shape of the store. Every key begins with the tenant; seq is the place in the order of all writes.
-- checksum covers every other column of its row, so that damage below SQLite's notice is found.

CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    cwd TEXT NOT NULL,
    agent TEXT,
    title TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    observation_count INTEGER NOT NULL,
    first_prompt TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE observations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT,
    at INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    hook TEXT NOT NULL,
    type TEXT NOT NULL,
    title TEXT NOT NULL,
    subtitle TEXT NOT NULL,
    narrative TEXT NOT NULL,
    facts TEXT NOT NULL,
    concepts TEXT NOT NULL,
    files TEXT NOT NULL,
    importance INTEGER NOT NULL,
    confidence REAL NOT NULL,
    raw TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE memories (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    version INTEGER NOT NULL,
    parent_id TEXT,
    supersedes TEXT NOT NULL,
    latest INTEGER NOT NULL,
    type TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    concepts TEXT NOT NULL,
    files TEXT NOT NULL,
    project TEXT,
    agent TEXT,
    session_ids TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    strength REAL NOT NULL,
    importance INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    dated INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    forget_after INTEGER,
    content_hash TEXT NOT NULL,
    metadata TEXT NOT NULL,
    scope TEXT NOT NULL,
    visibility TEXT NOT NULL,
    umo TEXT,
    owners TEXT NOT NULL,
    share_into_groups INTEGER NOT NULL,
    audience TEXT NOT NULL,
    uri TEXT NOT NULL,
    domain TEXT NOT NULL,
    memory_type TEXT NOT NULL,
    disclosure TEXT NOT NULL,
    subject TEXT NOT NULL,
    entities TEXT NOT NULL,
    topics TEXT NOT NULL,
    state TEXT NOT NULL,
    deprecated_at INTEGER,
    folded_into TEXT,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE addresses (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT,
    moved_from TEXT NOT NULL,
    moved_to TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE lessons (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    content TEXT NOT NULL,
    context TEXT NOT NULL,
    project TEXT,
    agent TEXT,
    confidence REAL NOT NULL,
    reinforcements INTEGER NOT NULL,
    source TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    tags TEXT NOT NULL,
    decay_rate REAL NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_reinforced_at INTEGER,
    last_decayed_at INTEGER,
    deleted INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE slots (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    project TEXT,
    agent TEXT,
    content TEXT NOT NULL,
    description TEXT NOT NULL,
    size_limit INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    read_only INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE actions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    priority INTEGER NOT NULL,
    status TEXT NOT NULL,
    tags TEXT NOT NULL,
    session_id TEXT,
    project TEXT,
    agent TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE relations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type TEXT NOT NULL,
    agent TEXT,
    created_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE summaries (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    agent TEXT,
    title TEXT NOT NULL,
    narrative TEXT NOT NULL,
    decisions TEXT NOT NULL,
    files TEXT NOT NULL,
    concepts TEXT NOT NULL,
    observation_count INTEGER NOT NULL,
    maker TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE insights (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    concepts TEXT NOT NULL,
    files TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    project TEXT,
    agent TEXT,
    strength REAL NOT NULL,
    maker TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE commits (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    sha TEXT NOT NULL,
    branch TEXT NOT NULL,
    repo TEXT NOT NULL,
    message TEXT NOT NULL,
    author TEXT NOT NULL,
    authored_at TEXT NOT NULL,
    files TEXT NOT NULL,
    session_ids TEXT NOT NULL,
    agent TEXT,
    linked_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE tokens (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    agent TEXT,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE audit (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    operation TEXT NOT NULL,
    caller TEXT NOT NULL,
    agent TEXT,
    target_ids TEXT NOT NULL,
    details TEXT NOT NULL,
    audience TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE answers (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    request_hash TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE notes (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX sessions_by_project ON sessions (tenant, project, started_at);
CREATE INDEX sessions_by_time ON sessions (tenant, started_at);
CREATE INDEX observations_by_session ON observations (tenant, session_id, at);
CREATE INDEX observations_by_project ON observations (tenant, project, at);
CREATE INDEX observations_by_time ON observations (tenant, at);
CREATE INDEX observations_by_hash ON observations (tenant, content_hash, stored_at);
CREATE INDEX memories_by_project ON memories (tenant, latest, project, seq);
-- A first version is found by its id, which is the root's; most memories have no second one.
CREATE INDEX memories_by_root ON memories (tenant, root, version) WHERE parent_id IS NOT NULL;
CREATE INDEX memories_by_end ON memories (tenant, forget_after) WHERE forget_after IS NOT NULL;
CREATE INDEX memories_of_chats ON memories (tenant, updated_at) WHERE umo IS NOT NULL;
CREATE INDEX addresses_by_root ON addresses (tenant, root);
CREATE INDEX lessons_by_confidence ON lessons (tenant, deleted, confidence);
CREATE INDEX actions_by_status ON actions (tenant, status, priority);
CREATE INDEX relations_by_source ON relations (tenant, source_id);
CREATE INDEX relations_by_target ON relations (tenant, target_id);
CREATE INDEX summaries_by_project ON summaries (tenant, project, created_at);
CREATE INDEX insights_by_kind ON insights (tenant, kind, updated_at);
CREATE INDEX commits_by_time ON commits (tenant, linked_at);
CREATE INDEX tokens_by_id ON tokens (id);
CREATE INDEX answers_by_time ON answers (tenant, created_at);
CREATE INDEX notes_by_kind ON notes (tenant, kind, updated_at);

-- The words of each record, written with it. doc is the record's seq, or a later number if it was stored again
-- under its seq. Kept by tenant: how rare a word is must not tell one tenant what another remembers.
CREATE TABLE word_rows (
    tenant TEXT NOT NULL,
    doc INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms TEXT NOT NULL,
    weights BLOB NOT NULL,
    PRIMARY KEY (tenant, doc)
) WITHOUT ROWID, STRICT;

-- Records whose words have another number than their own.
CREATE TABLE word_again (
    seq INTEGER PRIMARY KEY,
    doc INTEGER NOT NULL
) STRICT;

-- Words that were dropped while a segment or a reader's memory may still hold them.
CREATE TABLE word_gone (
    tenant TEXT NOT NULL,
    place INTEGER NOT NULL,
    doc INTEGER NOT NULL,
    PRIMARY KEY (tenant, place)
) WITHOUT ROWID, STRICT;

-- Up to which doc a tenant's words are folded into segments; version changes whenever its segments do.
CREATE TABLE word_states (
    tenant TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    folded INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- A segment: up to 65,536 docs in their order, as arrays (docs, seqs and times of 8 bytes, lengths of 4).
CREATE TABLE word_segments (
    tenant TEXT NOT NULL,
    segment INTEGER NOT NULL,
    docs BLOB NOT NULL,
    seqs BLOB NOT NULL,
    ats BLOB NOT NULL,
    lengths BLOB NOT NULL,
    PRIMARY KEY (tenant, segment)
) WITHOUT ROWID, STRICT;

-- Where a term stands in a segment: places of 2 bytes, weights of 2. Of a segment that is not listed: to be swept.
CREATE TABLE word_postings (
    tenant TEXT NOT NULL,
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    places BLOB NOT NULL,
    weights BLOB NOT NULL,
    PRIMARY KEY (tenant, segment, term)
) WITHOUT ROWID, STRICT;

-- A few hashes of each latest memory's words, to find near-duplicates without reading every memory. In the order
-- of writes, so that a write touches one page; the look-up by hash is kept in memory.
CREATE TABLE sketches (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    hashes BLOB NOT NULL
) STRICT;

-- Records that still wait for their vector, written with the row itself. A new text of the same record gives it a new
-- ticket, so that a vector made of the old text is not taken for it.
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    source TEXT NOT NULL,
    ticket INTEGER NOT NULL
) STRICT;

-- Events that the broker has not confirmed yet, in the order in which they happened, each written with what it tells of;
-- empty where there is no broker. No memory: a row goes once it was sent, so it has neither checksum nor tally. Places
-- follow each other without a gap, as rows go from the front only.
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_tenant ON events (tenant);

-- How often searches returned each record, which orders equal hits, and when last. Derived: it has no checksum, and what was counted
-- in the seconds before a crash is lost.
CREATE TABLE recalls (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    count INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

-- How many rows each table has and the sum of their checksums: finds rows removed or added behind the store's back.
-- The row 'seq' holds the last sequence number instead: one page for both.
CREATE TABLE tallies (
    source TEXT PRIMARY KEY,
    rows INTEGER NOT NULL,
    sum INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
INSERT INTO tallies VALUES ('seq', 0, 0);

-- Which vectors may be compared with each other: those of one tenant, by one model, of one length.
CREATE TABLE vector_spaces (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    dims INTEGER NOT NULL,
    UNIQUE (tenant, model, dims)
) STRICT;

-- The vector of each searchable record: float16 numbers of length 1, as many times as its text has parts that the model
-- reads at once. hash is of the tenant, the model and the text it was made from, so that equal text is embedded once. With
-- names instead of the space's number only four vectors of 384 numbers would fit on a page, not five.
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX vectors_by_text ON vectors (hash);

-- The same vectors as codes, a range of sequence numbers in each row: what a search reads once and keeps in memory. seqs:
-- int64, ascending, once for each part of a record; negative once the record is gone. codes: as many 64-bit words for
-- each. live: how many records are not gone.
CREATE TABLE vector_codes (
    space INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    live INTEGER NOT NULL,
    seqs BLOB NOT NULL,
    codes BLOB NOT NULL,
    PRIMARY KEY (space, chunk)
) STRICT;

-- How far each table was looked through for rows without a vector of the model.
CREATE TABLE followed (
    source TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    upto INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
