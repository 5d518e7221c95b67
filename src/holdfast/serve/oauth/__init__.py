"""OAuth 2.1 over HTTP, so that a remote client can be given access to /mcp: docs, registration, consent, tokens."""
