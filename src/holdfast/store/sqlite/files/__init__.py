"""Whole database files: captured, compared, restored, salvaged."""
