"""Damage that was found in the database."""
