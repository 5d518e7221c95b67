"""Plain text: sentences, excerpts, token counts, and what a store can keep."""
