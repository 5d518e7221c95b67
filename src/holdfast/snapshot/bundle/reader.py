"""Open a verified bundle: its raw bytes are counted, decrypted, decompressed and compared member by member.

Every header must be the one that packing writes for that name and size, so nothing of a tar is interpreted here.
Never more than a few pieces are in memory, and nothing plain is written outside the requested folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO, FileIO
from pathlib import Path
from typing import IO, Protocol, cast

import zstandard

from holdfast.core.disk import disk_fault
from holdfast.core.errors import SnapshotDamaged
from holdfast.snapshot.bundle import canonical, tar_header
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.contents import Contents, read_contents
from holdfast.snapshot.bundle.encryption import DecryptingReader, opening, read_identities
from holdfast.snapshot.bundle.extract import FolderExtractor, MemberFile
from holdfast.snapshot.bundle.limits import check_size, most_size
from holdfast.snapshot.bundle.member_stream import member_writer
from holdfast.snapshot.bundle.members import CONTENTS, MOST_MEMBERS, folders_of, is_member, member_name
from holdfast.snapshot.bundle.types import Artifact, Manifest
from holdfast.snapshot.bundle.zstd_frame import MOST_WINDOW, ByteSource, SingleFrame
from holdfast.snapshot.chunks.reader import ChunkedTar, as_stored, read_chunk_index

__all__ = ["read_identities", "unpack", "walk"]

_PIECE = 1024 * 1024


class MemberSinks(Protocol):
    """What is done with the members."""

    def open(self, name: str) -> MemberFile | None:
        """Where the bytes of a member go; None if they are not wanted."""
        ...


class DiscardMembers:
    """Members are checked and not kept."""

    def open(self, name: str) -> None:
        return None


def unpack(
    bundle: Path,
    manifest: Manifest,
    into: Path,
    identities: Sequence[str] = (),
    wanted: Callable[[str], bool] = lambda path: True,
    hasty: Callable[[str], bool] = lambda path: False,
) -> tuple[Artifact, ...]:
    """Write the wanted members below a folder, durably but for hasty ones, and return what the bundle holds.

    Failing leaves nothing.

    Raises:
        SnapshotDamaged: the bytes are not those of the manifest, or not a bundle.
        IdentityNeeded: it is encrypted, and no identity given opens it.
        StorageFull, StorageFailed: the members could not be written.
    """
    try:
        with FolderExtractor(into, wanted, manifest.artifacts, hasty) as extractor:
            contents = walk(bundle, manifest, extractor, identities)
            extractor.settle(contents.artifacts)
        return contents.artifacts
    except OSError as error:
        raise disk_fault(error, f"unpack {bundle.name}") from error


def walk(
    bundle: Path, manifest: Manifest, sinks: MemberSinks | None = None, identities: Sequence[str] = ()
) -> Contents:
    """Read a bundle from end to end, check all of it, and return what it holds.

    Raises:
        SnapshotDamaged, IdentityNeeded, StorageFailed: as `unpack` does.
    """
    try:
        with opened(bundle, manifest, identities) as plain:
            contents = _members(plain, manifest, sinks or DiscardMembers())
        return contents
    except (Malformed, zstandard.ZstdError) as error:
        reason = str(error) if isinstance(error, Malformed) else "the compressed data is damaged"
        raise SnapshotDamaged(f"snapshot: the bundle is damaged: {reason}") from error


@contextlib.contextmanager
def opened(bundle: Path, manifest: Manifest, identities: Sequence[str] = ()) -> Iterator[DecompressedTar]:
    """The tar of a bundle. It is the sealed one once the block ends without a fault.

    Raises:
        SnapshotDamaged, IdentityNeeded, StorageFailed: as `unpack` does.
        Malformed, zstandard.ZstdError: it is damaged.
    """
    with contextlib.ExitStack() as stack:
        if manifest.chunked:
            yield stack.enter_context(_gathered(bundle, manifest, identities))
            return
        raw = stack.enter_context(_CountedFile(bundle, manifest))
        packed: ByteSource = raw
        if manifest.encrypted:
            packed = stack.enter_context(DecryptingReader(raw, identities))
        decompressor = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
        reader = decompressor.stream_reader(cast(IO[bytes], SingleFrame(packed)), read_size=_PIECE)
        yield DecompressedTar(reader, manifest.bundle_size)
        raw.check()


@contextlib.contextmanager
def _gathered(bundle: Path, manifest: Manifest, identities: Sequence[str]) -> Iterator[DecompressedTar]:
    unseal = opening(identities) if manifest.encrypted else as_stored
    with ChunkedTar(bundle, read_chunk_index(bundle, manifest), unseal) as gathered:
        yield DecompressedTar(gathered, manifest.bundle_size + sum(one.size for one in gathered.packs))


class _CountedFile:
    """The bundle's bytes as they are on disk, counted as they are read.

    They were hashed before, at verification. They are hashed again only if the manifest does not name the hashes of
    members: otherwise what they unpack to is compared with those.
    """

    def __init__(self, path: Path, manifest: Manifest):
        self._path = path
        self._manifest = manifest
        self._digest = hashlib.sha256() if manifest.artifacts is None else None
        self._rest = manifest.bundle_size

    def __enter__(self) -> _CountedFile:
        self._file = open_regular(self._path)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._file.read(_PIECE if size < 0 else size)
        except OSError as error:
            raise disk_fault(error, f"read {self._path.name}") from error
        if self._digest:
            self._digest.update(data)
        self._rest -= len(data)
        if self._rest < 0 or (self._rest and not data):
            raise SnapshotDamaged("snapshot: the size of the bundle differs from the manifest")
        return data

    def check(self) -> None:
        """Refuse what is not the bundle of the manifest, now that all of it was read."""
        while self.read(_PIECE):
            pass
        if self._digest and self._digest.hexdigest() != self._manifest.bundle_sha256:
            raise SnapshotDamaged("snapshot: the SHA-256 of the bundle differs from the manifest")


class TarSource(Protocol):
    """Where the tar comes from."""

    def read(self, size: int, /) -> bytes | memoryview:
        """Some bytes, that last until the next are read; none at the end only."""
        ...


class DecompressedTar:
    """The tar in pieces, never more than what is stored of it may become."""

    def __init__(self, reader: TarSource, stored: int):
        self._reader = reader
        self._piece = memoryview(b"")
        self._most = most_size(stored)
        self.stored = stored

    def some(self, size: int) -> memoryview:
        """At least one byte and at most that many; none at the end only."""
        if not self._piece:
            self._piece = memoryview(self._reader.read(_PIECE))
            self._most -= len(self._piece)
            if self._most < 0:
                raise Malformed("the unpacked size exceeds the limit")
        taken, self._piece = self._piece[:size], self._piece[size:]
        return taken

    def expect(self, size: int) -> None:
        """Refuse a member before it is read whose size alone is more than the rest may be."""
        if size > self._most + len(self._piece):
            raise Malformed("the unpacked size exceeds the limit")

    def exactly(self, size: int) -> bytes:
        first = self.some(size)
        if len(first) == size:
            return bytes(first)
        whole = BytesIO()  # its buffer is returned as it is: joined pieces would be in memory twice
        whole.write(first)
        while rest := size - whole.tell():
            more = self.some(rest)
            if not more:
                raise Malformed("the tar archive is truncated")
            whole.write(more)
        return whole.getvalue()

    def end(self) -> None:
        """Refuse anything but the two empty blocks of a tar's end, and nothing after them."""
        if self.exactly(len(tar_header.END)) != tar_header.END or self.some(1):
            raise Malformed("the tar archive has trailing data")


