"""One declaration per operation."""
