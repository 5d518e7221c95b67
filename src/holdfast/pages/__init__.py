"""Markdown files of the user that Holdfast writes, reads or shortens, in folders that the settings name."""
