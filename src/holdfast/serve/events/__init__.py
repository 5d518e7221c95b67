"""Committed events to WebSocket readers and to the broker."""
