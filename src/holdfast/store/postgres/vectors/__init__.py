"""Vectors in the database, and the codes of large spaces that a server keeps in memory to find the nearest."""
