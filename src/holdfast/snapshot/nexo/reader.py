"""Bundles of the earlier system (`nexo-memory-snapshot-v1`, plain and age): verified, and their memory imported.

<uuid>.tar.zst[.age] holds manifest.json first, then what it lists; <name>.sha256 beside it is the bare hash of its
bytes. Nothing is signed, so a sound bundle is whole, not trusted: its text goes through intake like any other.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import zstandard

from holdfast.core.age import NotIntact, WrongIdentity, decrypt_stream, identity_of
from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_fault
from holdfast.core.errors import Fault, IdentityNeeded, InvalidRequest, NotFound, SnapshotDamaged, SnapshotTooNew
from holdfast.snapshot.bundle.types import Artifact, Code, Finding
from holdfast.snapshot.nexo.manifest import DATABASE, FILES, MANIFEST, NexoManifest, read_nexo_manifest
from holdfast.snapshot.nexo.rows import NexoRow, NexoRows
from holdfast.snapshot.nexo.tar import TarMember, members
from holdfast.snapshot.sources.folder_walk import read_small

__all__ = ["NexoFile", "NexoManifest", "NexoMemory", "NexoReport", "NexoRow", "import_nexo", "verify_nexo"]

_MANIFEST_BYTES = 64 << 20
# nexo packs with level 19, whose window is 8 MB.
_WINDOW = 8 << 20
_PIECE = 1 << 20
# An empty database packs a thousandfold; a bomb three hundred thousandfold.
_RATIO = 2_000
_SMALL = 64 << 20
_AGE = b"age-encryption.org/v1"
_CODES: dict[type[Fault], Code] = {
    SnapshotDamaged: "damaged",
    SnapshotTooNew: "too_new",
    IdentityNeeded: "locked",
}


@dataclass(frozen=True, slots=True)
class NexoReport:
    """What verification of a nexo bundle looked at and found."""

    place: str
    manifest: NexoManifest | None  # None if it cannot be read
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return all(one.note for one in self.findings)


@dataclass(frozen=True, slots=True)
class NexoFile:
    """A memory file out of a bundle."""

    path: str  # inside the memory folder
    size: int
    source: Path


@dataclass(frozen=True, slots=True)
class NexoMemory:
    """What can be taken over from a bundle, until it is closed."""

    manifest: NexoManifest
    memories: NexoRows
    files: tuple[NexoFile, ...]
    folder: Path

    def __enter__(self) -> NexoMemory:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def verify_nexo(path: Path, identities: Sequence[str] = (), scratch: Path | None = None) -> NexoReport:
    """Whether the bundle is whole: its bytes against the sidecar, its seal, and every member against the manifest.

    `identities` are age identities as text. Decrypted bytes lie below `scratch` while it runs.

    Raises:
        NotFound: there is no such file.
    """
    checked, unchecked, findings = ["bytes"], [], []
    manifest = None
    with _opened(path) as file:
        findings += _sidecar(path, file)
        if _is_age(file) and not identities:
            unchecked.append("members: encrypted, no identity given")
        else:
            with _folder(scratch) as folder:
                try:
                    manifest = _read(file, identities, _Sink(folder, keep=False))
                    checked += ["seal", "members"]
                except (SnapshotDamaged, SnapshotTooNew, IdentityNeeded) as fault:
                    findings.append(Finding(_CODES[type(fault)], fault.message))
    return NexoReport(str(path), manifest, tuple(findings), tuple(checked), tuple(unchecked))


def import_nexo(path: Path, identities: Sequence[str] = (), scratch: Path | None = None) -> NexoMemory:
    """The memories and memory files of a bundle that is whole. Close it (or use `with`): its files lie on disk.

    Raises: NotFound: there is no such file. SnapshotDamaged, SnapshotTooNew: it is incomplete, or of a later version.
    IdentityNeeded: it is encrypted, and none of the identities opens it.
    """
    folder = Path(tempfile.mkdtemp(prefix="nexo-", dir=scratch))
    with OnFailure(shutil.rmtree, folder, ignore_errors=True), _opened(path) as file:
        for finding in _sidecar(path, file):
            if not finding.note:
                raise SnapshotDamaged(finding.message)
        sink = _Sink(folder, keep=True)
        manifest = _read(file, identities, sink)
    return NexoMemory(manifest, NexoRows(sink.database), tuple(sink.files), folder)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFound(f"nexo bundle: {path.name} does not exist") from error
    except OSError as error:
        raise disk_fault(error, "read a nexo bundle") from error


@contextmanager
def _folder(scratch: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nexo-", dir=scratch) as name:
        yield Path(name)


def _sidecar(path: Path, file: BinaryIO) -> list[Finding]:
    """Compares the bundle's bytes with the hash file beside it."""
    told = read_small(path.with_name(f"{path.name}.sha256"), 1_000)
    if told is None:
        return [Finding("damaged", "nexo bundle: its .sha256 file is missing", note=True)]
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
    if told != digest.hexdigest().encode():
        return [Finding("damaged", "nexo bundle: its content differs from its .sha256 file")]
    return []


