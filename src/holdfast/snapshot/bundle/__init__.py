"""The bundle format: manifest, tar, zstd, age."""
