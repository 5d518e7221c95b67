"""What a snapshot holds: the store, memory folders and runtime state."""
