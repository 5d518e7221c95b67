"""Recall: question ─search→ ranked lists ─fuse→ hits ─allow→ visible hits."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from holdfast.context import CallContext
from holdfast.core.errors import EmbedderUnavailable, UpstreamFailed
from holdfast.core.model import CleanText, Memory, Observation
from holdfast.core.ports import Embedder
from holdfast.projects import of_project
from holdfast.recall.candidates import CandidatePool, LazyEmbedding, QueryEmbedding, collect_candidates, match_words
from holdfast.recall.confidence import HitSigns, QuestionSigns, confidences, signs_of
from holdfast.recall.dedupe import diverse, group_repeats
from holdfast.recall.hits import Hit, Question
from holdfast.recall.links import CONTRADICTS, OF_TWO_ONE, current
from holdfast.recall.rank import DATE, Candidate, Corpus, RankedCandidate, RankingQuery, ScoreParts, rank
from holdfast.recall.repeats import (
    FIRST,
    among_first,
    as_turn_groups,
    joined,
    same_text,
    with_same_text,
    with_versions,
)
from holdfast.recall.replacements import newest_first
from holdfast.recall.rerank import reread
from holdfast.recall.signals import asks_for_days_alone
from holdfast.recall.time.dates import day_of, spans
from holdfast.recall.turn_hits import weighed
from holdfast.redact import redact_text
from holdfast.store import tokenizer
from holdfast.store.port import Condition, Reader, Table, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS

CLEAR_LIKENESS = 0.4
LEAST_LIKENESS = 0.05  # texts that have nothing in common mostly lie below it
NAMED_DAYS = 2  # of a question that are searched on their own
TURNS_MORE = 5
NO_PARTS = ScoreParts(*[0.0] * 10)
EMBEDDED_CHARS = 4_000  # of a question: a sentence model reads no more


def search(ctx: CallContext, question: Question) -> list[Hit]:
    """The best records for the question that the caller may see, best first."""
    reader = ctx.store.read()
    if question.session_id:
        question = replace(question, session_id=ctx.session_key(reader, question.session_id))
    embedding = _embedded(ctx, question.query)
    own, of_days, same = _pools(ctx, reader, question, embedding)
    if not own:
        return []
    pools = [*own, *of_days]
    signs = _signs(ctx, question, own)
    groups = _ranked(ctx, question, own, pools, {seq for seqs in same.values() for seq in seqs})
    hits = _hits(ctx, reader, [one for group in groups for one in group], pools, signs)
    seen = [hit for hit in hits if ctx.may_see(hit.record, question.agent)]
    told = joined(with_versions(ctx, reader, _current(ctx, reader, seen, question)), groups)
    if question.as_of is None:
        turns = weighed(ctx, reader, as_turn_groups(ctx, reader, told), embedding, _read(ctx, question.query))
        told = newest_first(ctx, reader, reread(ctx, reader, turns, question), question.query)
    found = with_same_text(told, _readable(ctx, reader, same, question))
    return _with_confidence(ctx, question, found, signs, embedding)[: question.limit]


def _readable(ctx: CallContext, reader: Reader, same: Mapping[str, list[int]], question: Question) -> list[str]:
    """The ids of the records whose text is the question, as far as they are shown, with those of earlier versions."""
    found: list[str] = []
    tables: tuple[Table[Any], ...] = (MEMORIES, OBSERVATIONS)
    for table in tables:
        if seqs := same.get(table.name):
            records = reader.find(table, ctx.tenant, Condition("seq", "in", seqs), order="-seq")
            hits = [Hit(one, 0.0, NO_PARTS, None) for one in records if ctx.may_see(one, question.agent)]
            shown = with_versions(ctx, reader, _current(ctx, reader, hits, question))
            found += [id for hit in shown for id in (hit.record.id, *hit.also)]
    return found


def _current(ctx: CallContext, reader: Reader, hits: list[Hit], question: Question) -> list[Hit]:
    """Without what another memory contradicts, and in chats supersedes; of the past, what held then.

    Outside chats what is superseded is marked and leads to what came in its place (`newest_first`).
    """
    memories = [hit.record for hit in hits if isinstance(hit.record, Memory)]
    past = question.as_of is not None
    kinds = OF_TWO_ONE if ctx.in_chat or past else CONTRADICTS
    told = current(ctx, reader, memories, question.agent, among=past, kinds=kinds)
    gone = {one.id for one in memories} - {one.id for one in told}
    return [hit for hit in hits if hit.record.id not in gone]


def _pools(
    ctx: CallContext, reader: Reader, question: Question, embedding: LazyEmbedding
) -> tuple[list[CandidatePool], list[CandidatePool], dict[str, list[int]]]:
    """Candidates of all time, those of the days that the question names, and by table those whose text it is."""
    query = tokenizer.query(question.query)
    if not query and embedding() is None:
        return [], [], {}
    now = ctx.clock.now_ms()
    own = _bounds(ctx, question)
    of_days = [one for asked in _on_its_days(question, now) for one in _bounds(ctx, asked)]
    looked = [match_words(reader, table, ctx.tenant, query, some, question.limit) for table, some in own]
    only_days = bool(of_days) and asks_for_days_alone(question.query, now)
    looked += [
        match_words(reader, table, ctx.tenant, query, some, question.limit, only_days) for table, some in of_days
    ]
    same = same_text(reader, ctx.tenant, looked[: len(own)], question.query)
    looked[: len(own)] = [
        one.with_rows(reader, ctx.tenant, same.get(one.table.name, [])[:FIRST]) for one in looked[: len(own)]
    ]
    pools = [collect_candidates(reader, ctx.tenant, one, embedding, question.limit) for one in looked]
    return pools[: len(own)], pools[len(own) :], same


def _bounds(ctx: CallContext, question: Question) -> list[tuple[Table[Any], tuple[Condition, ...]]]:
    bounds: list[tuple[Table[Any], tuple[Condition, ...]]] = []
    if "memory" in question.kinds:
        bounds.append((MEMORIES, memory_bounds(ctx, question)))
    if "observation" in question.kinds and not ctx.in_chat:
        bounds.append((OBSERVATIONS, observation_bounds(ctx, question)))
    return bounds


def _on_its_days(question: Question, now: int) -> list[Question]:
    """The same within the days that it names: what was said then is seldom among the best of all time by words or
    meaning, when there is much."""
    windows = [span.latest(day_of(now)).window for span in spans(question.query, now)[:NAMED_DAYS]]
    return [_within(question, first, end) for first, end in windows]


def _within(question: Question, first: int, end: int) -> Question:
    """The same from the first moment on and before the end, and still within its own bounds."""
    after = first - 1 if question.after is None else max(first - 1, question.after)
    before = end if question.before is None else min(end, question.before)
    return replace(question, after=after, before=before)


def _embedded(ctx: CallContext, text: str) -> LazyEmbedding:
    """The question as a vector, made once, when it is needed.

    Not beside the search for its words: by the clock that took 1.04 times as long (`bench/mechanisms.py`).
    """
    model = ctx.embedder
    if model is None or not text.strip():
        return lambda: None
    return cache(lambda: _meaning(model, redact_text(text[:EMBEDDED_CHARS]).value))


def _read(ctx: CallContext, text: str) -> float:
    """How much of the question the embedder can read; without one it does not matter."""
    return ctx.embedder.reads(text[:EMBEDDED_CHARS]) if ctx.embedder else 1.0


def _meaning(embedder: Embedder, text: CleanText) -> QueryEmbedding | None:
    """The question as a vector; None if the embedder cannot answer now: then words alone must do."""
    try:
        return QueryEmbedding(embedder.name, embedder.embed_query(text))
    except (EmbedderUnavailable, UpstreamFailed):
        return None


def _ranked(
    ctx: CallContext,
    question: Question,
    own: Sequence[CandidatePool],
    pools: Sequence[CandidatePool],
    same: Collection[int],
) -> list[list[RankedCandidate]]:
    """All pools in one order, those that repeat a better one behind it in its group."""
    candidates = {seq: one for pool in pools for seq, one in pool.candidates.items()}
    if not candidates:
        return []
    corpus = _corpus(own)
    model = ctx.embedder.name if ctx.embedder else ""
    read = _read(ctx, question.query)
    asked = RankingQuery(question.query, tuple(corpus.frequency), ctx.clock.now_ms(), read, model)
    # More than wanted: repetitions are of one group.
    most = len(candidates) if question.per_session or same else 4 * question.limit + 20
    best = rank(asked, list(candidates.values()), corpus, most)
    ranked = [one for one in best if _answers(one, candidates[one.seq], asked.read, question.strict)]
    if question.per_session:  # before deduplication, which compares each with each: only as many as are wanted
        ranked = diverse(ranked, {seq: one.session for seq, one in candidates.items()}, question.per_session)
    # Three times as many as wanted, and some more: prompts and messages of one turn are one hit, and turns are weighed.
    texts = {seq: one.text for seq, one in candidates.items()}
    return group_repeats(among_first(ranked, same), texts, 3 * question.limit + TURNS_MORE)


def _corpus(own: Sequence[CandidatePool]) -> Corpus:
    """That of most candidates: a table or a day with few records does not show which words are rare."""
    return max(own, key=lambda pool: len(pool.candidates)).corpus


def _signs(ctx: CallContext, question: Question, own: Sequence[CandidatePool]) -> QuestionSigns:
    corpus = _corpus(own)
    return signs_of(tuple(corpus.frequency), corpus, _read(ctx, question.query))


def _with_confidence(
    ctx: CallContext, question: Question, hits: Sequence[Hit], signs: QuestionSigns, embedding: LazyEmbedding
) -> list[Hit]:
    """The hits with how sure each is. All of them are needed, also those that are not shown."""
    meaning = embedding() if hits else None
    if asks_for_days_alone(question.query, ctx.clock.now_ms()):  # whatever was on the day answers
        seen = [HitSigns(on_day, on_day) for hit in hits for on_day in (float(hit.parts.date >= DATE),)]
    else:
        seen = [HitSigns(_likeness(hit), hit.covered) for hit in hits]
    sure = confidences(signs, seen, meaning.model if meaning else None)
    return [replace(hit, confidence=one) for hit, one in zip(hits, sure, strict=True)]


def _likeness(hit: Hit) -> float | None:
    return hit.cosine if hit.cosine is not None and math.isfinite(hit.cosine) else None


def _answers(one: RankedCandidate, candidate: Candidate, read: float, strict: bool) -> bool:
    """Whether it shares a word with the question, itself or beside it, or some meaning, or is of a day that it names.
    The nearest in meaning may be far, and texts that the model cannot read all look near."""
    likeness = read * (candidate.cosine or 0.0)
    if strict:
        return bool(candidate.weights) or likeness >= CLEAR_LIKENESS
    return one.parts.words > 0 or likeness >= LEAST_LIKENESS or one.parts.date >= DATE


def _hits(
    ctx: CallContext,
    reader: Reader,
    ranked: Sequence[RankedCandidate],
    pools: Sequence[CandidatePool],
    signs: QuestionSigns,
) -> list[Hit]:
    records: dict[int, Memory | Observation] = {}
    found: dict[int, Candidate] = {}
    for pool in pools:
        seqs = [one.seq for one in ranked if one.seq in pool.candidates]
        records |= {one.seq: one for one in reader.find(pool.table, ctx.tenant, Condition("seq", "in", seqs))}
        found |= {seq: pool.candidates[seq] for seq in seqs}
    return [
        Hit(records[one.seq], one.score, one.parts, found[one.seq].cosine, signs.covered(found[one.seq].weights))
        for one in ranked
        if one.seq in records
    ]


def memory_bounds(ctx: CallContext, question: Question) -> tuple[Condition, ...]:
    """Conditions on memories: the latest versions, or those that held at a moment."""
    unbound = [Condition("project", "is null")] if question.unbound else []
    place = (*unbound, *of_project(ctx, question.project))
    conditions = [*ctx.sees_memories(question.agent), *place, *where(type=question.type)]
    if question.as_of is None:
        conditions += where(latest=True)
    else:
        conditions += [
            Condition("valid_from", "<=", question.as_of),
            Condition("valid_to", "until", question.as_of),
        ]
    if question.session_id:
        conditions.append(Condition("session_ids", "has", question.session_id))
    return (*conditions, *_lists(question), *_window("created_at", question))


def observation_bounds(ctx: CallContext, question: Question) -> tuple[Condition, ...]:
    """Conditions on observations."""
    conditions = [
        *ctx.sees(question.agent),
        *of_project(ctx, question.project),
        *where(type=question.type, session_id=question.session_id),
    ]
    if question.as_of is not None:
        conditions.append(Condition("at", "<=", question.as_of))
    return (*conditions, *_lists(question), *_window("at", question))


def _lists(question: Question) -> list[Condition]:
    concepts = [Condition("concepts", "has", concept) for concept in question.concepts]
    return concepts + [Condition("files", "has", file) for file in question.files]


def _window(column: str, question: Question) -> list[Condition]:
    bounds: list[Condition] = []
    if question.before is not None:
        bounds.append(Condition(column, "<", question.before))
    if question.after is not None:
        bounds.append(Condition(column, ">", question.after))
    return bounds
