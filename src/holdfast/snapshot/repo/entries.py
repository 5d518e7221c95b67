"""What is in a repository, checked cheaply: all but the bundle's bytes is read and must agree. What was found
when the bytes were read is remembered (`check_results.py`) and holds as long as the file has not changed.

Reading takes no lock. Whatever seems wrong is read again before it counts as damaged, since another process may
just be putting or deleting it.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from holdfast.core.bundle_names import BUNDLES, CHUNK_INDEXES, MANIFEST, SIDECAR, SUFFIXES
from holdfast.core.disk import disk_fault
from holdfast.core.errors import Fault, SnapshotDamaged
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.manifest import read_manifest
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.chunks.chunk_index import is_pack, read_packs
from holdfast.snapshot.chunks.reader import PACKS, pack_path, packs_beside, read_chunk_index
from holdfast.snapshot.repo.check_results import CheckResult, Record, read_record, stamp_of
from holdfast.snapshot.repo.orphans import mark_of
from holdfast.snapshot.repo.paths import read_sidecar, sequence_of, split_name

MOST_MANIFEST = 64_000_000
_MOST_SIDECAR = 512
_CHUNK = 1 << 16

Owner = tuple[str, str]  # tenant and agent


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A snapshot in the repository, whole by a quick check, or damaged and why."""

    id: str
    manifest: Manifest | None  # None if it cannot be read
    size: int  # of all its files, and of the packs that it needs; they may be others' too
    damaged: str | None
    path: Path  # of the bundle; of the plain one if there is none
    checked_at: int | None = None  # when its bytes were read, as they are now; None if they never were

    @property
    def sequence(self) -> int:
        return sequence_of(self.id)


def names_on(root: Path) -> list[tuple[str, str]]:
    """Every file of a snapshot here, as id and suffix. Other files are not ours and are passed over."""
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise disk_fault(error, "list snapshots") from error
    return [parts for name in names if (parts := split_name(name))]


def ids_on(root: Path) -> set[str]:
    """Every id that has a file here."""
    return {id for id, _ in names_on(root)}


def bytes_on(root: Path) -> int:
    """The size of all files of snapshots; a pack counts once, however many share it."""
    files = sum(_size_of(f"{root}/{id}{suffix}") or 0 for id, suffix in names_on(root))
    return files + sum(packs_on(root).values())


def packs_on(root: Path) -> dict[str, int]:
    """The packs here with their sizes. Other files beside them are not ours and are passed over."""
    try:
        names = os.listdir(root / PACKS)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise disk_fault(error, "list packs") from error
    sizes = {name: _size_of(f"{root}/{PACKS}/{name}") for name in names if is_pack(name)}
    return {name: size for name, size in sizes.items() if size is not None}


def newest_first(ids: set[str]) -> list[str]:
    return sorted(ids, key=lambda id: (sequence_of(id), id), reverse=True)


def read_entries(root: Path, owner: Owner | None = None) -> Iterator[SnapshotEntry]:
    """Every snapshot in the repository, newest first."""
    record = read_record(root)
    for id in newest_first(ids_on(root)):
        if (one := read_entry(root, id, owner, record)) is not None:
            yield one


def read_entry(root: Path, id: str, owner: Owner | None = None, record: Record | None = None) -> SnapshotEntry | None:
    """The snapshot of that id; None if there is none, also while it is being put or deleted.

    With an owner, one of another memory counts as damaged, and nothing of its manifest is returned.
    """
    record = read_record(root) if record is None else record
    seen = _quick_check(root, id, owner, record)
    if not seen.damaged:
        return seen
    if os.path.lexists(mark_of(root, id)) and not os.path.lexists(root / f"{id}{MANIFEST}"):
        return None
    seen = _quick_check(root, id, owner, record)
    return seen if seen.size or any(os.path.lexists(root / f"{id}{suffix}") for suffix in SUFFIXES) else None


def _quick_check(root: Path, id: str, owner: Owner | None, record: Record) -> SnapshotEntry:
    manifest: Manifest | None = None
    damaged: str | None = None
    known: CheckResult | None = None
    try:
        whole, digest = read_manifest_of(root, id)
        if owner not in (None, (whole.identity.tenant, whole.identity.agent)):
            raise SnapshotDamaged(f"{id} belongs to another memory")
        manifest = whole
        _check_bundle(root, manifest)
        known = _known(root / manifest.bundle_name, digest, record.get(id))
    except Fault as fault:
        damaged = fault.message
    if known is not None:
        damaged = known.damaged
    name = manifest.bundle_name if manifest else _bundle_there(root, id)
    size = sum(_size_of(f"{root}/{id}{suffix}") or 0 for suffix in SUFFIXES) + _packs_size(root / name)
    return SnapshotEntry(id, manifest, size, damaged, root / name, known.at if known else None)


