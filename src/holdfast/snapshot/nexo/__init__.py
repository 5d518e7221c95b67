"""Bundles of nexo-memory-snapshot."""
