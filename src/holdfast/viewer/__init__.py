"""The page at /viewer: static files, served as they are by `serve/http/viewer_files.py`. There is no build step."""
