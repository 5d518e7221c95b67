"""The rows of a portable file, for engines that keep theirs elsewhere: written into a new file, read from one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.store.quantization import code_of
from holdfast.store.sqlite.database import migrate, open_reader
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import counter, make_private, set_counter, tally_again
from holdfast.store.sqlite.integrity import sketch_rows
from holdfast.store.sqlite.vectors.codes import add_codes
from holdfast.store.sqlite.vectors.nearest import make_space, unpack_vectors, vector_checksum


class FileVector(NamedTuple):
    """The vector of one record, a row for each part of its text."""

    seq: int
    model: str
    hash: bytes
    numbers: NDArray[np.float16]


class FileWriter:
    """A new portable file of one tenant. It is whole once `finish` was called; without it throw it away."""

    def __init__(self, path: Path, tenant: str):
        self._tenant = tenant
        self._db = make_private(path)
        migrate(self._db)
        with as_faults():
            self._db.execute("BEGIN")

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(columns))
        with as_faults():
            self._db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def insert_vectors(self, vectors: Sequence[FileVector]) -> None:
        """Vectors of records in ascending order, those of one model."""
        if not vectors:
            return
        with as_faults():
            dims = vectors[0].numbers.shape[1]
            space = make_space(self._db, self._tenant, vectors[0].model, dims)
            for one in vectors:
                data = one.numbers.astype("<f2").tobytes()
                row = (one.seq, space, one.hash, data, vector_checksum(one.seq, space, dims, one.hash, data))
                self._db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?, ?)", row)
            seqs = np.repeat(np.array([one.seq for one in vectors], np.int64), [len(one.numbers) for one in vectors])
            add_codes(self._db, space, seqs, code_of(np.concatenate([one.numbers for one in vectors])))

    def finish(self, last_seq: int) -> None:
        """Write what is derived from the rows, and close the file."""
        with as_faults():
            again = "SELECT seq, doc FROM word_rows WHERE doc != seq ORDER BY seq"
            self._db.execute(f"INSERT INTO word_again {again}")
            self._db.executemany("INSERT INTO sketches VALUES (?, ?, ?)", sketch_rows(self._db))
            set_counter(self._db, last_seq)
            tally_again(self._db)
            self._db.execute("COMMIT")
        self.close()

    def close(self) -> None:
        self._db.close()


class FileReader:
    """A portable file of this version's schema that no process writes any more."""

    def __init__(self, path: Path):
        self._db = open_reader(path)
        with as_faults():
            self._db.execute("PRAGMA mmap_size = 0").fetchall()  # every page is read once: mapped, they would be held

    def last_seq(self) -> int:
        with as_faults():
            return counter(self._db)

    def rows(self, table: str, columns: Sequence[str], order: str = "") -> Iterator[tuple[Any, ...]]:
        with as_faults():
            sorted_by = f" ORDER BY {order}" if order else ""
            yield from self._db.execute(f"SELECT {', '.join(columns)} FROM {table}{sorted_by}")

    def sketches(self) -> Iterator[tuple[int, list[int]]]:
        """Each record's hashes."""
        for seq, packed in self.rows("sketches", ("seq", "hashes")):
            yield seq, np.frombuffer(packed, "<u4").tolist()

    def vectors(self) -> Iterator[FileVector]:
        sql = (
            "SELECT v.seq, s.model, s.dims, v.hash, v.vector FROM vectors AS v JOIN vector_spaces AS s "
            "ON s.number = v.space ORDER BY v.seq"
        )
        with as_faults():
            rows: Any = self._db.execute(sql)
            for seq, model, dims, hash, vector in rows:
                yield FileVector(seq, model, hash, unpack_vectors([(seq, vector)], dims).rows)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
