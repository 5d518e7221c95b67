"""The pages of a database file that SQLite may refuse to open, and the rows that stand on its leaf pages.

Nothing leads from page to page here but the chains of long rows: a damaged header, schema or inner page hides no row
that is itself whole. Whether a row is sound is not decided here. The layout is that of https://sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from holdfast.core.disk import disk_faults
from holdfast.store.sqlite.database import PAGE

Fields = list[Any]

_LEAF = 0x0D  # the first byte of a table's leaf page
_FILE_HEADER = 100  # before the first page's own header
_PAGE_HEADER = 8
_LOG_HEADER, _FRAME_HEADER = 32, 24
_MOST_PAYLOAD = 256 * 1024 * 1024
_LEAST_FIELDS = 5

_MOST_LOCAL = PAGE - 35
_LEAST_LOCAL = (PAGE - 12) * 32 // 255 - 23
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


class BadCell(Exception):
    """The bytes there are no row."""


class Pages:
    """Every page as the database and the committed part of its log have it."""

    def __init__(self, database: Path):
        self._database = database
        self._file: BinaryIO | None = None
        self._log: BinaryIO | None = None
        self._newer: dict[int, int] = {}  # where a page stands in the log

    def __enter__(self) -> Pages:
        with disk_faults(f"read {self._database.name}"):
            self._file = self._database.open("rb")
            log = self._database.with_name(f"{self._database.name}-wal")
            if log.is_file():
                self._log = log.open("rb")
                self._newer = _committed(self._log)
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._file, self._log):
            if one is not None:
                one.close()

    def __len__(self) -> int:
        if self._file is None:
            return 0
        return max(os.fstat(self._file.fileno()).st_size // PAGE, *self._newer, 0)

    def page(self, number: int) -> bytes:
        """Its bytes; fewer where the file ends."""
        source, at = (self._log, self._newer[number]) if number in self._newer else (self._file, (number - 1) * PAGE)
        if source is None or number < 1:
            return b""
        with disk_faults(f"read {self._database.name}"):
            source.seek(at)
            return source.read(PAGE)

    def rows(self) -> Iterator[tuple[int, Fields]]:
        """The number and the fields of every row on every leaf page that can be taken apart."""
        for number in range(1, len(self) + 1):
            page = self.page(number)
            head = _FILE_HEADER if number == 1 else 0
            if len(page) == PAGE and page[head] == _LEAF:
                yield from self._cells(page, head)

    def _cells(self, page: bytes, head: int) -> Iterator[tuple[int, Fields]]:
        count = int.from_bytes(page[head + 3 : head + 5], "big")
        for cell in range(count):
            at = head + _PAGE_HEADER + 2 * cell
            if at + 2 > PAGE:
                return
            try:
                row = self._row(page, int.from_bytes(page[at : at + 2], "big"))
            except (BadCell, IndexError, UnicodeDecodeError, struct.error):
                continue  # what its checksum would have refused as well
            if row is not None:
                yield row

    def _row(self, page: bytes, at: int) -> tuple[int, Fields] | None:
        size, at = _varint(page, at)
        number, at = _varint(page, at)
        if size > _MOST_PAYLOAD:
            raise BadCell
        local = _local_size(size)
        kinds, begin = _kinds(page[at : at + local])
        if len(kinds) < _LEAST_FIELDS:  # no record has so few: its long values need not be read
            return None
        payload = page[at : at + local]
        if local < size:
            payload += self._overflow(page[at + local : at + local + 4], size - local)
        return _signed(number), _values(payload, kinds, begin)

    def _overflow(self, pointer: bytes, missing: int) -> bytes:
        pieces: list[bytes] = []
        while missing > 0:
            page = self.page(int.from_bytes(pointer, "big"))
            if len(page) < PAGE:
                raise BadCell
            pieces.append(page[4 : 4 + missing])
            missing -= len(pieces[-1])
            pointer = page[:4]
        return b"".join(pieces)


def _committed(log: BinaryIO) -> dict[int, int]:
    """Where the log has pages newer than the database's: up to the last commit of the current round.

    Checksums of frames are not verified: a frame that is damaged brings rows whose own checksums refuse them.
    """
    header = log.read(_LOG_HEADER)
    if len(header) < _LOG_HEADER or int.from_bytes(header[8:12], "big") != PAGE:
        return {}
    salt, found, waiting = header[16:24], dict[int, int](), dict[int, int]()
    at = _LOG_HEADER
    while len(frame := log.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salt:
        waiting[int.from_bytes(frame[:4], "big")] = at + _FRAME_HEADER
        if int.from_bytes(frame[4:8], "big"):  # a commit
            found.update(waiting)
            waiting.clear()
        at += _FRAME_HEADER + PAGE
        log.seek(at)
    return found


def _local_size(size: int) -> int:
    """How much of a payload stands on the leaf page itself."""
    if size <= _MOST_LOCAL:
        return size
    kept = _LEAST_LOCAL + (size - _LEAST_LOCAL) % (PAGE - 4)
    return kept if kept <= _MOST_LOCAL else _LEAST_LOCAL


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _kinds(payload: bytes) -> tuple[list[int], int]:
    """The serial types of a record, and where its values begin."""
    end, at = _varint(payload, 0)
    if end > len(payload):
        raise BadCell
    kinds: list[int] = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    return kinds, end


def _values(payload: bytes, kinds: list[int], at: int) -> Fields:
    values: Fields = []
    for kind in kinds:
        size = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0)
        data = payload[at : at + size]
        if len(data) < size or kind in (10, 11):
            raise BadCell
        values.append(_value(kind, data))
        at += size
    return values


def _value(kind: int, data: bytes) -> Any:
    if kind in _INTEGERS:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        return struct.unpack(">d", data)[0]
    if kind >= 12:
        return data.decode() if kind % 2 else data
    return {0: None, 8: 0, 9: 1}[kind]
