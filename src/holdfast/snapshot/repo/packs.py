"""The packs in a repository: how they come with a snapshot, which are still needed, and how the others go.

    <repository>/packs/<32 hexadecimal characters>

A new pack is made in a staging folder and moved here under the repository's lock, just before the chunk index that
names it. So what lies here and is named by no chunk index was left by interrupted work, or by a snapshot that went,
and is garbage: no lease is needed, unlike in a vault. Every chunk index counts, with a manifest or without: a process
may still be reading it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from holdfast.core.bundle_names import BUNDLES, CHUNK_INDEXES, MANIFEST, SIDECAR
from holdfast.core.disk import make_folder, sync_folder
from holdfast.core.errors import SnapshotDamaged, SnapshotsBusy
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.chunks.chunk_index import MOST_BYTES, read_packs
from holdfast.snapshot.chunks.packfile import PackEntry
from holdfast.snapshot.chunks.reader import PACKS, packs_beside
from holdfast.snapshot.repo.entries import SnapshotEntry, names_on, packs_on, read_small
from holdfast.snapshot.repo.paths import read_sidecar

_MOST_SIDECAR = 512


def take_packs(chunk_index: Path, root: Path) -> None:
    """Move the packs that lie beside a staged chunk index to the repository, durable; all that it names are there then.

    Call with the repository's lock held.

    Raises:
        SnapshotDamaged: it is no chunk index.
        SnapshotsBusy: a pack that it refers to is gone.
    """
    packs = _named_by(chunk_index)
    folder, staged = root / PACKS, chunk_index.parent / PACKS
    make_folder(folder)
    there = packs_on(root)
    for one in packs:
        if one.name not in there and os.path.lexists(staged / one.name):
            (staged / one.name).rename(folder / one.name)
    sync_folder(folder)
    there = packs_on(root)
    if any(there.get(one.name) != one.size for one in packs):
        raise SnapshotsBusy("snapshot: packs were removed meanwhile", hint="Create the snapshot again.")


def _named_by(chunk_index: Path) -> tuple[PackEntry, ...]:
    try:
        return packs_beside(chunk_index)
    except Malformed as error:
        raise SnapshotDamaged(f"{chunk_index.name}: {error}") from error


def needed_packs(root: Path) -> set[str]:
    """The packs that the snapshots here need.

    Raises:
        SnapshotDamaged: what one of them needs cannot be determined.
    """
    found: dict[str, set[str]] = {}
    for id, suffix in names_on(root):
        found.setdefault(id, set()).add(suffix)
    needed: set[str] = set()
    for id, suffixes in found.items():
        if MANIFEST in suffixes and not suffixes & set(BUNDLES):
            raise SnapshotDamaged(f"{id}: its bundle is missing")
        for suffix in suffixes & set(CHUNK_INDEXES):
            needed |= _needed_by(root, f"{id}{suffix}")
    return needed


def _needed_by(root: Path, name: str) -> set[str]:
    """By its sidecar: a chunk index that was changed may name others than it needs."""
    data = read_small(root, name, MOST_BYTES)
    if read_sidecar(read_small(root, f"{name}{SIDECAR}", _MOST_SIDECAR), name) != sha256(data).hexdigest():
        raise SnapshotDamaged(f"{name} differs from its checksum file")
    try:
        return {one.name for one in read_packs(data)}
    except Malformed as error:
        raise SnapshotDamaged(f"{name}: {error}") from error


def sweep_packs(root: Path) -> list[str]:
    """Remove the packs that no snapshot needs; none if that is not known of all. Call with the repository's lock
    held."""
    there = packs_on(root)
    if not there:
        return []
    try:
        gone = sorted(set(there) - needed_packs(root))
    except SnapshotDamaged:
        return []  # it may need anything; once it is deleted or repaired, the next sweep takes the others
    for name in gone:
        (root / PACKS / name).unlink(missing_ok=True)
    if gone:
        sync_folder(root / PACKS)
    return gone


def trusted_packs(snapshots: Iterable[SnapshotEntry]) -> dict[str, int]:
    """The packs that a new snapshot may refer to, with their sizes: those of one that is not known to be damaged."""
    good = (one for one in snapshots if not one.damaged)
    return {pack.name: pack.size for one in good for pack in _packs(one)}


def packs_needed(one: SnapshotEntry) -> set[str]:
    """The packs that a snapshot needs; none if it is a whole bundle.

    Raises:
        SnapshotDamaged, OSError: it cannot be determined.
    """
    return {pack.name for pack in _packs(one)}


def _packs(one: SnapshotEntry) -> tuple[PackEntry, ...]:
    return _named_by(one.path) if one.manifest and one.manifest.chunked else ()
