"""What hooks could not deliver, kept durably beside the data until a server takes it in.

One file for each request, named so that the order of the names is the order of the requests. The files hold memory
text before redaction, so they are for the owner alone. When the spool is full, what waits stays and what is new is
refused and counted: the beginning of a story without its end is worth more than the other way round.

Standard library only: a hook imports this when no server answers.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

SPOOL = "spool"
REFUSED = "refused"
DROPPED = "dropped"  # a file of one byte for each request that found no room
MOST_BYTES = 64_000_000
MOST_FILES = 20_000
ENTRY_BYTES = 16_000_000
MOST_REFUSED = 1_000
_ENDING = ".json"
VERSION = 1


class Entry(NamedTuple):
    """A request that waits. `id` is the same whenever it is taken in."""

    id: str
    path: str
    body: dict[str, Any]
    at: int


class Status(NamedTuple):
    """What waits, what a server could not take, and what found no room; `oldest` is a time in milliseconds."""

    waiting: int = 0
    bytes: int = 0
    refused: int = 0
    dropped: int = 0
    oldest: int | None = None


def keep(folder: str, path: str, body: object, now_ms: int, chance: str) -> bool:
    """Write a request to the spool of a data folder; False if there is no room. It is durable once this returns.

    Raises:
        OSError: it cannot be written.
    """
    spool = os.path.join(folder, SPOOL)
    os.makedirs(spool, mode=0o700, exist_ok=True)
    name = f"{now_ms:015d}-{chance}{_ENDING}"
    entry = {"version": VERSION, "id": chance, "path": path, "body": body, "at": now_ms}
    data = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    found = spool_status(folder)
    if found.bytes + len(data) > MOST_BYTES or found.waiting >= MOST_FILES or len(data) > ENTRY_BYTES:
        _count_dropped(spool)
        return False
    temporary = os.path.join(spool, f".{name}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, os.path.join(spool, name))
    _sync(spool)
    return True


def spool_status(folder: str) -> Status:
    """What waits in the spool of a data folder."""
    spool = os.path.join(folder, SPOOL)
    waiting = size = 0
    oldest: int | None = None
    for entry in _scan(spool):
        if entry.name.endswith(_ENDING) and not entry.name.startswith("."):
            waiting += 1
            size += _size(entry)
            at = entry.name.partition("-")[0]
            if at.isdigit():
                oldest = min(int(at), oldest if oldest is not None else int(at))
    refused = sum(1 for entry in _scan(os.path.join(spool, REFUSED)) if entry.name.endswith(_ENDING))
    try:
        dropped = os.stat(os.path.join(spool, DROPPED)).st_size
    except OSError:
        dropped = 0
    return Status(waiting, size, refused, dropped, oldest)


def waiting(folder: str) -> list[str]:
    """The names of the requests that wait, in order."""
    found = (entry.name for entry in _scan(os.path.join(folder, SPOOL)))
    return sorted(name for name in found if name.endswith(_ENDING) and not name.startswith("."))


def read(folder: str, name: str) -> Entry | None:
    """A request that waits; None if the file holds none.

    Raises:
        FileNotFoundError: it was taken in meanwhile.
        OSError: it cannot be read.
    """
    handle = os.open(os.path.join(folder, SPOOL, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        data = file.read(ENTRY_BYTES + 1)
    try:
        found: Any = json.loads(data) if len(data) <= ENTRY_BYTES else None
        entry = Entry(str(found["id"]), str(found["path"]), found["body"], int(found["at"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return entry if found.get("version") == VERSION and isinstance(entry.body, dict) else None


def remove(folder: str, name: str) -> None:
    """End the waiting of a request that was taken in."""
    os.unlink(os.path.join(folder, SPOOL, name))


def refuse(folder: str, name: str) -> None:
    """Put a request aside that no server can take; the oldest of many go."""
    spool = os.path.join(folder, SPOOL)
    aside = os.path.join(spool, REFUSED)
    os.makedirs(aside, mode=0o700, exist_ok=True)
    os.rename(os.path.join(spool, name), os.path.join(aside, name))
    for old in sorted(entry.name for entry in _scan(aside))[:-MOST_REFUSED]:
        os.unlink(os.path.join(aside, old))


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0  # taken in meanwhile


def _count_dropped(spool: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    handle = os.open(os.path.join(spool, DROPPED), flags, 0o600)
    try:
        os.write(handle, b".")
    finally:
        os.close(handle)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
