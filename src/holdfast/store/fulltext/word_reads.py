"""What a reader of any engine asks the word index. How the index is reached, and what else a row must meet, is the
engine's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.store.fulltext.bounds import bounds_of, neighbours
from holdfast.store.fulltext.parts import ScopeBounds
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Condition, Table, WordHits, scope
from holdfast.store.tokenizer import stems

T = TypeVar("T")


class WordReads:
    """The part of `port.Reader` that the word index answers."""

    _word_index: WordIndex

    def _words(self, tenant: str, ask: Callable[[Any, Any], T]) -> T:
        """The answer of the index, asked with a database and what the index calls the tenant there."""
        raise NotImplementedError

    def _passing(self, table: Table[Any], tenant: str, conditions: Sequence[Condition], seqs: list[int]) -> set[int]:
        """Of these rows, those that meet conditions which the index does not know."""
        raise NotImplementedError

    def newest(self, table: Table[Any], tenant: str, limit: int, *conditions: Condition) -> NDArray[np.int64]:
        bounds, rest = bounds_of(table, conditions)
        if table.index is None or rest:
            raise KeyError(f"{table.name}: the index does not know {', '.join(one.column for one in rest)}")
        return self._words(tenant, lambda db, space: self._word_index.last(db, space, bounds, limit))

    def words(
        self, table: Table[Any], tenant: str, query: Sequence[str], conditions: Sequence[Condition], limit: int
    ) -> WordHits:
        terms = list(dict.fromkeys(token for word in query for token in stems(word)))
        bounds, rest = bounds_of(table, conditions)
        check = partial(self._passing, table, tenant, rest) if rest else None
        return self._words(tenant, lambda db, space: self._word_index.search(db, space, terms, bounds, limit, check))

    def beside(
        self,
        table: Table[Any],
        tenant: str,
        column: str,
        around: Mapping[str, Sequence[int]],
        reach: int,
        conditions: Sequence[Condition] = (),
    ) -> dict[str, list[int]]:
        scopes = {value: scope(table.name, column, value) for value in around}
        bounds, _ = bounds_of(table, conditions)
        inside = bounds if bounds.of_few else ScopeBounds()
        listed = self._words(
            tenant, lambda db, space: self._word_index.listed(db, space, list(scopes.values()), inside)
        )
        return {value: neighbours(listed[scopes[value]], seqs, reach) for value, seqs in around.items()}

    def within(
        self, table: Table[Any], tenant: str, conditions: Sequence[Condition], most: int
    ) -> NDArray[np.int64] | None:
        bounds, rest = bounds_of(table, conditions)
        found = self._words(tenant, lambda db, space: self._word_index.members(db, space, bounds, most))
        if found is None or not rest:
            return found
        return np.array(sorted(self._passing(table, tenant, rest, found.tolist())), np.int64)