def _members(plain: DecompressedTar, manifest: Manifest, sinks: MemberSinks) -> Contents:
    if manifest.artifacts is None:
        contents = _hidden_members(plain, sinks)
        if (len(contents.files), len(contents.left)) != (manifest.redaction.hidden, manifest.hidden_left):
            raise Malformed("its lists differ from the counts in the manifest")
    else:
        contents = Contents(manifest.artifacts, manifest.redaction.files, manifest.left)
        check_size(sum(one.size for one in contents.artifacts), plain.stored, SnapshotDamaged)
        for artifact in contents.artifacts:
            name = member_name(artifact.path)
            if plain.exactly(tar_header.BLOCK) != tar_header.header(name, artifact.size):
                raise Malformed("its members differ from the manifest")
            if _member(plain, artifact.size, sinks.open(name)) != artifact.sha256:
                raise Malformed("the SHA-256 of a member differs from the manifest")
    plain.end()
    return contents


def _hidden_members(plain: DecompressedTar, sinks: MemberSinks) -> Contents:
    """Read members whose list comes last: what was seen must match it."""
    seen = _SeenMembers()
    while True:
        name, size = tar_header.read_header(plain.exactly(tar_header.BLOCK))
        if name == CONTENTS:
            break
        seen.take(name)
        plain.expect(size)
        seen.end(name, size, _member(plain, size, sinks.open(name)))
    if size > canonical.MOST_BYTES:
        raise Malformed("the list of members is too long")
    contents = read_contents(plain.exactly(size))
    _padding(plain, size)
    listed = _SeenMembers()
    for one in contents.artifacts:
        listed.end(member_name(one.path), one.size, one.sha256)
    if listed.digest() != seen.digest():
        raise Malformed("its members differ from its list")
    return contents


class _SeenMembers:
    """Members seen so far, in their order, in few bytes each: there may be 200,000 before their list comes.

    Names are remembered by a hash of this process's own. Should two ever share one, a bundle is refused, nothing else.
    """

    def __init__(self) -> None:
        self._names: set[int] = set()
        self._digest = hashlib.sha256()

    def take(self, name: str) -> None:
        """Refuse a name that no member has, or that would overwrite an earlier one."""
        if not is_member(name) or len(self._names) == MOST_MEMBERS:
            raise Malformed("a member has an invalid name, or there are too many members")
        if hash(name) in self._names or any(hash(folder) in self._names for folder in folders_of(name)):
            raise Malformed("a member is duplicated or inside another member")
        self._names.add(hash(name))

    def end(self, name: str, size: int, sha256: str) -> None:
        self._digest.update(f"{name}\0{size}\0{sha256}\n".encode())  # no name has a NUL

    def digest(self) -> bytes:
        return self._digest.digest()


def _member(plain: DecompressedTar, size: int, sink: MemberFile | None) -> str:
    """Read one member to its sink and return its SHA-256."""
    with member_writer(sink, size) as way:
        rest = size
        while rest:
            data = plain.some(rest)
            if not data:
                raise Malformed("the tar archive is truncated")
            way.write(data)
            rest -= len(data)
        _padding(plain, size)
        return way.finish()


def _padding(plain: DecompressedTar, size: int) -> None:
    if any(plain.exactly(tar_header.padding(size))):
        raise Malformed("the padding of the tar archive is not empty")


def open_regular(path: Path) -> FileIO:
    """A file of a bundle for reading; never through a link, never a device or a pipe.

    Raises:
        SnapshotDamaged: it is gone, or something else than a file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise SnapshotDamaged(f"snapshot: {path.name} is missing") from error
    except OSError as error:
        raise SnapshotDamaged(f"snapshot: {path.name} cannot be opened: {error.strerror}") from error
    file = FileIO(handle)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise SnapshotDamaged(f"snapshot: {path.name} is not a regular file")
    return file
