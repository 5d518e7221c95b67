"""Vectors in SQLite."""
