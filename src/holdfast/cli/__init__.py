"""The command line: commands from OPERATIONS and a few by hand."""
