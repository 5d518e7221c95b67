"""A turn is found as one: the prompt leads to its answer, and several messages of one turn are one hit.

Rows are ranked one by one (`rank.py`); what a whole turn is worth for a question is weighed here, once they are joined.
How the weights were chosen is in docs/decisions/search.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.context import CallContext
from holdfast.core.model import Memory, Observation
from holdfast.recall.candidates import LazyEmbedding
from holdfast.recall.hits import Hit
from holdfast.store.port import Condition, Reader, where
from holdfast.store.queries.turns import MESSAGE_HOOK, MOST_MESSAGES, PROMPT_HOOKS, turn_of
from holdfast.store.tables import STATEMENTS

SPOKEN = frozenset({*PROMPT_HOOKS, MESSAGE_HOOK})
# What a turn gets for how near its prompt and its answer are in meaning, both together: either alone is often near by
# chance, and a row that matches by its words hides that the rest of the turn is about something else.
NEAR = 2.4
WORTH = 0.4  # what a turn gets for the best that was stated in it
NEWER = 0.2  # between the oldest and the newest hit: among about equal answers the newest is mostly the one in force
PRINTED = 0.2  # what a tool printed loses beside turns, in addition to what `rank` takes
KEPT = 0.5  # the worth of a memory: it was kept on purpose, but nothing weighed its sentences
SAYS_SOMETHING = 0.5
UNANSWERED = 0.4  # share of its score that a prompt keeps that states nothing and was not answered


@dataclass(frozen=True, slots=True)
class _TurnHits:
    prompt: Observation | None
    messages: tuple[Observation, ...]

    @property
    def answer(self) -> Observation | None:
        """What stands for the turn: its last message; an agent sums up at the end."""
        return self.messages[-1] if self.messages else self.prompt

    @property
    def rows(self) -> tuple[Observation, ...]:
        return (*((self.prompt,) if self.prompt else ()), *self.messages)


def as_turns(ctx: CallContext, reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those of one turn in one place, the best of them; its record is the answer."""
    known: dict[str, _TurnHits] = {}
    seen: set[str] = set()
    found: list[Hit] = []
    for hit in hits:
        record = hit.record
        if isinstance(record, Memory) or record.hook not in SPOKEN:
            found.append(hit)
            continue
        if record.id not in known:
            turn = _turn(ctx, reader, record)
            known |= {row.id: turn for row in turn.rows} | {record.id: turn}
        turn = known[record.id]
        answer = turn.answer or record
        if answer.id not in seen:
            seen.add(answer.id)
            found.append(replace(hit, record=answer, turn=turn.rows))
    return found


def weighed(ctx: CallContext, reader: Reader, hits: Sequence[Hit], embedding: LazyEmbedding, read: float) -> list[Hit]:
    """The hits with what their turns add to their scores, best first; unchanged where no hit is a turn.

    Where there is no turn, the question is not embedded. `read` is the share of the question that the
    embedder can read.
    """
    if not any(hit.turn for hit in hits):
        return list(hits)
    near = _nearness(ctx, reader, hits, embedding)
    worth = _worth(ctx, reader, hits)
    usual = sum(near) / len(near)
    rows = zip(hits, near, worth, _places_in_time(hits), strict=True)
    found = [_weighed(hit, NEAR * read * (likeness - usual), stated, place) for hit, likeness, stated, place in rows]
    return sorted(found, key=lambda hit: -hit.score)


def _weighed(hit: Hit, near: float, worth: float, place: float) -> Hit:
    parts = hit.parts
    # The best match of a question is the question itself: one without an answer comes later.
    if len(hit.turn) == 1 and hit.turn[0].hook in PROMPT_HOOKS and worth < SAYS_SOMETHING:
        added = {"asking": -(1 - UNANSWERED) * max(0.0, hit.score + near)}
    elif hit.turn or isinstance(hit.record, Memory):
        added = {"worth": WORTH * worth}
    else:
        added = {"deed": -PRINTED}
    added |= {"turn": near, "newer": NEWER * (place - 0.5)}
    told = parts._replace(**{name: getattr(parts, name) + value for name, value in added.items()})
    return replace(hit, score=hit.score + sum(added.values()), parts=told)


def _nearness(ctx: CallContext, reader: Reader, hits: Sequence[Hit], embedding: LazyEmbedding) -> list[float]:
    """The mean likeness of each turn's prompt and last message to the question; of other hits the record's."""
    meaning = embedding()
    if meaning is None:
        return [0.0] * len(hits)
    ends = [row.seq for hit in hits for row in _ends(hit)]
    cosines = reader.vectors(ctx.tenant, meaning.model, len(meaning.vector), ends).cosines(meaning.vector)
    found = []
    for hit, own in zip(hits, _own_nearness(hits), strict=True):
        near = [cosines.get(row.seq, own) for row in _ends(hit)] or [own]
        found.append(sum(near) / len(near))
    return found


def _own_nearness(hits: Sequence[Hit]) -> list[float]:
    """The likeness of each hit's record to the question, with a guess where the vector is still to come.

    It is the guess of `rank`, by the words: with the mean of the others a record that was stored a moment ago would
    stand below an older one that matches less.
    """
    cosines = [hit.cosine for hit in hits if hit.cosine is not None]
    if not cosines:
        return [0.0] * len(hits)
    meanings = [hit.parts.meaning for hit in hits if hit.cosine is not None]
    usual, low = sum(cosines) / len(cosines), sum(meanings) / len(meanings)
    reach, spread = max(cosines) - usual, max(meanings) - low

    def guess(hit: Hit) -> float:
        matched = (hit.parts.meaning - low) / spread if spread > 0 else 0.0
        return usual + reach * min(1.0, max(0.0, matched))

    return [guess(hit) if hit.cosine is None else hit.cosine for hit in hits]


def _ends(hit: Hit) -> tuple[Observation, ...]:
    """The prompt and the message that sums up."""
    return (hit.turn[0], hit.turn[-1]) if hit.turn else ()


def _worth(ctx: CallContext, reader: Reader, hits: Sequence[Hit]) -> list[float]:
    """The best that was stated in each hit."""
    ids = [row.id for hit in hits for row in hit.turn]
    best: dict[str, float] = {}
    for one in reader.find(STATEMENTS, ctx.tenant, Condition("source_id", "in", ids)):
        best[one.source_id] = max(one.worth, best.get(one.source_id, 0.0))
    return [
        KEPT if isinstance(hit.record, Memory) else max((best.get(row.id, 0.0) for row in hit.turn), default=0.0)
        for hit in hits
    ]


def _places_in_time(hits: Sequence[Hit]) -> list[float]:
    """The place of each hit in time: 0 the oldest, 1 the newest."""
    moments = [hit.record.created_at if isinstance(hit.record, Memory) else hit.record.at for hit in hits]
    places = {moment: place for place, moment in enumerate(sorted(set(moments)))}
    return [places[moment] / (len(places) - 1) if len(places) > 1 else 0.5 for moment in moments]


def _turn(ctx: CallContext, reader: Reader, row: Observation) -> _TurnHits:
    found = turn_of(reader, ctx.tenant, row, MOST_MESSAGES, *where(hook=MESSAGE_HOOK))
    prompt = found.prompt if found.prompt is not None and ctx.may_see(found.prompt) else None
    return _TurnHits(prompt, tuple(one for one in found.rows if ctx.may_see(one)))
