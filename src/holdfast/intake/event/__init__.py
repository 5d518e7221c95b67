"""One event of an agent: read, described and drafted. Pure."""
