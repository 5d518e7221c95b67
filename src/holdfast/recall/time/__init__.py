"""Days and moments that a text names."""
