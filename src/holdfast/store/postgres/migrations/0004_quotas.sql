-- How long the text of a space's counted records is, as of the tallies with these sums: see usage.py. A row that is
-- missing or of other sums is counted anew, so servers that do not know the table need not keep it.
CREATE TABLE usage (
    space bigint PRIMARY KEY,
    rows bigint NOT NULL,
    sum numeric NOT NULL,
    bytes bigint NOT NULL
) WITH (fillfactor = 50);
