"""Results of reading whole bundles, remembered beside them, so that a list can show them without reading again.

<repository>/checked holds for each id how the bundle's file was (size, times, inode), the SHA-256 of its manifest, when
it was read, and what was wrong. It holds as long as all of these are the same; of a chunk index the files of all its
packs count. It is a memory aid and no seal: whatever uses a snapshot reads it anew, and a record that cannot be read
counts as none.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from holdfast.core.bundle_names import BUNDLES, CHUNK_INDEXES
from holdfast.core.disk import disk_faults, replace_durably
from holdfast.core.errors import SnapshotDamaged
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.chunks.reader import pack_path, packs_beside
from holdfast.snapshot.repo.paths import split_name

RECORD = "checked"
_MOST_BYTES = 16_000_000
_MOST_REASON = 500


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The state of a bundle's file by its metadata; other bytes in it would show in its times."""

    size: int
    modified: int
    changed: int
    inode: int


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What was found when a bundle was read to its end."""

    looks: FileStamp
    manifest: str  # its SHA-256
    at: int
    damaged: str | None


Record = dict[str, CheckResult]


def stamp_of(bundle: Path) -> FileStamp | None:
    """The state of a bundle; None if it is no file. Of a chunk index, of its packs too: a pack belongs to several."""
    own = _file_stamp(bundle)
    if own is None or not bundle.name.endswith(CHUNK_INDEXES):
        return own
    try:
        packs = [_file_stamp(pack_path(bundle, one.name)) for one in packs_beside(bundle)]
    except (Malformed, SnapshotDamaged, OSError):
        return own
    there = [own, *(one for one in packs if one)]
    digest = sha256(repr((own, packs)).encode()).digest()
    return FileStamp(
        sum(one.size for one in there),
        max(one.modified for one in there),
        max(one.changed for one in there),
        int.from_bytes(digest[:7], "little"),
    )


def _file_stamp(path: Path) -> FileStamp | None:
    try:
        about = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    return FileStamp(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def stamp_of_bundle(root: Path, id: str) -> FileStamp | None:
    return next((looks for suffix in BUNDLES if (looks := stamp_of(root / f"{id}{suffix}"))), None)


def read_record(root: Path) -> Record:
    """All that is remembered, by id."""
    try:
        handle = os.open(root / RECORD, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            rows = orjson.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return {}
    if not isinstance(rows, dict):
        return {}
    return {id: found for id, row in rows.items() if (found := _row(row))}


def _row(row: Any) -> CheckResult | None:
    match row:
        case [int(size), int(modified), int(changed), int(inode), str(manifest), int(at), str() | None as damaged]:
            return CheckResult(FileStamp(size, modified, changed, inode), manifest, at, damaged)
    return None


def write_record(root: Path, record: Record) -> None:
    """Remember this of those that are still here. Call with the repository's lock held.

    Raises:
        StorageFull, StorageFailed: it could not be written.
    """
    here = {parts[0] for name in os.listdir(root) if (parts := split_name(name))}
    rows = {id: _shape(one) for id, one in record.items() if id in here}
    with disk_faults("remember what was verified"):
        replace_durably(root / RECORD, orjson.dumps(rows))


def _shape(one: CheckResult) -> list[int | str | None]:
    looks, reason = one.looks, one.damaged
    said = reason[:_MOST_REASON] if reason else None
    return [looks.size, looks.modified, looks.changed, looks.inode, one.manifest, one.at, said]
