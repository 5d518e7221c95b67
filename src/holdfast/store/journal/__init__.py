"""The port of the journal: what a store records of its own writes."""
