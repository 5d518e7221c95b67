"""What git reports about a commit, for the post-commit hook."""

from __future__ import annotations

import subprocess  # git is the only program started, without a shell
from typing import Any
from urllib.parse import urlsplit, urlunsplit

_SECONDS = 1.5


def commit_at(folder: str, sha: str | None = None) -> dict[str, Any] | None:
    """The commit as the server takes it; None where there is no commit. Unknown fields are left out."""
    shown = _git(folder, "show", "--no-patch", "--format=%H%x00%an <%ae>%x00%aI%x00%B", sha or "HEAD")
    if shown is None or shown.count("\0") != 3:
        return None
    full, author, authored, message = shown.split("\0")
    files = _git(folder, "diff-tree", "--root", "--no-commit-id", "--name-only", "-z", "-r", full) or ""
    found = {
        "sha": full.strip(),
        "branch": _git(folder, "rev-parse", "--abbrev-ref", "HEAD"),
        "repo": _without_password(_git(folder, "config", "--get", "remote.origin.url") or ""),
        "message": message.strip(),
        "author": author,
        "authoredAt": authored,
        "files": [name for name in files.split("\0") if name],
    }
    return {name: value for name, value in found.items() if value}


def _git(folder: str, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()


def _without_password(url: str) -> str:
    """A remote may carry a token in its address; that must not become a memory."""
    parts = urlsplit(url)
    if not parts.scheme or "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