def _known(bundle: Path, digest: str, known: CheckResult | None) -> CheckResult | None:
    """What is remembered of these very files."""
    if known is None or known.manifest != digest:
        return None
    return known if known.looks == stamp_of(bundle) else None


def _packs_size(bundle: Path) -> int:
    """The size of a chunk index's packs; none if it is no chunk index, or cannot be read."""
    if not bundle.name.endswith(CHUNK_INDEXES):
        return 0
    try:
        return sum(_size_of(str(pack_path(bundle, one.name))) or 0 for one in packs_beside(bundle))
    except (Malformed, SnapshotDamaged, OSError):
        return 0


def _bundle_there(root: Path, id: str) -> str:
    names = [f"{id}{suffix}" for suffix in BUNDLES]
    return next((name for name in names if os.path.lexists(root / name)), names[0])


def _size_of(path: str) -> int | None:
    """Size of a regular file; None for anything else, or if it is missing."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_size if stat.S_ISREG(seen.st_mode) else None


def read_manifest_of(folder: Path, id: str) -> tuple[Manifest, str]:
    """The manifest of an id in a folder and its SHA-256, checked against its sidecar and its name.

    Raises:
        SnapshotDamaged, SnapshotTooNew: it is not there, not readable here or not of that id.
    """
    name = f"{id}{MANIFEST}"
    data = read_small(folder, name, MOST_MANIFEST)
    digest = sha256(data).hexdigest()
    if read_sidecar(read_small(folder, f"{name}{SIDECAR}", _MOST_SIDECAR), name) != digest:
        raise SnapshotDamaged(f"{name} differs from its checksum file")
    manifest = read_manifest(data)
    check_names(manifest, id)
    return manifest, digest


def check_names(manifest: Manifest, id: str) -> None:
    """Refuse a manifest that is not of the id in its name."""
    identity = manifest.identity
    if identity.id != id or identity.sequence != sequence_of(id):
        raise SnapshotDamaged(f"{id}{MANIFEST} is the manifest of another snapshot")
    if manifest.bundle_name not in {f"{id}{suffix}" for suffix in BUNDLES}:
        raise SnapshotDamaged(f"{id}{MANIFEST} names the bundle of another snapshot")


def _check_bundle(folder: Path, manifest: Manifest) -> None:
    name = manifest.bundle_name
    size = _size_of(f"{folder}/{name}")
    if size is None:
        raise SnapshotDamaged(f"{name} is missing")
    if size != manifest.bundle_size:
        raise SnapshotDamaged(f"{name} has {size} bytes instead of {manifest.bundle_size}")
    check_sidecar(folder, manifest)
    if manifest.chunked:
        check_packs(folder / name, manifest)


def check_packs(bundle: Path, manifest: Manifest) -> None:
    """Refuse a chunk index that is not the manifest's, or one of whose packs is missing or of another size."""
    try:
        packs = read_packs(read_chunk_index(bundle, manifest))
    except Malformed as error:
        raise SnapshotDamaged(f"{bundle.name}: {error}") from error
    gone = [one.name for one in packs if _size_of(str(pack_path(bundle, one.name))) != one.size]
    if gone:
        raise SnapshotDamaged(f"{len(gone)} of its {len(packs)} packs are missing or truncated")


def check_sidecar(folder: Path, manifest: Manifest) -> None:
    """Refuse a bundle's sidecar that disagrees with the manifest."""
    name = f"{manifest.bundle_name}{SIDECAR}"
    if read_sidecar(read_small(folder, name, _MOST_SIDECAR), manifest.bundle_name) != manifest.bundle_sha256:
        raise SnapshotDamaged(f"{name} differs from the manifest")


def read_small(folder: Path, name: str, most: int) -> bytes:
    """The bytes of a regular file of at most so many.

    Raises:
        SnapshotDamaged: it is gone, something else, larger, or cannot be read.
    """
    try:
        # Not blocking: a pipe of that name would otherwise be waited for.
        handle = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise SnapshotDamaged(f"{name} is not a file")
            data = _read_all(file, most + 1)
    except FileNotFoundError as error:
        raise SnapshotDamaged(f"{name} is missing") from error
    except OSError as error:
        raise SnapshotDamaged(f"{name} cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise SnapshotDamaged(f"{name} is larger than {most} bytes")
    return data


def _read_all(file: io.FileIO, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := file.read(min(most, _CHUNK))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
