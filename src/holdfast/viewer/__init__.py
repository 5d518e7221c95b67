"""The page at /viewer: static files, served as they are by `serve/viewer.py`. There is no build step."""
