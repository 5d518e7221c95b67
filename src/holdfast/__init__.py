"""Memory for AI agents that is never lost."""
