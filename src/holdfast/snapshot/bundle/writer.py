"""Pack a capture: staged files → tar → zstd → perhaps age → one file, hashed on the way.

The same staged files give the same plain bytes on every machine: the headers have no owners and times, the
members are in order, and the compressor always has two threads, as the cuts between their shares are in the bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import FileIO
from pathlib import Path

import zstandard

from holdfast.core.age import encrypt_stream
from holdfast.core.disk import disk_fault
from holdfast.core.errors import InvalidRequest, LimitReached, StorageFailed
from holdfast.core.system import lower_priority
from holdfast.snapshot.bundle import encryption, tar_header
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.contents import Contents, contents_bytes
from holdfast.snapshot.bundle.limits import check_size
from holdfast.snapshot.bundle.manifest import bundle_name
from holdfast.snapshot.bundle.members import CONTENTS, check_members, kind_of, member_name, place_of
from holdfast.snapshot.bundle.types import Artifact, BundleFile, Capture, StagedFile

_PIECE = 1024 * 1024
_THREADS = 2
_SHARE = 2 * 1024 * 1024  # of a thread at a time; with zstd's own 8 MB it holds 80 MB more, for 0.1 % fewer bytes


def pack(capture: Capture, out: Path, identity_id: str, recipients: Sequence[str] = (), level: int = 3) -> BundleFile:
    """Write the bundle to a new file and make it durable. A failure leaves no file.

    Raises:
        InvalidRequest: a recipient is invalid, or a staged path cannot be in a bundle.
        LimitReached: it holds more than a reader would take.
        StorageFull, StorageFailed: it could not be written, or a staged file changed meanwhile.
    """
    tar = Tar(capture, encrypted=bool(recipients))
    size, sha256 = pack_tar(tar.pieces(), out, recipients, level)
    return BundleFile(bundle_name(identity_id, bool(recipients)), size, sha256, tuple(tar.artifacts))


def pack_tar(
    tar: Iterator[bytes | memoryview], out: Path, recipients: Sequence[str] = (), level: int = 3
) -> tuple[int, str]:
    """The same for the pieces of a tar that the caller makes; the file's size and SHA-256."""
    keys = encryption.read_recipients(recipients)
    packing = _TarPacker(tar, level)
    try:
        with _BundleOutput(out) as output:
            if keys:
                encrypt_stream(packing.compressed(), output.write, keys)
            else:
                for piece in packing.compressed():
                    output.write(piece)
            check_size(packing.size, output.size, LimitReached)
            output.sync()
    except OSError as error:
        raise disk_fault(error, f"pack {out.name}") from error
    return output.size, output.sha256()


def tar_again(capture: Capture, bundle: BundleFile, *, encrypted: bool) -> Iterator[bytes | memoryview]:
    """The tar that was packed into the bundle, made once more from the same staged files; a piece lasts until the next.

    Raises:
        StorageFailed: a staged file is not as it was.
    """
    for staged, known in zip(_in_order(capture.staged), bundle.artifacts, strict=True):
        yield from _staged(staged, known)
    yield from _end(capture, bundle.artifacts, encrypted=encrypted)


def _staged(staged: StagedFile, known: Artifact) -> Iterator[bytes | memoryview]:
    """Header, bytes and padding of a member. It was hashed before; only its length is checked now."""
    with _opened(staged) as file:
        about = os.fstat(file.fileno())
        if about.st_size != known.size:
            raise _changed(staged)
        yield tar_header.header(member_name(staged.path), known.size)
        yield from _read(file, staged, about)
    yield bytes(tar_header.padding(known.size))


def _end(capture: Capture, artifacts: Sequence[Artifact], *, encrypted: bool) -> Iterator[bytes]:
    if encrypted:
        inside = contents_bytes(Contents(tuple(artifacts), capture.redaction.files, capture.left))
        yield tar_header.header(CONTENTS, len(inside))
        yield inside
        yield bytes(tar_header.padding(len(inside)))
    yield tar_header.END


