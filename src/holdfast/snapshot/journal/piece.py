"""A piece of the journal as bytes: what it says of itself, and the changed rows.

    "holdfast journal 1 " · SHA-256 of all that follows, in hexadecimal · newline
    header: one line of canonical JSON
    body: a zstd frame of JSON, inside an age file if there are recipients

The SHA-256 is the piece's name in the one after it. An object of a vault holds one piece or several, one after another.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import IO, Any, cast

import orjson
import zstandard

from holdfast.core.didkey import verify_signature
from holdfast.core.errors import Fault, SnapshotDamaged, SnapshotTooNew
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, Malformed
from holdfast.snapshot.bundle.encryption import opening
from holdfast.snapshot.bundle.zstd_frame import MOST_WINDOW, SingleFrame
from holdfast.store.journal.journal_port import Changes

FORMAT, VERSION = "holdfast-journal", 1
MAGIC = b"holdfast journal 1 "
MOST_HEADER = 64 * 1024
MOST_BODY = 256 * 1024 * 1024
LEVEL = 9  # of zstd: pieces are small

_DOMAIN = b"holdfast journal piece 1\n"
_START = len(MAGIC) + 64 + 1
_LINE = re.compile(r"[0-9]{13}-[0-9a-f]{12}")
_HOST = re.compile(r"[0-9a-f]{16}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DID = re.compile(r"did:key:z[1-9A-HJ-NP-Za-km-z]{40,60}")
_SIGNATURE = re.compile(r"[A-Za-z0-9_-]{86}")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_MOST_RECIPIENTS = 64


@dataclass(frozen=True, slots=True)
class PieceHeader:
    """What a piece says of itself, in plaintext."""

    tenant: str
    agent: str
    host: str  # the data folder that wrote it
    line: str
    number: int  # from 1 on, without a gap
    previous: str  # SHA-256 of the piece before; "" for the first
    after: str  # the line that this one follows; "" if there is none
    seeded: bool  # the line holds all of the memory, not only what changed since its first snapshot
    place: int  # up to where in the order of writes it reaches
    whole: bool  # with it the memory is as it was at one moment; otherwise the next pieces belong to it
    seq: int  # the counter of writes then
    at: int  # that moment
    since: int  # up to then all was in the pieces before
    schema: int
    rows: int
    size: int  # of the body
    sha256: str  # of the body
    recipients: tuple[str, ...] = ()
    signer: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece whose bytes are those that were written."""

    header: PieceHeader
    hash: str
    data: bytes  # all of it

    @property
    def body(self) -> bytes:
        return self.data[len(self.data) - self.header.size :]


def make_piece(
    header: PieceHeader,
    changes: Changes,
    columns: Callable[[str], Sequence[str]],
    seal: Callable[[bytes], bytes] | None,
    sign: Callable[[bytes], str] | None,
) -> Piece:
    """The piece of these changes. `header` has what does not follow from them, and the signer if there is one."""
    body = _packed(changes, columns)
    if seal is not None:
        body = seal(body)
    header = replace(header, rows=changes.count, size=len(body), sha256=sha256(body).hexdigest())
    if sign is not None:
        header = replace(header, signature=sign(signed_bytes(header)))
    rest = canonical.dumps(_shape(header), newline=True) + body
    digest = sha256(rest).hexdigest()
    return Piece(header, digest, MAGIC + digest.encode() + b"\n" + rest)


def signed_bytes(header: PieceHeader) -> bytes:
    """What the signature of a piece covers: its header, which has the hash of its body."""
    shape = _shape(header)
    del shape["signature"]
    return _DOMAIN + canonical.dumps(shape)


def is_signed_rightly(header: PieceHeader) -> bool:
    """Whether the signature is the signer's; an unsigned piece has none."""
    if header.signer is None or header.signature is None:
        return False
    return verify_signature(header.signer, signed_bytes(header), header.signature)


def read_pieces(data: bytes) -> Iterator[Piece]:
    """The pieces that lie one after the other in these bytes.

    Raises:
        SnapshotDamaged: they are not exactly pieces as they were written.
        SnapshotTooNew: a newer version of the format.
    """
    at = 0
    while at < len(data):
        piece = _piece(data, at)
        yield piece
        at += len(piece.data)


def read_header(start: bytes) -> PieceHeader:
    """What the first piece says of itself, whose bytes begin so; they are not checked against its hash. Faults as of
    `read_pieces`."""
    return _header(start, 0)[0]


def _piece(data: bytes, at: int) -> Piece:
    header, begin = _header(data, at)
    end = begin + header.size
    if end > len(data):
        raise SnapshotDamaged("journal: a piece breaks off")
    digest = data[at + len(MAGIC) : at + _START - 1].decode("ascii", "replace")
    if sha256(memoryview(data)[at + _START : end]).hexdigest() != digest:
        raise SnapshotDamaged("journal: a piece does not match its hash")
    if sha256(memoryview(data)[begin:end]).hexdigest() != header.sha256:
        raise SnapshotDamaged("journal: a piece does not match its header")
    return Piece(header, digest, data[at:end])


