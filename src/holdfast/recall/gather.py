"""Candidates for a question: the best by words, the best by meaning, and who stands beside them in their session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from holdfast.model import Memory
from holdfast.ports import Vectors
from holdfast.recall.rank import Candidate, Corpus
from holdfast.store.port import Condition, Reader, Table, WordHits
from holdfast.store.tables import MEMORIES

DEPTH = 120  # from each of the two lists
NEIGHBOURED = 40  # of each list, whose neighbours are looked at as well
REACH = 3
NARROW = 100_000  # up to so many rows the vectors of a filter's own are looked at, above it the filter comes after
OVERFETCH = 4
MOST_FETCHED = 2_000


@dataclass(frozen=True, slots=True)
class Meaning:
    """The question's vector and the model that made it."""

    model: str
    vector: Vectors


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one table, and what they were taken from."""

    table: Table[Any]
    candidates: dict[int, Candidate]
    corpus: Corpus


def gather(
    reader: Reader,
    table: Table[Any],
    tenant: str,
    query: Sequence[str],
    meaning: Meaning | None,
    conditions: Sequence[Condition],
    most: int,
) -> Pool:
    """What may answer, of one table, within the conditions; at least `most` if there are as many."""
    depth = max(DEPTH, most)
    words = reader.words(table, tenant, query, conditions, depth)
    by_words = [hit.seq for hit in words.hits]
    by_meaning = _nearest(reader, table, tenant, meaning, conditions, depth) if meaning else []
    rows = _rows(reader, table, tenant, {*by_words, *by_meaning}, conditions)
    rows |= _neighbours(reader, table, tenant, rows, [*by_words[:NEIGHBOURED], *by_meaning[:NEIGHBOURED]], conditions)
    candidates = _counted(reader, tenant, rows, words, meaning)
    return Pool(table, candidates, Corpus(words.documents, words.average_length, words.frequency))


def _nearest(
    reader: Reader,
    table: Table[Any],
    tenant: str,
    meaning: Meaning,
    conditions: Sequence[Condition],
    limit: int,
) -> list[int]:
    """The nearest in meaning that meet the conditions."""
    allowed = reader.within(table, tenant, conditions, NARROW)
    if allowed is not None:
        return [hit.seq for hit in reader.nearest(tenant, meaning.model, meaning.vector, limit, allowed)]
    fetched = limit * OVERFETCH // 2
    while True:
        found = [hit.seq for hit in reader.nearest(tenant, meaning.model, meaning.vector, fetched)]
        passed = {row[0] for row in reader.values(table, tenant, ("seq",), found, *conditions)}
        kept = [seq for seq in found if seq in passed]
        if len(kept) >= limit or len(found) < fetched or fetched >= MOST_FETCHED:
            return kept[:limit]
        fetched = min(fetched * OVERFETCH, MOST_FETCHED)


def _rows(
    reader: Reader, table: Table[Any], tenant: str, seqs: Iterable[int], conditions: Sequence[Condition]
) -> dict[int, Candidate]:
    read = _memory if table.record is Memory else _observation
    columns = MEMORY_COLUMNS if table.record is Memory else OBSERVATION_COLUMNS
    rows = reader.values(table, tenant, columns, list(seqs), *conditions)
    return {row[0]: read(row) for row in rows}


MEMORY_COLUMNS = ("seq", "session_ids", "created_at", "importance", "content")
OBSERVATION_COLUMNS = ("seq", "session_id", "at", "importance", "title", "narrative")


def _memory(row: Sequence[Any]) -> Candidate:
    sessions = orjson.loads(row[1])
    return _candidate(row[0], sessions[0] if sessions else None, row[2], row[3], row[4])


def _observation(row: Sequence[Any]) -> Candidate:
    return _candidate(row[0], row[1], row[2], row[3], f"{row[4]}\n{row[5]}")


def _candidate(seq: int, session: str | None, at: int, importance: int, text: str) -> Candidate:
    return Candidate(
        seq=seq, session=session, at=at, length=0, weights={}, cosine=None, text=text, importance=importance, recalls=0
    )


def _neighbours(
    reader: Reader,
    table: Table[Any],
    tenant: str,
    rows: dict[int, Candidate],
    of: Sequence[int],
    conditions: Sequence[Condition],
) -> dict[int, Candidate]:
    """Who stands beside these in their sessions and is not among them."""
    around: dict[str, list[int]] = {}
    for seq in of:
        session = rows[seq].session if seq in rows else None
        if session:
            around.setdefault(session, []).append(seq)
    if not around:
        return {}
    column = "session_ids" if table is MEMORIES else "session_id"
    listed = reader.beside(table, tenant, column, around, REACH)
    fresh = {seq for some in listed.values() for seq in some} - set(rows)
    return _rows(reader, table, tenant, fresh, conditions) if fresh else {}


def _counted(
    reader: Reader, tenant: str, rows: dict[int, Candidate], words: WordHits, meaning: Meaning | None
) -> dict[int, Candidate]:
    """The rows with the question's words in them, and how near they are."""
    counted = reader.counted(tenant, list(rows), list(words.frequency))
    cosines = reader.cosines(tenant, meaning.model, meaning.vector, list(rows)) if meaning else {}
    return {
        seq: replace(row, length=counted[seq].length, weights=counted[seq].weights, cosine=cosines.get(seq))
        for seq, row in rows.items()
        if seq in counted
    }
