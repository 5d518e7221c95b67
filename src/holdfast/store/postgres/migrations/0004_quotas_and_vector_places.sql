-- concurrently
-- How long the text of a space's counted records is, as of the tallies with these sums: see usage.py. A row that is
-- missing or of other sums is counted anew, so servers that do not know the table need not keep it.
CREATE TABLE IF NOT EXISTS usage (
    space bigint PRIMARY KEY,
    rows bigint NOT NULL,
    sum numeric NOT NULL,
    bytes bigint NOT NULL
) WITH (fillfactor = 50);

-- In which order the vectors of a space were stored: a server that holds their codes in memory reads those that it has
-- not seen. The space's row is locked before a number is drawn and until the commit, so of one space none is missed.
-- Servers that do not know the column fill it too, by its default; what was there before has none.
CREATE SEQUENCE IF NOT EXISTS vector_places;

GRANT USAGE ON SEQUENCE vector_places TO PUBLIC;

ALTER TABLE vectors ADD COLUMN IF NOT EXISTS place bigint;

ALTER TABLE vectors ALTER COLUMN place SET DEFAULT nextval('vector_places');

CREATE INDEX CONCURRENTLY IF NOT EXISTS vectors_by_place ON vectors (space, place) WHERE place IS NOT NULL;

-- Numbers that only grow, whichever server takes them, as those of snapshots. Space 0 stands for all.
CREATE TABLE IF NOT EXISTS numbers (
    space bigint NOT NULL,
    series text COLLATE "C" NOT NULL,
    taken bigint NOT NULL,
    PRIMARY KEY (space, series)
) WITH (fillfactor = 50);
