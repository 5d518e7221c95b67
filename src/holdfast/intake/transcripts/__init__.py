"""Agents' transcripts, read as the events their hooks would have sent."""
