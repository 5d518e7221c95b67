-- Spaces in which damage was found: they take no writes, whichever server is asked. No text of a record stands here. It is
-- read with `tenants`, before a connection sees a space, so its column has another name and no row security.
CREATE TABLE damaged_spaces (
    number bigint PRIMARY KEY,
    extent text COLLATE "C" NOT NULL,
    why text COLLATE "C" NOT NULL
);
