"""Packs from a vault to a private folder, each hashed on its way; and the contents of a chunk index in a vault.

Four at once: one after the other, those of 50,000 memories took 1.6 times as long from a vault that answers after 20 ms
(bench/mechanisms.py).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_faults, make_folder
from holdfast.core.errors import NotFound, SnapshotDamaged
from holdfast.core.ports import Vault
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.hashed_copy import checked, copy_new
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.chunks.chunk_index import MOST_BYTES, read_packs
from holdfast.snapshot.chunks.packfile import PackEntry
from holdfast.snapshot.chunks.reader import PACKS, read_chunk_index
from holdfast.vault.streams import read_whole

_AT_ONCE = 4


def fetch_packs(vault: Vault, prefix: str, bundle: Path, manifest: Manifest, into: Path) -> None:
    """Copy the packs that a fetched chunk index names below the folder.

    Raises:
        SnapshotDamaged: the chunk index is invalid, or a pack is gone or another one.
    """
    try:
        packs = read_packs(read_chunk_index(bundle, manifest))
    except Malformed as error:
        raise SnapshotDamaged(f"vault: {manifest.bundle_name}: {error}") from error
    folder = into / PACKS
    with disk_faults("fetch packs"):
        make_folder(folder)
    with ThreadPoolExecutor(_AT_ONCE, "holdfast-fetch") as pool, OnFailure(pool.shutdown, cancel_futures=True):
        for done in [pool.submit(_fetch_pack, vault, prefix, one, folder) for one in packs]:
            done.result()


def _fetch_pack(vault: Vault, prefix: str, pack: PackEntry, folder: Path) -> None:
    try:
        stream = vault.open(f"{prefix}{PACKS}/{pack.name}")
    except NotFound as error:
        raise SnapshotDamaged(f"vault: pack {pack.name} is missing", details={"pack": pack.name}) from error
    with stream, disk_faults(f"fetch pack {pack.name}"):
        try:
            copy_new(checked(stream, f"pack {pack.name}", pack.size, pack.sha256), folder / pack.name)
        except SnapshotDamaged as fault:
            raise SnapshotDamaged(fault.message, details={"pack": pack.name}) from fault


def vaulted_chunk_index(vault: Vault, prefix: str, manifest: Manifest) -> bytes:
    """The chunk index that a manifest in the vault names.

    Raises:
        SnapshotDamaged: it is gone, or another one.
    """
    name = manifest.bundle_name
    if manifest.bundle_size > MOST_BYTES:
        raise SnapshotDamaged(f"vault: {name} is too large")
    try:
        with vault.open(f"{prefix}{name}") as stream, disk_faults(f"vault: read {name}"):
            data = read_whole(stream, manifest.bundle_size + 1)
    except NotFound as error:
        raise SnapshotDamaged(f"vault: {name} is missing") from error
    if len(data) != manifest.bundle_size or sha256(data).hexdigest() != manifest.bundle_sha256:
        raise SnapshotDamaged(f"vault: {name} differs from the manifest")
    return data


def vaulted_packs(vault: Vault, prefix: str, manifest: Manifest) -> tuple[PackEntry, ...]:
    """The packs that a snapshot in the vault needs.

    Raises:
        SnapshotDamaged: it cannot be determined.
    """
    try:
        return read_packs(vaulted_chunk_index(vault, prefix, manifest))
    except Malformed as error:
        raise SnapshotDamaged(f"vault: {manifest.bundle_name}: {error}") from error
