"""Texts of config files changed in one place: JSON with comments, TOML and YAML, every other byte as it was."""
