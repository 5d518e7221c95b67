"""Files of the memory tool: each is an addressed memory with versions."""
