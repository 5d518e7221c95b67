"""Headers of the tar inside a bundle: one for each name and size, so that reading is a comparison.

512 bytes: name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1, link 100, "ustar\\0" "00",
owner 32, group 32, device 8 + 8, prefix 155, 12 unused. Mode 0600, all else zero or empty. A size of 8 GiB or more
does not fit into eleven octal digits; it is written in binary with the first bit set, as GNU tar does.
"""

from __future__ import annotations

from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.members import split_name

BLOCK = 512
END = bytes(2 * BLOCK)
_OCTAL_END = 8**11


def header(name: str, size: int) -> bytes:
    """The header of a member. The name must fit; `members.member_name` gives one that does."""
    parts = split_name(name)
    if parts is None:
        raise Malformed("a name is too long for a tar header")
    prefix, last = parts
    fields = b"".join(
        (
            last.ljust(100, b"\0"),
            b"0000600\0" + b"0000000\0" * 2,
            _number(size),
            b"00000000000\0",
            b" " * 8,
            b"0" + bytes(100),
            b"ustar\x0000",
            bytes(64),
            b"0000000\0" * 2,
            prefix.ljust(155, b"\0"),
            bytes(12),
        )
    )
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def _number(size: int) -> bytes:
    return b"%011o\0" % size if size < _OCTAL_END else b"\x80" + size.to_bytes(11, "big")


def read_header(block: bytes) -> tuple[str, int]:
    """Name and size of the member whose header this is.

    Raises:
        Malformed: our writer makes no such header. Links, devices, extended headers and odd modes are refused.
    """
    prefix, last = (_text(block[slice_]) for slice_ in (slice(345, 500), slice(0, 100)))
    name = f"{prefix}/{last}" if prefix else last
    size = _size(block[124:136])
    if not name or len(block) != BLOCK or header(name, size) != block:
        raise Malformed("a tar header is invalid")
    return name, size


def _text(field: bytes) -> str:
    try:
        return field.rstrip(b"\0").decode()
    except UnicodeDecodeError as error:
        raise Malformed("a name in the tar archive is not UTF-8") from error


def _size(field: bytes) -> int:
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field[:11]
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise Malformed("a size in the tar archive is not a number")
    return int(digits, 8)


def padding(size: int) -> int:
    """Zero bytes after a member of that size."""
    return -size % BLOCK
