"""The local repository of snapshots."""
