"""holdfast hook: events of agents, from their payloads to the server."""
