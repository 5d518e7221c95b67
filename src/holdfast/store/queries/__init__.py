"""Queries over several tables that more than one room needs. Written against the port; no engine is known here."""
