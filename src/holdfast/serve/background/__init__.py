"""Work in the background of a server."""
