"""Commands that are not operations."""
