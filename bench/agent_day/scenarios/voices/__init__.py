"""Projects in voices that differ much from those of the dev half: to fit on, beside it."""
