"""A snapshot's files read as one, and copied out of the repository into a folder of the caller's choice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from holdfast.core.bundle_names import BUNDLES, MANIFEST, SIDECAR
from holdfast.core.disk import alone_in, make_folder, publish, sync_folder, write_new
from holdfast.core.errors import Conflict, InvalidRequest, SnapshotDamaged
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.hashed_copy import checked, copy_new, open_file
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.chunks.chunk_index import read_packs
from holdfast.snapshot.chunks.packfile import PackEntry
from holdfast.snapshot.chunks.reader import PACKS, open_pack, read_chunk_index
from holdfast.snapshot.repo.entries import MOST_MANIFEST, check_sidecar, read_manifest_of, read_small
from holdfast.snapshot.repo.paths import sidecar

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The files of a snapshot: all but the bundle by content."""

    manifest: Manifest
    data: bytes  # of the manifest

    @property
    def id(self) -> str:
        return self.manifest.identity.id

    @property
    def sidecars(self) -> dict[str, bytes]:
        """Both sidecars by name."""
        name, digest = f"{self.id}{MANIFEST}", sha256(self.data).hexdigest()
        bundle = self.manifest.bundle_name
        return {
            f"{bundle}{SIDECAR}": sidecar(self.manifest.bundle_sha256, bundle),
            f"{name}{SIDECAR}": sidecar(digest, name),
        }

    @property
    def small(self) -> dict[str, bytes]:
        """Everything but the bundle by name, the manifest last."""
        return {**self.sidecars, f"{self.id}{MANIFEST}": self.data}

    @property
    def size(self) -> int:
        return self.manifest.bundle_size + sum(map(len, self.small.values()))


def read_files(folder: Path, id: str) -> SnapshotFiles:
    """The files of an id in a folder; the bundle's bytes are not read.

    Raises:
        SnapshotDamaged, SnapshotTooNew: they do not agree with each other, or are not readable here.
    """
    manifest, _ = read_manifest_of(folder, id)
    check_sidecar(folder, manifest)
    return SnapshotFiles(manifest, read_small(folder, f"{id}{MANIFEST}", MOST_MANIFEST))


def copy_bundle(folder: Path, manifest: Manifest, target: Path) -> None:
    """Copy the bundle into a new file, synced.

    Raises:
        SnapshotDamaged: its bytes are not those of the manifest; then there is no new file.
    """
    source = open_file(folder / manifest.bundle_name)
    with checked(source, manifest.bundle_name, manifest.bundle_size, manifest.bundle_sha256) as bundle:
        copy_new(bundle, target)


def export_files(folder: Path, files: SnapshotFiles, target: Path) -> list[Path]:
    """Export a snapshot: whole, durable, nothing overwritten; the paths, the manifest's last.

    The packs of a chunk index go along. Those that are there already are left: another snapshot brought them.

    Raises:
        Conflict: one of the files exists there. SnapshotDamaged: the bytes are not those of the manifest.
    """
    into = _folder_for(target, files.manifest.bundle_name)
    make_folder(into)
    with alone_in(into):
        names = [files.manifest.bundle_name, *files.small]
        for name in names:
            if os.path.lexists(into / name):
                raise Conflict(f"export {files.id}: {into / name} already exists")
        packs = _export_packs(folder, files.manifest, into / PACKS) if files.manifest.chunked else []
        with _temporaries([into / f".{name}.new" for name in names]) as new:
            copy_bundle(folder, files.manifest, new[0])
            for path, data in zip(new[1:], files.small.values(), strict=True):
                write_new(path, data)
            _publish(new, [into / name for name in names])
    return packs + [into / name for name in names]


def _export_packs(folder: Path, manifest: Manifest, into: Path) -> list[Path]:
    """Copy what the chunk index needs; the paths. Packs without a chunk index are no snapshot: what fails leaves only
    such."""
    bundle = folder / manifest.bundle_name
    make_folder(into)
    try:
        packs = read_packs(read_chunk_index(bundle, manifest))
        for one in packs:
            _export_pack(bundle, one, into / one.name)
    except Malformed as error:
        raise SnapshotDamaged(f"export: {manifest.bundle_name}: {error}") from error
    sync_folder(into)
    return [into / one.name for one in packs]


def _export_pack(bundle: Path, pack: PackEntry, target: Path) -> None:
    if os.path.lexists(target):
        with checked(open_file(target), f"pack {pack.name}", pack.size, pack.sha256) as there:
            while there.read(_CHUNK):
                pass
        return
    source = checked(open_pack(bundle, pack), f"pack {pack.name}", pack.size, pack.sha256)
    with source, _temporaries([target.with_name(f".{target.name}.new")]) as (new,):
        copy_new(source, new)
        publish(new, target)


def _folder_for(target: Path, bundle_name: str) -> Path:
    """The target, or the folder it is in if it is the bundle's own file name.

    Raises:
        InvalidRequest: it is a file of another name; sidecars and manifest name the bundle, so it keeps its own.
    """
    if target.is_dir():
        return target
    if target.name == bundle_name:
        return target.parent
    if target.exists() or target.name.endswith(BUNDLES):
        raise InvalidRequest("export: the target must be a folder")
    return target


@contextmanager
def _temporaries(paths: list[Path]) -> Iterator[list[Path]]:
    """Paths that are cleared before and after the block."""
    for path in paths:
        path.unlink(missing_ok=True)
    try:
        yield paths
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _publish(temporaries: list[Path], paths: list[Path]) -> None:
    done: list[Path] = []
    try:
        for temporary, path in zip(temporaries, paths, strict=True):
            if path is paths[-1]:
                sync_folder(path.parent)  # the manifest is durable only after all that it names
            publish(temporary, path)
            done.append(path)
        sync_folder(paths[-1].parent)
    except FileExistsError as error:
        _remove(done)
        raise Conflict("export: another process created a file of the same name") from error
    except BaseException:
        _remove(done)
        raise


def _remove(paths: list[Path]) -> None:
    for path in reversed(paths):
        path.unlink(missing_ok=True)
