"""What a hit stands for besides its record: repetitions of its text, the results of its turn, earlier versions.

Nothing that is stored may be out of reach of a search for its own words: a record whose text is the question is
among the first hits, itself or in the group of one that says the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from holdfast.context import CallContext
from holdfast.core.model import Memory, Observation
from holdfast.recall.candidates import WordMatches
from holdfast.recall.hits import Hit
from holdfast.recall.rank import RankedCandidate
from holdfast.recall.turn_hits import as_turns
from holdfast.store import tokenizer
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import MEMORIES

FIRST = 3  # places, one of which a record has whose text is the question
MOST_SAME = 1_000  # records of one text that are looked for
STEP = 100  # of them that are read at once
# Terms that a record may have beside its text: of its title, its type, its concepts and files.
BESIDE = 40

_WORD = re.compile(r"\w+")
_LATER = Condition("parent_id", "not null")


def normalized(text: str) -> str:
    """A text without case and marks; of one that is nothing but marks, the marks."""
    text = text[: tokenizer.QUERY_CHARS]
    return " ".join(_WORD.findall(text.casefold())) or "".join(text.split())


def is_text_of(question: str, text: str) -> bool:
    """Whether a normalized question is a record's text, with its title or without."""
    return question == normalized(text) or question == normalized(text.partition("\n")[2])


def same_text(reader: Reader, tenant: str, looked: Sequence[WordMatches], question: str) -> dict[str, list[int]]:
    """The records whose text is the question, by table, however many say the same."""
    asked = normalized(question)
    longest = len(tokenizer.stems(tokenizer.index_text(question[: tokenizer.QUERY_CHARS]))) + BESIDE
    found: dict[str, list[int]] = {}
    for one in looked:
        complete = one.words.among.complete(longest, MOST_SAME)
        for first in range(0, len(complete), STEP):
            some = [seq for seq in complete[first : first + STEP] if seq not in found.get(one.table.name, ())]
            texts = {seq: row.text for seq, row in one.read(reader, tenant, some).items()}
            same = [seq for seq in some if is_text_of(asked, texts.get(seq, ""))]
            if not same:
                break
            found.setdefault(one.table.name, []).extend(same)
    return found


def among_first(ranked: list[RankedCandidate], same: Collection[int]) -> list[RankedCandidate]:
    """The order, but the best of the records whose text is the question has one of the first places.

    Not the very first: who asks a question again wants its answer.
    """
    at = next((place for place, one in enumerate(ranked) if one.seq in same), 0)
    if at < FIRST:
        return ranked
    return [*ranked[: FIRST - 1], ranked[at], *ranked[FIRST - 1 : at], *ranked[at + 1 :]]


def joined(hits: Sequence[Hit], groups: Sequence[Sequence[RankedCandidate]]) -> list[Hit]:
    """One hit for each group, its best; the ids of the others are noted on it."""
    group_of = {one.seq: number for number, group in enumerate(groups) for one in group}
    found: dict[int, Hit] = {}
    for hit in hits:
        number = group_of[hit.record.seq]
        best = found.get(number)
        found[number] = hit if best is None else with_also(best, [hit.record.id, *hit.also])
    return list(found.values())


def as_turn_groups(ctx: CallContext, reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those of one turn in one place; the ids of its other results are noted on it."""
    turns = as_turns(ctx, reader, hits)
    holder = {id: at for at, turn in enumerate(turns) for id in (turn.record.id, *(row.id for row in turn.turn))}
    also: dict[int, list[str]] = {}
    for hit in hits:
        at = holder.get(hit.record.id)
        if at is None:  # of a turn with more messages than are read
            at = holder[as_turns(ctx, reader, [hit])[0].record.id]
        also.setdefault(at, []).extend((hit.record.id, *hit.also))
    return [with_also(turn, also.get(at, ())) for at, turn in enumerate(turns)]


def with_also(hit: Hit, ids: Sequence[str]) -> Hit:
    """The hit that stands for these records too."""
    fresh = dict.fromkeys(id for id in ids if id != hit.record.id and id not in hit.also)
    return replace(hit, also=(*hit.also, *fresh)) if fresh else hit


def with_versions(ctx: CallContext, reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, each with the ids of its memory's earlier versions, the newest first."""
    shown = {hit.record.root: hit.record for hit in hits if isinstance(hit.record, Memory) and hit.record.version > 1}
    if not shown:
        return list(hits)
    roots = list(shown)
    later = reader.find(MEMORIES, ctx.tenant, Condition("root", "in", roots), _LATER, order="-version")
    first = reader.find(MEMORIES, ctx.tenant, Condition("id", "in", roots))
    earlier: dict[str, list[str]] = {}
    for one in (*later, *first):
        if one.version < shown[one.root].version and ctx.may_see(one):
            earlier.setdefault(shown[one.root].id, []).append(one.id)
    return [with_also(hit, earlier.get(hit.record.id, ())) for hit in hits]


def with_same_text(hits: list[Hit], ids: Sequence[str]) -> list[Hit]:
    """The hits with all records whose text is the question in the group of one of them, among the first ones."""
    at = next((place for place, hit in enumerate(hits) if not _ids(hit).isdisjoint(ids)), None)
    if at is None:
        return hits
    elsewhere = {id for place, hit in enumerate(hits) if place != at for id in _ids(hit)}
    hit = with_also(hits[at], [id for id in ids if id not in elsewhere])
    others = [*hits[:at], *hits[at + 1 :]]
    place = min(at, FIRST - 1)
    return [*others[:place], hit, *others[place:]]


def text_among_first(hits: list[Hit], question: str) -> list[Hit]:
    """The same for hits of several searches that were put into one order."""
    asked = normalized(question)
    return with_same_text(hits, [hit.record.id for hit in hits if is_text_of(asked, _text(hit.record))][:1])


def _text(record: Memory | Observation) -> str:
    return record.content if isinstance(record, Memory) else f"{record.title}\n{record.narrative}"


def _ids(hit: Hit) -> set[str]:
    return {hit.record.id, *hit.also}
