"""Candidates for a question: the best by words, the best by meaning, and their neighbours in the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from holdfast.core.ports import Vectors
from holdfast.recall.rank import Candidate, Corpus
from holdfast.store.port import Condition, Reader, Table, WordHits
from holdfast.store.queries.turns import PROMPT_HOOKS
from holdfast.store.tables import MEMORIES

DEPTH = 100  # from each of the two lists
REACH = 3
NARROW = 20_000  # up to so many matching rows, only their vectors are searched; above it the filter comes after


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The question's vector and the model that made it."""

    model: str
    vector: Vectors


LazyEmbedding = Callable[[], QueryEmbedding | None]
"""Embeds the question when it is first called; None without a model, or if that fails."""


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates of one table, and what they were taken from."""

    table: Table[Any]
    candidates: dict[int, Candidate]
    corpus: Corpus


@dataclass(frozen=True, slots=True)
class WordMatches:
    """The rows of one table that hold the question's words, within the conditions."""

    table: Table[Any]
    conditions: Sequence[Condition]
    words: WordHits
    rows: dict[int, RankingRow]

    @property
    def corpus(self) -> Corpus:
        return Corpus(self.words.documents, self.words.average_length, self.words.frequency)

    def read(self, reader: Reader, tenant: str, seqs: Sequence[int]) -> dict[int, RankingRow]:
        """These rows, of which some are read already."""
        fresh = [seq for seq in seqs if seq not in self.rows]
        read = _rows(reader, self.table, tenant, fresh, self.conditions) if fresh else {}
        return {seq: row for seq in seqs if (row := self.rows.get(seq) or read.get(seq)) is not None}

    def with_rows(self, reader: Reader, tenant: str, seqs: Sequence[int]) -> WordMatches:
        """The same with these rows among them."""
        return replace(self, rows={**self.rows, **self.read(reader, tenant, seqs)})


def match_words(
    reader: Reader,
    table: Table[Any],
    tenant: str,
    query: Sequence[str],
    conditions: Sequence[Condition],
    most: int,
    newest: bool = False,
) -> WordMatches:
    """The best of one table by words, within the conditions; at least `most` if there are as many. With `newest` the
    newest too, whatever their words.
    """
    words = reader.words(table, tenant, query, conditions, max(DEPTH, most))
    found = [hit.seq for hit in words.hits]
    if newest and (every := reader.within(table, tenant, conditions, words.inside)) is not None:
        found += every[-max(DEPTH, most) :].tolist()
    rows = _rows(reader, table, tenant, found, conditions) if found else {}
    return WordMatches(table, conditions, words, rows)


def collect_candidates(
    reader: Reader, tenant: str, looked: WordMatches, embedding: LazyEmbedding, most: int
) -> CandidatePool:
    """What may answer, of one table: the best by words and by meaning, and their neighbours.

    Where there is nothing to find, the question is not embedded.
    """
    table, conditions, words, rows = looked.table, looked.conditions, looked.words, dict(looked.rows)
    if not words.inside:
        return CandidatePool(table, {}, looked.corpus)
    meaning = embedding()
    near = _nearest(reader, table, tenant, meaning, conditions, max(DEPTH, most), words) if meaning else {}
    fresh = [seq for seq in near if seq not in rows]
    rows |= _rows(reader, table, tenant, fresh, conditions) if fresh else {}
    rows |= _neighbours(reader, table, tenant, rows, conditions)
    return CandidatePool(table, _counted(reader, tenant, rows, words, meaning, near), looked.corpus)


