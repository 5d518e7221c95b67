"""A copy of the memory that follows another host's journal in a vault, and can take its place."""
