"""Two memories of one agent become one: the rules."""