def _nearest(
    reader: Reader,
    table: Table[Any],
    tenant: str,
    meaning: QueryEmbedding,
    conditions: Sequence[Condition],
    limit: int,
    words: WordHits,
) -> dict[int, float]:
    """The nearest vectors that meet the conditions, best first, and how near they are.

    Where many records meet them, the nearest of all are tried first; if too few of those do, only those that meet
    them are compared, however many: a filter must not cost an answer.
    """
    if words.inside > NARROW:
        hits = reader.nearest(tenant, meaning.model, meaning.vector, limit, among=words.among)
        if len(hits) >= limit:
            return {hit.seq: hit.cosine for hit in hits}
    allowed = reader.within(table, tenant, conditions, words.inside)
    hits = reader.nearest(tenant, meaning.model, meaning.vector, limit, allowed)
    return {hit.seq: hit.cosine for hit in hits}


class RankingRow(NamedTuple):
    """What is read of a record to rank it."""

    seq: int
    session: str | None
    at: int
    importance: int
    text: str
    disclosure: str = ""
    did: bool = False
    by_user: bool = False


def _rows(
    reader: Reader, table: Table[Any], tenant: str, seqs: Iterable[int], conditions: Sequence[Condition]
) -> dict[int, RankingRow]:
    read, columns = (_memory, MEMORY_COLUMNS) if table is MEMORIES else (_observation, OBSERVATION_COLUMNS)
    rows = reader.values(table, tenant, columns, list(seqs), *conditions)
    return {row[0]: read(row) for row in rows}


MEMORY_COLUMNS = ("seq", "session_ids", "created_at", "importance", "content", "disclosure")
OBSERVATION_COLUMNS = ("seq", "session_id", "at", "importance", "title", "narrative", "type", "hook")
# What a tool did, as opposed to what was said about it.
DEEDS = frozenset("command_run file_edit file_write file_read search web_fetch error notification subagent".split())


def _memory(row: Sequence[Any]) -> RankingRow:
    sessions = () if row[1] == "[]" else orjson.loads(row[1])
    return RankingRow(row[0], sessions[0] if sessions else None, *row[2:])


def _observation(row: Sequence[Any]) -> RankingRow:
    text = f"{row[4]}\n{row[5]}"
    return RankingRow(row[0], row[1], row[2], row[3], text, did=row[6] in DEEDS, by_user=row[7] in PROMPT_HOOKS)


def _neighbours(
    reader: Reader,
    table: Table[Any],
    tenant: str,
    rows: dict[int, RankingRow],
    conditions: Sequence[Condition],
) -> dict[int, RankingRow]:
    """Neighbours of these rows in their sessions, without the rows themselves."""
    around: dict[str, list[int]] = {}
    for seq, row in rows.items():
        if row.session:
            around.setdefault(row.session, []).append(seq)
    if not around:
        return {}
    column = "session_ids" if table is MEMORIES else "session_id"
    listed = reader.beside(table, tenant, column, around, REACH, conditions)
    fresh = {seq for some in listed.values() for seq in some} - set(rows)
    return _rows(reader, table, tenant, fresh, conditions) if fresh else {}


def _cosines(
    reader: Reader, tenant: str, rows: Iterable[int], meaning: QueryEmbedding, near: dict[int, float]
) -> dict[int, float]:
    """How near each row is in meaning."""
    others = [seq for seq in rows if seq not in near]
    if not others:
        return near
    return {**near, **reader.vectors(tenant, meaning.model, len(meaning.vector), others).cosines(meaning.vector)}


def _counted(
    reader: Reader,
    tenant: str,
    rows: dict[int, RankingRow],
    words: WordHits,
    meaning: QueryEmbedding | None,
    near: dict[int, float],
) -> dict[int, Candidate]:
    """The rows with the question's words in them, how near they are, and how often they were recalled."""
    counted = words.among.counted(list(rows))
    cosines = _cosines(reader, tenant, rows, meaning, near) if meaning else {}
    recalls = reader.recalls(tenant, list(rows))
    return {
        seq: Candidate(
            seq,
            row.session,
            row.at,
            held.length,
            held.weights,
            cosines.get(seq),
            row.text,
            row.importance,
            recalls.get(seq, 0),
            row.disclosure,
            row.did,
            row.by_user,
        )
        for seq, row in rows.items()
        if (held := counted.get(seq)) is not None
    }
