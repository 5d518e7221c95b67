"""The tar stream inside a nexo bundle: plain files with GNU headers, read without trusting any of it.

Whatever else tar can hold (links, devices, sparse files, extended headers, owners, rights) is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holdfast.core.errors import SnapshotDamaged

Read = Callable[[int], bytes]

BLOCK = 512
MEMBERS = 200_000
_LONG_NAME = 4_096
_PIECE = 1 << 20
_MAGIC = (b"ustar  \0", b"ustar\x0000")
_ZERO = bytes(BLOCK)


@dataclass(frozen=True, slots=True)
class TarMember:
    """A file in the stream; its bytes are read before the next member is requested."""

    name: str
    size: int
    pieces: Iterator[bytes]


def members(read: Read) -> Iterator[TarMember]:
    """The files of the stream in their order.

    Raises:
        SnapshotDamaged: it is cut off, goes on after its end, or holds what a bundle does not.
    """
    count = 0
    while (header := _exactly(read, BLOCK)) != _ZERO:
        count += 1
        if count > MEMBERS:
            raise SnapshotDamaged("nexo bundle: it has too many members")
        name = None
        if header[156:157] == b"L":
            name = _long_name(header, read)
            header = _exactly(read, BLOCK)
        yield from _member(header, name, read)
    if _exactly(read, BLOCK) != _ZERO or read(1):
        raise SnapshotDamaged("nexo bundle: it has trailing data")


def _member(header: bytes, name: str | None, read: Read) -> Iterator[TarMember]:
    size = _checked(header)
    if header[156:157] not in (b"0", b"\0") or header[157:257].strip(b"\0") or header[345:500].strip(b"\0"):
        raise SnapshotDamaged("nexo bundle: a member is not a plain file")
    if _number(header[100:108]) != 0o600 or _number(header[136:148]) != 0:
        raise SnapshotDamaged("nexo bundle: a member has unexpected permissions or times")
    rest = [size]
    yield TarMember(_safe(name or _text(header[:100])), size, _pieces(read, rest))
    if rest[0]:
        raise AssertionError("a member was not read to its end")
    _padding(read, size)


def _pieces(read: Read, rest: list[int]) -> Iterator[bytes]:
    while rest[0]:
        piece = _exactly(read, min(_PIECE, rest[0]))
        rest[0] -= len(piece)
        yield piece


def _checked(header: bytes) -> int:
    """The size in a header that is whole."""
    told = _number(header[148:156])
    if told != sum(header[:148]) + sum(header[156:]) + 8 * 32 or header[257:265] not in _MAGIC:
        raise SnapshotDamaged("nexo bundle: a member's header is damaged")
    return _number(header[124:136])


def _long_name(header: bytes, read: Read) -> str:
    size = _checked(header)
    if header[:100].rstrip(b"\0") != b"././@LongLink" or not 0 < size <= _LONG_NAME:
        raise SnapshotDamaged("nexo bundle: a member's name cannot be read")
    data = _exactly(read, size)
    _padding(read, size)
    return _text(data)


def _padding(read: Read, size: int) -> None:
    if _exactly(read, -size % BLOCK).strip(b"\0"):
        raise SnapshotDamaged("nexo bundle: there is data between its members")


def _text(field: bytes) -> str:
    data, _, rest = field.partition(b"\0")
    try:
        name = data.decode()
    except UnicodeDecodeError as error:
        raise SnapshotDamaged("nexo bundle: a member's name is not UTF-8") from error
    if rest.strip(b"\0"):
        raise SnapshotDamaged("nexo bundle: a member's name has trailing data")
    return name


def _number(field: bytes) -> int:
    """Octal digits; an empty field is 0, as writers leave owners."""
    digits = field.strip(b"\0 ")
    if len(digits) > 11 or any(char not in b"01234567" for char in digits):
        raise SnapshotDamaged("nexo bundle: a member's header is damaged")
    return int(digits or b"0", 8)


def _safe(name: str) -> str:
    """The name, if it leads nowhere but down: memory_files//tmp/evil once led out of every folder."""
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in name or len(name) > 4_000:
        raise SnapshotDamaged("nexo bundle: a member's name points outside the bundle")
    if any(unicodedata.category(char) == "Cc" for char in name):
        raise SnapshotDamaged("nexo bundle: a member's name has control characters")
    return name


def _exactly(read: Read, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = read(size - len(data))
        if not piece:
            raise SnapshotDamaged("nexo bundle: it is truncated")
        data += piece
    return bytes(data)
