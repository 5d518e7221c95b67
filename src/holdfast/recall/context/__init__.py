"""What an agent is told at the start of a session and at a prompt."""
