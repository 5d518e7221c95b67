-- The first shape of the store on PostgreSQL. A tenant's memory is a space, and every key begins with it; one row of
-- `tenants` says which space is live. seq is the place in the order of all writes to the space. Lists and objects are
-- JSON text, as in the portable file, so that a row has the same checksum in both.

-- previous: where undo goes.
CREATE TABLE tenants (
    tenant text COLLATE "C" PRIMARY KEY,
    live bigint NOT NULL,
    previous bigint
);

-- The row lock of a space is the order of its writes: it is taken before a number is given out and held to the commit.
-- Half of each page is left free: the row is changed with every write.
CREATE TABLE spaces (
    space bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text COLLATE "C" NOT NULL,
    generation text COLLATE "C" NOT NULL,
    last_seq bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX spaces_by_tenant ON spaces (tenant);

-- How many rows each table of a space has and the sum of their checksums, which never overflows.
CREATE TABLE tallies (
    space bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    rows bigint NOT NULL,
    sum numeric NOT NULL,
    PRIMARY KEY (space, source)
) WITH (fillfactor = 50);

-- The words of each record, written with it; see store/fulltext. doc is the record's seq, or a later number if it was
-- stored again under its seq.
CREATE TABLE word_rows (
    space bigint NOT NULL,
    doc bigint NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    length bigint NOT NULL,
    terms text COLLATE "C" NOT NULL,
    weights bytea NOT NULL,
    PRIMARY KEY (space, doc),
    UNIQUE (space, seq)
);

CREATE TABLE word_gone (
    space bigint NOT NULL,
    place bigint NOT NULL,
    doc bigint NOT NULL,
    PRIMARY KEY (space, place)
);

CREATE TABLE word_states (
    space bigint PRIMARY KEY,
    version bigint NOT NULL,
    folded bigint NOT NULL
);

CREATE TABLE word_segments (
    space bigint NOT NULL,
    segment bigint NOT NULL,
    docs bytea NOT NULL,
    seqs bytea NOT NULL,
    ats bytea NOT NULL,
    lengths bytea NOT NULL,
    PRIMARY KEY (space, segment)
);

CREATE TABLE word_postings (
    space bigint NOT NULL,
    segment bigint NOT NULL,
    term text COLLATE "C" NOT NULL,
    places bytea NOT NULL,
    weights bytea NOT NULL,
    PRIMARY KEY (space, segment, term)
);

-- A few hashes of each latest memory's words, to find near-duplicates.
CREATE TABLE sketches (
    space bigint NOT NULL,
    hash bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (space, hash, seq)
);
CREATE INDEX sketches_by_record ON sketches (space, seq);

CREATE TABLE outbox (
    space bigint NOT NULL,
    seq bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    ticket bigint NOT NULL,
    PRIMARY KEY (space, seq)
);

CREATE TABLE events (
    space bigint NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    tenant text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    kind text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, place)
);
CREATE INDEX events_by_place ON events (place);

CREATE TABLE recalls (
    space bigint NOT NULL,
    seq bigint NOT NULL,
    count bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (space, seq)
);

-- A row for each part of a record's text. luck: what the number of parts is worth, so that one statement finds the
-- nearest records. checksum covers hash and numbers.
CREATE TABLE vectors (
    space bigint NOT NULL,
    seq bigint NOT NULL,
    part bigint NOT NULL,
    model text COLLATE "C" NOT NULL,
    dims bigint NOT NULL,
    hash bytea NOT NULL,
    numbers halfvec NOT NULL,
    luck double precision NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq, part)
);
CREATE INDEX vectors_by_text ON vectors (hash);

-- How far each table of a space was looked through for rows without a vector of the model. Space 0 names the model.
CREATE TABLE followed (
    space bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    upto bigint NOT NULL,
    PRIMARY KEY (space, source)
);

