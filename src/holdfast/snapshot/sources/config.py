"""Where snapshots take memory from besides the store: anything that can be captured into a staging folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from holdfast.core.errors import InvalidSettings
from holdfast.settings import Settings
from holdfast.snapshot.sources.memory_folder import CapturedFolder, MemoryFolder

__all__ = ["CapturedFolder", "MemoryFolder", "Source", "sources_from"]

# What Holdfast keeps in its data folder itself: the store, keys and snapshots are no memory folder.
_OWN = re.compile(r"(?i)gen-.*|snapshots|keys|vault|guard|lock|current|server\.json|\..*")
_NAMED = re.compile(r"([A-Za-z0-9_-]{1,64})=(.+)")
_LONGEST = 64


class Source(Protocol):
    """Something whose memory a snapshot holds."""

    @property
    def name(self) -> str:
        """[a-z0-9_-]{1,64}, unlike every other source's; the same for the same source in every snapshot."""
        ...

    def capture(self, into: Path) -> CapturedFolder:
        """Stage what there is now below `into`, under folders/<name>…, as files of that folder alone.

        What cannot be captured is reported in `left`, with its path in the bundle.

        Raises:
            StorageFull, StorageFailed: it cannot be staged.
        """
        ...


def sources_from(settings: Settings) -> tuple[MemoryFolder, ...]:
    """The memory folders of the settings, each under a name of its own.

    Raises:
        InvalidSettings: a folder holds Holdfast's own data or a whole home, or lies inside another one.
    """
    home = settings.folder.resolve()
    found: list[MemoryFolder] = []
    for entry in settings.memory_folders:
        named = _NAMED.fullmatch(entry)
        path = _resolved(home, named[2] if named else entry)
        _check(path, home, found)
        name = _free(_safe(named[1] if named else path.name), {one.name for one in found})
        found.append(MemoryFolder(name, path, settings.snapshot_file_limit))
    return tuple(found)


def _resolved(home: Path, entry: str) -> Path:
    try:
        return (home / Path(entry).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidSettings("HOLDFAST_MEMORY_FOLDERS: a path cannot be used") from error


def _check(path: Path, home: Path, found: list[MemoryFolder]) -> None:
    if path == Path(path.anchor) or path == Path.home().resolve():
        raise InvalidSettings(f"HOLDFAST_MEMORY_FOLDERS: {path} is too broad for a memory folder")
    if home.is_relative_to(path):
        raise InvalidSettings(f"HOLDFAST_MEMORY_FOLDERS: {path} contains the data folder")
    if path.is_relative_to(home) and _OWN.fullmatch(path.relative_to(home).parts[0]):
        raise InvalidSettings(f"HOLDFAST_MEMORY_FOLDERS: {path} is used by Holdfast itself")
    for other in found:
        if path.is_relative_to(other.path) or other.path.is_relative_to(path):
            raise InvalidSettings(f"HOLDFAST_MEMORY_FOLDERS: {path} and {other.path} overlap")


def _safe(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:_LONGEST] or "folder"


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name[: _LONGEST - len(str(number)) - 1]}-{number}"
    return free
