"""The clients: each plays a session with its own events, payloads and transcript lines."""
