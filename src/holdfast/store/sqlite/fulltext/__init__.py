"""The word index in SQLite."""
