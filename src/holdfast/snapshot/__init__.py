"""Sealed points in time of a whole memory: made, verified, restored, compared and searched."""
