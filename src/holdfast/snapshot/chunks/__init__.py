"""Snapshots as chunks: cut, stored once, packed and sealed; docs/vaults.md has the format."""
