"""Summaries of sessions."""
