"""The history of files that other programs keep their memory in: places, versions, and their bytes as chunks."""
