"""Access by OAuth: clients that register, consents, codes, and the tokens that come of them. Knows nothing of HTTP."""
