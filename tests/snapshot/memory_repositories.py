"""Real folders and real git repositories for tests, as a user or an attacker would leave them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.snapshot.sources.memory_folder import CapturedFolder, MemoryFolder

LIMIT = 4 << 20

# Put together here, so that no scanner takes this file for a leak.
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]

_USER = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}


def git(folder: Path, *words: str) -> str:
    """What git says to a user who stands in the folder."""
    options = ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *options, *words], cwd=folder, env=_USER, capture_output=True, check=True)
    return done.stdout.decode().strip()


def files(folder: Path, **content: str) -> None:
    """Write files; `__` in a keyword is a slash, `_md` at its end a suffix."""
    write(folder, {name.replace("__", "/").replace("_md", ".md"): text for name, text in content.items()})


def write(folder: Path, content: Mapping[str, str | bytes]) -> None:
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def commit(folder: Path, message: str = "one", **content: str) -> str:
    files(folder, **content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path, **content: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    commit(folder, "one", **content)
    return folder


def capture(folder: Path, into: Path, name: str = "notes", limit: int = LIMIT) -> CapturedFolder:
    return MemoryFolder(name, folder.resolve(), limit).capture(into)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder outside its repository."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def staged_bytes(captured: CapturedFolder) -> dict[str, bytes]:
    return {one.path: one.source.read_bytes() for one in captured.staged}


def reasons(captured: CapturedFolder) -> dict[str, str]:
    return {one.path: one.reason for one in captured.left}
