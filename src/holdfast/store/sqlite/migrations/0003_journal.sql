-- What is still to be written to the journal in the vault: which rows the commits changed, one row for each commit and
-- tenant. No text: a row that is gone leaves nothing here. rows is JSON, the numbers of the rows by table.
CREATE TABLE changes (
    place INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    rows TEXT NOT NULL
) STRICT;

-- How far the journal of each tenant is in the vault: its line, the last piece with its hash, and the place in the order
-- of writes up to which that reaches. Changes are recorded while there is a row for the tenant ''.
CREATE TABLE journal (
    tenant TEXT PRIMARY KEY,
    line TEXT NOT NULL,
    number INTEGER NOT NULL,
    hash TEXT NOT NULL,
    place INTEGER NOT NULL,
    seeded INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