def _header(data: bytes, at: int) -> tuple[PieceHeader, int]:
    """The header of the piece that begins there, and where its body does."""
    if data[at : at + len(MAGIC)] != MAGIC or data[at + _START - 1 : at + _START] != b"\n":
        raise SnapshotDamaged("journal: what should be a piece is none")
    end = data.find(b"\n", at + _START, at + _START + MOST_HEADER) + 1
    if not end:
        raise SnapshotDamaged("journal: the header of a piece breaks off")
    try:
        fields = Fields(canonical.loads(data[at + _START : end], newline=True), "header")
        header = _read(fields)
        fields.end()
    except Malformed as error:
        raise SnapshotDamaged(f"journal: the header of a piece is damaged: {error}") from error
    return header, end


def _shape(header: PieceHeader) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "tenant": header.tenant,
        "agent": header.agent,
        "host": header.host,
        "line": header.line,
        "number": header.number,
        "previous": header.previous,
        "after": header.after,
        "seeded": header.seeded,
        "place": header.place,
        "whole": header.whole,
        "seq": header.seq,
        "at": header.at,
        "since": header.since,
        "schema": header.schema,
        "rows": header.rows,
        "body": {"size": header.size, "sha256": header.sha256},
        "recipients": list(header.recipients),
        "signer": header.signer,
        "signature": header.signature,
    }


def _read(fields: Fields) -> PieceHeader:
    if fields.text("format") != FORMAT:
        raise Malformed("it has an unknown format")
    if fields.number("version", 1) > VERSION:
        raise SnapshotTooNew("journal: it was written by a newer version of Holdfast")
    body = fields.inner("body")
    size, digest = body.number("size", 1, MOST_BODY), body.text("sha256", _SHA256)
    body.end()
    signer, signature = fields.text_or_none("signer", _DID), fields.text_or_none("signature", _SIGNATURE)
    if (signer is None) != (signature is None):
        raise Malformed("signer and signature must both be present or both be absent")
    number, previous = fields.number("number", 1), fields.text("previous")
    if (number == 1) != (previous == "") or (previous and not _SHA256.fullmatch(previous)):
        raise Malformed("previous has an invalid value")
    after = fields.text("after")
    if after and not _LINE.fullmatch(after):
        raise Malformed("after has an invalid value")
    return PieceHeader(
        tenant=fields.text("tenant"),
        agent=fields.text("agent"),
        host=fields.text("host", _HOST),
        line=fields.text("line", _LINE),
        number=number,
        previous=previous,
        after=after,
        seeded=fields.flag("seeded"),
        place=fields.number("place"),
        whole=fields.flag("whole"),
        seq=fields.number("seq"),
        at=fields.number("at"),
        since=fields.number("since"),
        schema=fields.number("schema", 1),
        rows=fields.number("rows", 1),
        size=size,
        sha256=digest,
        recipients=fields.texts("recipients", _MOST_RECIPIENTS, _FINGERPRINT),
        signer=signer,
        signature=signature,
    )


def _packed(changes: Changes, columns: Callable[[str], Sequence[str]]) -> bytes:
    shape = {
        "put": {
            table: {"columns": list(columns(table)), "rows": [[_plain(one) for one in row] for row in rows]}
            for table, rows in changes.put.items()
        },
        "gone": {table: list(numbers) for table, numbers in changes.gone.items()},
    }
    return zstandard.ZstdCompressor(LEVEL, write_checksum=True).compress(orjson.dumps(shape))


def _plain(value: Any) -> Any:
    """JSON has no endless numbers."""
    return {"float": repr(value)} if type(value) is float and value - value != 0 else value


def changes_of(piece: Piece, columns: Callable[[str], Sequence[str]], identities: Sequence[str]) -> Changes:
    """The rows in a piece; each is still to be compared with its checksum.

    Raises:
        IdentityNeeded: it is encrypted, and no identity given opens it.
        SnapshotDamaged: it is not what was packed.
        SnapshotTooNew: its rows have columns that this version does not know.
    """
    header, body = piece.header, piece.body
    if header.recipients:
        body = opening(identities)(body)
    try:
        shape: Any = orjson.loads(_unpacked(body))
        found = {table: (part["columns"], _rows(part["rows"])) for table, part in shape["put"].items()}
        gone = {table: [int(one) for one in numbers] for table, numbers in shape["gone"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SnapshotDamaged("journal: the body of a piece has another form") from None
    for table, (named, _) in found.items():
        if named != list(columns(table)):
            raise SnapshotTooNew("journal: its rows have other columns than those of this version")
    return Changes(header.place, header.whole, header.seq, {table: rows for table, (_, rows) in found.items()}, gone)


def _rows(rows: Any) -> list[list[Any]]:
    return [[_value(one) for one in row] for row in rows]


def _value(value: Any) -> Any:
    return float(value["float"]) if type(value) is dict else value


def _unpacked(body: bytes) -> bytes:
    try:
        source = cast(IO[bytes], SingleFrame(io.BytesIO(body)))
        with zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(source) as reader:
            data = reader.read(MOST_BODY + 1)
    except (zstandard.ZstdError, Malformed):
        raise SnapshotDamaged("journal: the body of a piece is damaged") from None
    if len(data) > MOST_BODY:
        raise SnapshotDamaged("journal: the body of a piece is too large")
    return bytes(data)


def problem(fault: Fault) -> str:
    """The reason without its prefix, for reports."""
    return fault.message.removeprefix("journal: ")
