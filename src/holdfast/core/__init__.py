"""The ground: errors, records, protocols, time, disk and keys. Imports nothing else of Holdfast but settings."""
