"""Paths of files inside a memory folder: which may stand in a bundle, and how any other is shown in a report."""

from __future__ import annotations

import unicodedata

# In a bundle a path has 2,048 bytes and 64 parts at most; folders/<name>/ stands before this one.
LONGEST = 1_900
PARTS = 60
_PART = 255
_REPLACED = "utf-8", "backslashreplace"


def path_fault(path: str) -> str | None:
    """Why the relative path cannot stand in a bundle; None if it can."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if any(unicodedata.category(char) == "Cc" for char in path):
        return "control character in its name"
    if "\\" in path:
        return "backslash in its name"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "unsafe path"
    if any(is_git(part) for part in parts):
        return "inside a repository"
    if size > LONGEST or len(parts) > PARTS or any(len(part.encode()) > _PART for part in parts):
        return "its name is too long"
    return None


def is_git(part: str) -> bool:
    return part.casefold() == ".git"


def twin_key(path: str) -> str:
    """Equal for paths that some file system takes for the same: by case, or by how Unicode writes a letter."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


class PathCollisions:
    """The paths taken so far: a file beside its twin, or below a file's twin, cannot be restored everywhere."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def takes(self, path: str) -> bool:
        """Take the path, unless it is the twin of one that was taken."""
        folders = list(_above(path))
        key = twin_key(path)
        if key in self._files or key in self._folders:
            return False
        if any(twin_key(one) in self._files or self._folders.get(twin_key(one), one) != one for one in folders):
            return False
        self._files[key] = path
        self._folders.update((twin_key(one), one) for one in folders)
        return True


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def shown(path: str) -> str:
    """The path as readable text, whatever bytes it has: for reports only."""
    text = path.encode("utf-8", "surrogateescape").decode(*_REPLACED)
    return "".join(f"\\x{ord(char):02x}" if unicodedata.category(char) == "Cc" else char for char in text)
