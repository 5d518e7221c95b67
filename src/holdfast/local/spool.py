"""What hooks could not deliver, kept durably beside the data until a server takes it in.

One file for each request, named so that the order of the names is the order of the requests. The files hold memory
text before redaction, so they are for the owner alone. When the spool is full, what waits stays and what is new is
refused and counted: the beginning of a session without its end is worth more than the end alone.

On a full disk a request goes into the space of a reserve, or to a folder on another disk (`spool_space.py`). What is
there waits like the rest.

Standard library only: a hook imports this when no server answers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from holdfast.local.spool_space import FOR_COUNTS, FULL, give_up, make_private, make_reserve, spools_on_other_disks

SPOOL = "spool"
REFUSED = "refused"
DROPPED = "dropped"  # a file of one byte for each request that found no room
MOST_BYTES = 64_000_000
MOST_FILES = 20_000
ENTRY_BYTES = 16_000_000
MOST_REFUSED = 1_000
TRIES = 3  # on a full disk: another process may take the space that the reserve gave up
HALF_WRITTEN_MS = 3_600_000  # a file that is being written has its name within milliseconds
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
    """Write a request to the spool of a data folder; False if there is no room for it anywhere, which is counted.

    It is durable once this returns.
    """
    name = f"{now_ms:015d}-{chance}{_ENDING}"
    entry = {"version": VERSION, "id": chance, "path": path, "body": body, "at": now_ms}
    data = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    found = spool_status(folder)
    fits = found.bytes + len(data) <= MOST_BYTES and found.waiting < MOST_FILES and len(data) <= ENTRY_BYTES
    if fits and (_put(os.path.join(folder, SPOOL), name, data) or _put_on_other_disk(folder, name, data)):
        return True
    _count_dropped(folder)
    return False


def spool_status(folder: str) -> Status:
    """What waits in the spool of a data folder."""
    waiting = size = dropped = 0
    oldest: int | None = None
    for spool in _spools(folder):
        for entry in filter(_waits, _scan(spool)):
            waiting += 1
            size += _size(entry)
            at = entry.name.partition("-")[0]
            if at.isdigit():
                oldest = min(int(at), oldest if oldest is not None else int(at))
        dropped += _dropped(spool)
    aside = _scan(os.path.join(folder, SPOOL, REFUSED))
    return Status(waiting, size, sum(1 for entry in aside if entry.name.endswith(_ENDING)), dropped, oldest)


def waiting(folder: str) -> list[str]:
    """The names of the requests that wait, in order."""
    return sorted(entry.name for spool in _spools(folder) for entry in _scan(spool) if _waits(entry))


def tidy(folder: str, now_ms: int) -> None:
    """Make the reserve again, remove files that were never written to the end, and count losses in one place.

    Raises:
        OSError: the spool cannot be written.
    """
    main = os.path.join(folder, SPOOL)
    make_private(main)
    for spool in _spools(folder):
        for entry in _scan(spool):
            at = entry.name[1:].partition("-")[0]
            if entry.name.startswith(".") and at.isdigit() and int(at) < now_ms - HALF_WRITTEN_MS:
                os.unlink(entry.path)
        if spool != main and (lost := _dropped(spool)):
            _append(main, b"." * lost)
            os.unlink(os.path.join(spool, DROPPED))
            _leave(spool)
    make_reserve(main)


def read(folder: str, name: str) -> Entry | None:
    """A request that waits; None if the file holds none.

    Raises:
        FileNotFoundError: it was taken in meanwhile.
        OSError: it cannot be read.
    """
    handle = os.open(os.path.join(_place(folder, name), name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
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
    spool = _place(folder, name)
    os.unlink(os.path.join(spool, name))
    if spool != os.path.join(folder, SPOOL):
        _leave(spool)


def refuse(folder: str, name: str) -> None:
    """Put a request aside that no server can take; the oldest of many go."""
    spool = _place(folder, name)
    aside = os.path.join(folder, SPOOL, REFUSED)
    make_private(aside)
    if spool == os.path.join(folder, SPOOL):
        os.rename(os.path.join(spool, name), os.path.join(aside, name))
    else:
        with open(os.path.join(spool, name), "rb") as file:
            _write(aside, name, file.read(ENTRY_BYTES))
        remove(folder, name)
    for old in sorted(entry.name for entry in _scan(aside))[:-MOST_REFUSED]:
        os.unlink(os.path.join(aside, old))


def _spools(folder: str) -> Iterator[str]:
    """Where requests of the data folder may wait: beside the data first."""
    yield os.path.join(folder, SPOOL)
    yield from spools_on_other_disks(folder)


def _place(folder: str, name: str) -> str:
    """The spool that has the request; the one beside the data if none has it."""
    spools = list(_spools(folder))
    return next((spool for spool in spools if os.path.lexists(os.path.join(spool, name))), spools[0])


def _put(spool: str, name: str, data: bytes) -> bool:
    """Write a request beside the data, on a full disk into the space of the reserve."""
    for _ in range(TRIES):
        try:
            make_private(spool)
            _write(spool, name, data)
            return True
        except OSError as error:
            if error.errno not in FULL or not give_up(spool, len(data), FOR_COUNTS):
                return False
    return False


def _put_on_other_disk(folder: str, name: str, data: bytes) -> bool:
    for spool in spools_on_other_disks(folder, make=True):
        try:
            _write(spool, name, data)
            return True
        except OSError:
            _leave(spool)
    return False


def _write(spool: str, name: str, data: bytes) -> None:
    """A whole file or none."""
    temporary = os.path.join(spool, f".{name}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, os.path.join(spool, name))
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync(spool)


def _leave(spool: str) -> None:
    """Remove a spool on another disk, and the folder above it, once they are empty."""
    with suppress(OSError):
        os.rmdir(spool)
        os.rmdir(os.path.dirname(spool))


def _waits(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_ENDING) and not entry.name.startswith(".")


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


def _dropped(spool: str) -> int:
    try:
        return os.stat(os.path.join(spool, DROPPED), follow_symlinks=False).st_size
    except OSError:
        return 0


def _count_dropped(folder: str) -> None:
    """Count a lost request, wherever there is room for a byte."""
    main = os.path.join(folder, SPOOL)
    with suppress(OSError):
        make_private(main)
        try:
            return _append(main, b".")
        except OSError as error:
            if error.errno in FULL and give_up(main, 1):
                return _append(main, b".")
    for spool in spools_on_other_disks(folder, make=True):
        try:
            return _append(spool, b".")
        except OSError:
            _leave(spool)


def _append(spool: str, marks: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    handle = os.open(os.path.join(spool, DROPPED), flags, 0o600)
    try:
        os.write(handle, marks)
    finally:
        os.close(handle)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