def _opened(staged: StagedFile) -> FileIO:
    """A staged file.

    Raises:
        StorageFailed: it is no file any more.
    """
    file = FileIO(os.open(staged.source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _changed(staged)
    return file


def _read(file: FileIO, staged: StagedFile, about: os.stat_result) -> Iterator[memoryview]:
    """All bytes of a staged file; a piece lasts until the next.

    Raises:
        StorageFailed: they changed meanwhile.
    """
    rest, buffer = about.st_size, memoryview(bytearray(min(about.st_size, _PIECE)))
    while rest:
        count = file.readinto(buffer[: min(rest, _PIECE)])
        if not count:
            raise _changed(staged)
        yield buffer[:count]
        rest -= count
    if file.read(1) or os.fstat(file.fileno()).st_mtime_ns != about.st_mtime_ns:
        raise _changed(staged)


def _in_order(staged: Sequence[StagedFile]) -> list[StagedFile]:
    ordered = sorted(staged, key=lambda one: place_of(one.path))
    try:
        check_members([one.path for one in ordered])
    except Malformed as error:
        raise InvalidRequest(f"pack: {error}") from error
    if any(one.kind != kind_of(one.path) for one in ordered):
        raise InvalidRequest("pack: the type of a staged file does not match its path")
    return ordered


class Tar:
    """The tar of a capture as it is made, and what was seen of the members so far.

    Raises:
        InvalidRequest: a staged path cannot be in a bundle.
    """

    def __init__(self, capture: Capture, *, encrypted: bool):
        self._capture = capture
        self._staged = _in_order(capture.staged)
        self._encrypted = encrypted
        self.artifacts: list[Artifact] = []

    def pieces(self) -> Iterator[bytes | memoryview]:
        """All of it, once; a piece lasts until the next."""
        for one in self._staged:
            yield from self._member(one)
        yield from _end(self._capture, self.artifacts, encrypted=self._encrypted)

    def _member(self, staged: StagedFile) -> Iterator[bytes | memoryview]:
        with _opened(staged) as file:
            about = os.fstat(file.fileno())
            yield tar_header.header(member_name(staged.path), about.st_size)
            digest = hashlib.sha256()
            for piece in _read(file, staged, about):
                digest.update(piece)
                yield piece
        yield bytes(tar_header.padding(about.st_size))
        self.artifacts.append(Artifact(staged.path, staged.kind, about.st_size, digest.hexdigest()))


class _TarPacker:
    """The compressed pieces of one tar."""

    def __init__(self, tar: Iterator[bytes | memoryview], level: int):
        self._tar = tar
        self._level = level
        self.size = 0  # of the tar

    def compressed(self) -> Iterator[bytes]:
        compressor = zstandard.ZstdCompressor(compression_params=_parameters(self._level)).compressobj()
        compress: Callable[[bytes | memoryview], bytes] = partial(_begin, compressor.compress)
        for piece in self._tar:
            self.size += len(piece)
            if made := compress(piece):
                yield made
            compress = compressor.compress
        yield compressor.flush()


def _parameters(level: int) -> zstandard.ZstdCompressionParameters:
    return zstandard.ZstdCompressionParameters.from_level(
        level, threads=_THREADS, job_size=_SHARE, write_checksum=True, write_content_size=False
    )


def _begin(compress: Callable[[bytes | memoryview], bytes], piece: bytes | memoryview) -> bytes:
    """Compress the first piece in a thread that yields to others: the compressor starts its own threads now, and they
    inherit its priority. Writers to the memory must not wait for them."""
    with ThreadPoolExecutor(1, "holdfast-pack", lower_priority) as one:
        return one.submit(compress, piece).result()


def _changed(staged: StagedFile) -> StorageFailed:
    return StorageFailed(
        f"pack: the staged {staged.kind} changed during packing",
        hint="Another process is writing to the staging folder. Create the snapshot again.",
    )


class _BundleOutput:
    """The new file: counted and hashed as it is written, and gone if it is not finished."""

    def __init__(self, path: Path):
        self._path = path
        self._digest = hashlib.sha256()
        self.size = 0

    def __enter__(self) -> _BundleOutput:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = open(os.open(self._path, flags, 0o600), "wb", buffering=_PIECE)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._file.close()
            return
        with contextlib.suppress(OSError):  # closing writes what waits, and may fail as the write before did
            self._file.close()
        self._path.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)
        self.size += len(data)

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def sha256(self) -> str:
        return self._digest.hexdigest()