CREATE TABLE sessions (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    project text COLLATE "C" NOT NULL,
    cwd text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    title text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ended_at bigint,
    observation_count bigint NOT NULL,
    first_prompt text COLLATE "C" NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE observations (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    project text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    at bigint NOT NULL,
    stored_at bigint NOT NULL,
    hook text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    subtitle text COLLATE "C" NOT NULL,
    narrative text COLLATE "C" NOT NULL,
    facts text COLLATE "C" NOT NULL,
    concepts text COLLATE "C" NOT NULL,
    files text COLLATE "C" NOT NULL,
    importance bigint NOT NULL,
    confidence double precision NOT NULL,
    raw text COLLATE "C" NOT NULL,
    content_hash text COLLATE "C" NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE memories (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    root text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    parent_id text COLLATE "C",
    supersedes text COLLATE "C" NOT NULL,
    latest bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    concepts text COLLATE "C" NOT NULL,
    files text COLLATE "C" NOT NULL,
    project text COLLATE "C",
    agent text COLLATE "C",
    session_ids text COLLATE "C" NOT NULL,
    source_ids text COLLATE "C" NOT NULL,
    strength double precision NOT NULL,
    importance bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    dated bigint NOT NULL,
    valid_from bigint NOT NULL,
    valid_to bigint,
    forget_after bigint,
    content_hash text COLLATE "C" NOT NULL,
    metadata text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    visibility text COLLATE "C" NOT NULL,
    umo text COLLATE "C",
    owners text COLLATE "C" NOT NULL,
    share_into_groups bigint NOT NULL,
    audience text COLLATE "C" NOT NULL,
    uri text COLLATE "C" NOT NULL,
    domain text COLLATE "C" NOT NULL,
    memory_type text COLLATE "C" NOT NULL,
    disclosure text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    entities text COLLATE "C" NOT NULL,
    topics text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    deprecated_at bigint,
    folded_into text COLLATE "C",
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE addresses (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    root text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    moved_from text COLLATE "C" NOT NULL,
    moved_to text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE lessons (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    content text COLLATE "C" NOT NULL,
    context text COLLATE "C" NOT NULL,
    project text COLLATE "C",
    agent text COLLATE "C",
    confidence double precision NOT NULL,
    reinforcements bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    source_ids text COLLATE "C" NOT NULL,
    tags text COLLATE "C" NOT NULL,
    decay_rate double precision NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_reinforced_at bigint,
    last_decayed_at bigint,
    deleted bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE slots (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    label text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    project text COLLATE "C",
    agent text COLLATE "C",
    content text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    size_limit bigint NOT NULL,
    pinned bigint NOT NULL,
    read_only bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE actions (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    title text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    priority bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    tags text COLLATE "C" NOT NULL,
    session_id text COLLATE "C",
    project text COLLATE "C",
    agent text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE relations (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    target_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    created_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE summaries (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    project text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    title text COLLATE "C" NOT NULL,
    narrative text COLLATE "C" NOT NULL,
    decisions text COLLATE "C" NOT NULL,
    files text COLLATE "C" NOT NULL,
    concepts text COLLATE "C" NOT NULL,
    observation_count bigint NOT NULL,
    maker text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE insights (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    concepts text COLLATE "C" NOT NULL,
    files text COLLATE "C" NOT NULL,
    source_ids text COLLATE "C" NOT NULL,
    project text COLLATE "C",
    agent text COLLATE "C",
    strength double precision NOT NULL,
    maker text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE statements (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    project text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    kind text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    worth double precision NOT NULL,
    at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE commits (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    sha text COLLATE "C" NOT NULL,
    branch text COLLATE "C" NOT NULL,
    repo text COLLATE "C" NOT NULL,
    message text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    authored_at text COLLATE "C" NOT NULL,
    files text COLLATE "C" NOT NULL,
    session_ids text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    linked_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE tokens (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    secret_hash text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    scopes text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE audit (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    target_ids text COLLATE "C" NOT NULL,
    details text COLLATE "C" NOT NULL,
    audience text COLLATE "C" NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE answers (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    request_hash text COLLATE "C" NOT NULL,
    status bigint NOT NULL,
    body text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE TABLE notes (
    space bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    updated_at bigint NOT NULL,
    checksum bigint NOT NULL,
    PRIMARY KEY (space, seq),
    UNIQUE (space, id)
);

CREATE INDEX sessions_by_project ON sessions (space, project, started_at);

CREATE INDEX sessions_by_time ON sessions (space, started_at);

CREATE INDEX observations_by_session ON observations (space, session_id, at);

CREATE INDEX observations_by_project ON observations (space, project, at);

CREATE INDEX observations_by_time ON observations (space, at);

CREATE INDEX observations_by_hash ON observations (space, content_hash, stored_at);

CREATE INDEX memories_by_project ON memories (space, latest, project, seq);

CREATE INDEX memories_by_root ON memories (space, root, version) WHERE parent_id IS NOT NULL;

CREATE INDEX memories_by_end ON memories (space, forget_after) WHERE forget_after IS NOT NULL;

CREATE INDEX memories_of_chats ON memories (space, updated_at) WHERE umo IS NOT NULL;

CREATE INDEX addresses_by_root ON addresses (space, root);

CREATE INDEX lessons_by_confidence ON lessons (space, deleted, confidence);

CREATE INDEX actions_by_status ON actions (space, status, priority);

CREATE INDEX relations_by_source ON relations (space, source_id);

CREATE INDEX relations_by_target ON relations (space, target_id);

CREATE INDEX summaries_by_project ON summaries (space, project, created_at);

CREATE INDEX insights_by_kind ON insights (space, kind, updated_at);

CREATE INDEX commits_by_time ON commits (space, linked_at);

CREATE INDEX tokens_by_id ON tokens (id);

CREATE INDEX answers_by_time ON answers (space, created_at);

CREATE INDEX notes_by_kind ON notes (space, kind, updated_at);

CREATE INDEX statements_by_source ON statements (space, source_id);

CREATE INDEX statements_by_project ON statements (space, project, at);

CREATE INDEX statements_by_session ON statements (space, session_id);
