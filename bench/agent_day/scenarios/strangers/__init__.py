"""The set of strangers: each scenario in another author's voice, and nothing was built or tuned on it."""