def _is_age(file: BinaryIO) -> bool:
    file.seek(0)
    return file.read(len(_AGE)) == _AGE


class _Sink:
    """Where members go: checked against the manifest, and those with memory kept as files under numbers."""

    def __init__(self, folder: Path, keep: bool):
        self.folder = folder
        self.database: Path | None = None
        self.files: list[NexoFile] = []
        self._keep = keep

    def take(self, member: TarMember, artifact: Artifact) -> None:
        place = self._place(artifact)
        digest = hashlib.sha256()
        with (place or Path("/dev/null")).open("wb") as out:
            for piece in member.pieces:
                digest.update(piece)
                out.write(piece)
        if digest.hexdigest() != artifact.sha256:
            raise SnapshotDamaged("nexo bundle: a member differs from the manifest")

    def _place(self, artifact: Artifact) -> Path | None:
        if not self._keep:
            return None
        if artifact.path == DATABASE:
            self.database = self.folder / "long_term.sqlite"
            return self.database
        if artifact.kind == "memory_file":
            place = self.folder / f"{len(self.files):06d}"
            self.files.append(NexoFile(artifact.path.removeprefix(FILES), artifact.size, place))
            return place
        return None


def _read(file: BinaryIO, identities: Sequence[str], sink: _Sink) -> NexoManifest:
    """Read the bundle to its end, every member into the sink."""
    with _plain(file, identities, sink.folder) as plain:
        size = plain.seek(0, 2)
        plain.seek(0)
        unpacked = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(plain, read_across_frames=True)
        try:
            return _members(members(unpacked.read), size, sink)
        except zstandard.ZstdError as error:
            raise SnapshotDamaged("nexo bundle: it cannot be unpacked") from error
        except OSError as error:
            raise disk_fault(error, "unpack a nexo bundle") from error


def _members(found: Iterator[TarMember], size: int, sink: _Sink) -> NexoManifest:
    first = next(found, None)
    if first is None or first.name != MANIFEST or first.size > _MANIFEST_BYTES:
        raise SnapshotDamaged("nexo bundle: its first member is not a manifest")
    manifest = read_nexo_manifest(b"".join(first.pieces))
    if sum(one.size for one in manifest.artifacts) > max(_SMALL, size * _RATIO):
        raise SnapshotDamaged("nexo bundle: its unpacked size exceeds the limit")
    waiting = {one.path: one for one in manifest.artifacts}
    for member in found:
        artifact = waiting.pop(member.name, None)
        if artifact is None or artifact.size != member.size:
            raise SnapshotDamaged("nexo bundle: it has a member that the manifest does not list")
        sink.take(member, artifact)
    if waiting:
        raise SnapshotDamaged("nexo bundle: a member that the manifest lists is missing")
    return manifest


@contextmanager
def _plain(file: BinaryIO, identities: Sequence[str], folder: Path) -> Iterator[IO[bytes]]:
    """The bundle without its encryption, if it has one."""
    if not _is_age(file):
        file.seek(0)
        yield file
        return
    if not identities:
        raise IdentityNeeded("nexo bundle: it is encrypted")
    keys = [_identity(text) for text in identities]
    file.seek(0)
    with tempfile.TemporaryFile(dir=folder) as plain:
        try:
            decrypt_stream(iter(lambda: file.read(_PIECE), b""), plain.write, keys)
            plain.flush()
        except (WrongIdentity, NotIntact) as error:
            raise IdentityNeeded("nexo bundle: wrong identity, or it is damaged") from error
        except OSError as error:
            raise disk_fault(error, "decrypt a nexo bundle") from error
        plain.seek(0)
        yield plain


def _identity(text: str) -> Any:
    found = identity_of(text)
    if found is None:
        raise InvalidRequest("nexo bundle: an age identity cannot be read")
    return found
