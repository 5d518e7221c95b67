"""Codes of the vectors of large spaces, in the memory of this server; store/quantization.py says what a code is.

They are read when a space is searched first, and each search adds what was stored since then, at whichever server: the
vectors of a space are numbered in the order of their commits. A code of a vector that is gone stays and finds no row.
What is found is scored by the vectors in the database, so a code decides only what is looked at.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core.errors import DataDamaged
from holdfast.store.postgres.pool import Space
from holdfast.store.quantization import CodeTable, code_of

# Of fewer vectors an exact scan in the database takes about as long as a look-up by codes, of 100,000 eight times as
# long: docs/decisions/store.md.
LEAST = 2_000
ASKED_AGAIN = 16  # searches of a smaller space before it is looked again whether it has grown
MOST = 1_000_000  # codes in memory, of all spaces: 260 MB; only a single space may have more
MOST_SPACES = 10_000  # that are remembered, most of them as small
AT_ONCE = 5_000  # vectors
# So many codes may be added, and this share of them all, before they are read anew: some replace older ones.
ADDED, ADDED_SHARE = 5_000, 0.5
HEAD = 4  # bytes of a halfvec before its numbers, as it is sent

_OF_MODEL = "FROM vectors WHERE space = %s AND model = %s AND dims = %s"
_ENOUGH = f"SELECT 1 {_OF_MODEL} OFFSET %s LIMIT 1"
_LAST = "SELECT coalesce(max(place), 0) FROM vectors WHERE space = %s"
_ALL = f"SELECT seq, part, halfvec_send(numbers) {_OF_MODEL} AND (seq, part) > (%s, %s) ORDER BY seq, part LIMIT %s"
_NEW = f"SELECT seq, place, halfvec_send(numbers) {_OF_MODEL} AND place > %s ORDER BY place LIMIT %s"

Rows = Callable[[str, Sequence[Any], Space], list[tuple[Any, ...]]]
_Key = tuple[int, str, int]  # space, model, how many numbers


def numbers_in(sent: Sequence[bytes], dims: int) -> NDArray[np.float16]:
    """Vectors of so many numbers as the database sends them, a row for each.

    Raises:
        DataDamaged: one has another size.
    """
    size = HEAD + 2 * dims
    if any(len(one) != size for one in sent):
        raise DataDamaged("store: a vector is damaged", hint="Mend it with holdfast verify --repair-index.")
    found = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(-1, size)[:, HEAD:]
    return np.ascontiguousarray(found).view(">f2").astype(np.float16)


class _SpaceCodes:
    """The codes of one space."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held by the thread that reads; while it reads all, others go without
        self.table: CodeTable | None = None
        self.read = 0  # of them, when all were read
        self.upto = 0  # the place of the last vector that was seen
        self.pause = 0  # searches before it is looked again how large the space is

    def follow(self, rows: Rows, key: _Key) -> None:
        """Add what was stored since."""
        assert self.table is not None
        while True:
            found = rows(_NEW, (*key, self.upto, AT_ONCE), key[0])
            if found:
                _append(self.table, found, key[2])
                self.upto = found[-1][1]
            if len(found) < AT_ONCE:
                break
        if len(self.table) - self.read > ADDED + ADDED_SHARE * self.read:
            self.table = None  # the next search reads them all

    def load(self, rows: Rows, key: _Key) -> None:
        """Read all, unless they are few."""
        if self.pause:
            self.pause -= 1
            return
        if not rows(_ENOUGH, (*key, LEAST - 1), key[0]):
            self.pause = ASKED_AGAIN
            return
        self.upto = int(rows(_LAST, key[:1], key[0])[0][0])  # first: what is stored meanwhile has a later place
        table, last = CodeTable(key[2]), (-(2**63), 0)
        while found := rows(_ALL, (*key, *last, AT_ONCE), key[0]):
            _append(table, found, key[2])
            last = found[-1][:2]
        self.table, self.read = table, len(table)


def _append(table: CodeTable, rows: Sequence[tuple[Any, ...]], dims: int) -> None:
    seqs = np.array([row[0] for row in rows], dtype=np.int64)
    table.append(seqs, code_of(numbers_in([row[2] for row in rows], dims)))


class CodeCache:
    """The codes of the spaces that were searched last; used by all threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._spaces: OrderedDict[_Key, _SpaceCodes] = OrderedDict()

    def of(self, rows: Rows, space: int, model: str, dims: int) -> CodeTable | None:
        """The codes of all vectors of the space that are committed now; None if the space is small, or while another
        thread reads them first. `rows` runs a statement outside of any transaction."""
        key = (space, model, dims)
        with self._mutex:
            codes = self._spaces.setdefault(key, _SpaceCodes())
            self._spaces.move_to_end(key)
        if not codes.lock.acquire(blocking=codes.table is not None):
            return None
        try:
            if codes.table is None:
                codes.load(rows, key)
            if codes.table is not None:
                table = codes.table
                codes.follow(rows, key)
                return table
        finally:
            codes.lock.release()
            self._make_room(key)
        return None

    def forget(self, space: int, model: str, dims: int) -> None:
        """Read the codes anew at the next search: many are of vectors that are gone."""
        with self._mutex:
            self._spaces.pop((space, model, dims), None)

    def _make_room(self, kept: _Key) -> None:
        """Drop the codes of spaces that were not searched for longest."""
        with self._mutex:
            sizes = {key: len(one.table) if one.table else 0 for key, one in self._spaces.items()}
            over = sum(sizes.values()) - MOST
            for key, size in sizes.items():
                if over <= 0 and len(self._spaces) <= MOST_SPACES:
                    break
                if key != kept:
                    del self._spaces[key]
                    over -= size
