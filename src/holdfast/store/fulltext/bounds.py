"""Conditions over records as bounds in the word index, and the neighbours of records in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.store.fulltext.parts import ScopeBounds
from holdfast.store.port import Condition, Table, scope

SHORT_LIST = 500  # up to here a loop is faster than numpy's set operations


def bounds_of(table: Table[Any], conditions: Sequence[Condition]) -> tuple[ScopeBounds, list[Condition]]:
    """The conditions that the index of words can answer, and the rest."""
    scopes: list[tuple[str, ...]] = [(scope(table.name),)]
    rest: list[Condition] = []
    since: int | None = None
    until: int | None = None
    for one in conditions:
        if one.column in table.scoped and one.op in ("=", "has") and one.value is not None:
            scopes.append((scope(table.name, one.column, one.value),))
        elif one.column in table.scoped and one.op in ("in", "any"):
            scopes.append(tuple(scope(table.name, one.column, value) for value in one.value))
        elif one.column == table.timed and one.op in (">", ">="):
            since = max(one.value + (one.op == ">"), since if since is not None else one.value)
        elif one.column == table.timed and one.op in ("<", "<="):
            until = min(one.value - (one.op == "<"), until if until is not None else one.value)
        else:
            rest.append(one)
    return ScopeBounds(tuple(scopes), since, until, any(map(is_of_few, conditions))), rest


def is_of_few(one: Condition) -> bool:
    """Whether a condition admits a caller by one of several keys; one key alone is everybody's."""
    return one.op == "any" and len(one.value) > 1


def neighbours(listed: NDArray[np.int64], seqs: Sequence[int], reach: int) -> list[int]:
    """The members of a list that stand at most `reach` places from one of the seqs, in the list's order."""
    if len(listed) > SHORT_LIST:
        places = np.flatnonzero(np.isin(listed, np.array(seqs, np.int64))).tolist()
    else:
        wanted = set(seqs)
        places = [place for place, seq in enumerate(listed.tolist()) if seq in wanted]
    near = {place + step for place in places for step in range(-reach, reach + 1)}
    return [int(listed[place]) for place in sorted(near) if 0 <= place < len(listed)]
