"""Snapshots in vaults: formats and transfer."""
