"""Other ways to look at a memory: timeline, map, growth, export."""
