"""Memory folders that are git repositories."""
