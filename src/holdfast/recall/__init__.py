"""Recall: question to hits to context."""
