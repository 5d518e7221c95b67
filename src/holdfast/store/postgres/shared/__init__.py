"""What the servers on one database share through it."""
