"""A hit as each format of a search answers it."""

from __future__ import annotations

import orjson
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Json, Memory, Observation
from holdfast.core.session_keys import session_name
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.projects import project_names
from holdfast.recall.hit_text import shown
from holdfast.recall.hits import Hit
from holdfast.recall.passage import passage_range
from holdfast.store.port import Reader

# Characters of a hit with its ids, dates and marks, and of the passage in it: five stay below 3,000, which is cheap for
# an agent to read.
HIT, PASSAGE, LEAST_PASSAGE = 580, 460, 200
CONFIDENCE_DIGITS = 2
ALSO_SHOWN = 3  # of the repetitions of a passage; the other formats name all of them


class HitShape(TypedDict, total=False):
    """A hit. Which fields it has depends on the format; with explain it has `why` too."""

    id: str
    obsId: str
    kind: str
    sessionId: str | None
    title: str
    type: str
    score: float
    confidence: float  # the probability that it answers
    timestamp: str
    passage: str  # the part of its text that matched: characters `start` to `end` of `content`
    start: int
    end: int
    also: list[str]  # ids of other records that it stands for: repetitions, results of its turn, earlier versions
    outdated: bool
    supersededBy: Json | str
    newer: Json
    marked: str
    content: str
    concepts: list[str]
    files: list[str]
    bm25Score: float
    vectorScore: float
    graphScore: float
    combinedScore: float
    observation: Json  # the whole record
    when: str  # passages: the day, and the text that answers
    text: str
    project: str
    why: Json


def passage_shape(ctx: CallContext, reader: Reader, hit: Hit, query: str, here: str | None) -> Json:
    """The passage that matched, with what a reader needs: its time, what came since, and its project."""
    record = hit.record
    answer: Json = {
        "id": record.id,
        "when": iso(_when(record))[:10],
        "text": "",
        "confidence": confidence_of(hit),
        **_place(hit, query),
    }
    told = {row.id for row in hit.turn}  # what else its turn says stands in the text already
    if also := [id for id in hit.also if id not in told][:ALSO_SHOWN]:
        answer["also"] = also
    if record.project and not (here and record.project in project_names(ctx, here)):
        answer["project"] = record.project
    if hit.outdated is not None and hit.outdated.sure:
        answer |= {"outdated": True, "supersededBy": hit.outdated.id}
    if hit.outdated is not None:
        answer["marked"] = hit.outdated.of  # the id for `still-true` if the mark is wrong
    room = max(LEAST_PASSAGE, min(PASSAGE, HIT - len(orjson.dumps(answer))))
    return {**answer, "text": shown(ctx, reader, hit, query, room)}


def confidence_of(hit: Hit) -> float:
    return round(hit.confidence.hit, CONFIDENCE_DIGITS)


def _when(record: Memory | Observation) -> int:
    return record.created_at if isinstance(record, Memory) else record.at


def text_of(hit: Hit) -> str:
    return f"{hit.record.title}\n{body_of(hit)}"


def body_of(hit: Hit) -> str:
    return hit.record.content if isinstance(hit.record, Memory) else hit.record.narrative


def _place(hit: Hit, query: str) -> Json:
    """Where in the record's text the passage stands that matched, in characters."""
    start, end = passage_range(body_of(hit), query, PASSAGE)
    return {"start": start, "end": end}


def compact_shape(hit: Hit, query: str) -> Json:
    """The short form; obsId is what clients of the earlier system call any record's id."""
    record = hit.record
    place = _place(hit, query)
    return {
        "id": record.id,
        "obsId": record.id,
        "kind": hit.kind,
        "sessionId": session_of(record),
        "title": record.title,
        "type": record.type,
        "score": hit.score,
        "confidence": confidence_of(hit),
        "timestamp": iso(_when(record)),
        "passage": body_of(hit)[place["start"] : place["end"]],
        **place,
        "also": list(hit.also),
        **_since(hit),
    }


def _since(hit: Hit) -> Json:
    """What replaced the statement of this hit."""
    if hit.outdated is None:
        return {}
    newer = {"id": hit.outdated.id, "text": hit.outdated.text, "timestamp": iso(hit.outdated.at)}
    said = {"outdated": True, "supersededBy": newer} if hit.outdated.sure else {"newer": newer}
    return {**said, "marked": hit.outdated.of}


def session_of(record: Memory | Observation) -> str | None:
    key = (record.session_ids or ("",))[0] if isinstance(record, Memory) else record.session_id
    return session_name(key) or None


def full_shape(hit: Hit, query: str) -> Json:
    record = hit.record
    return {
        **compact_shape(hit, query),
        "content": record.content if isinstance(record, Memory) else record.narrative,
        "concepts": list(record.concepts),
        "files": list(record.files),
        "bm25Score": hit.parts.words,
        "vectorScore": hit.cosine or 0.0,
        "graphScore": 0.0,
        "combinedScore": hit.score,
        "observation": record_shape(record),
    }


def record_shape(record: Memory | Observation) -> Json:
    """The record; a memory also has its text under the field names of an observation, which clients read."""
    full = shape(record)
    if isinstance(record, Memory):
        full |= {"narrative": record.content, "timestamp": full["createdAt"]}
    return full
