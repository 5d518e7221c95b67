"""Operations that show what a record is linked to and where it comes from."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import Json, Memory, Observation
from holdfast.core.session_keys import session_name
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.intake.addresses import memory_named
from holdfast.ops.framework.fields import Name, Share
from holdfast.ops.framework.operation import ChatRequest, Operation
from holdfast.recall.views.provenance import Citation, citations, session_of
from holdfast.recall.views.relatives import relatives
from holdfast.store.rows import shape_of
from holdfast.store.tables import MEMORIES, OBSERVATIONS

MOST_HOPS = 5


class Related(ChatRequest):
    memory_id: Name = Field(description="Id or address of a memory.")
    max_hops: int = Field(default=2, ge=1, le=MOST_HOPS, description=f"Steps to follow, up to {MOST_HOPS}.")
    min_confidence: Share = Field(default=0.0, description="A link is sure by 1 at the first step, then by half.")


class RelatedAnswer(TypedDict):
    results: list[Json]


def related(ctx: CallContext, ask: Related) -> RelatedAnswer:
    """Show memories that are linked to one: by relations, and by being versions of each other."""
    memory = memory_named(ctx, ctx.store.read(), ask.memory_id, ask.agent_id)
    found = relatives(ctx, memory, ask.max_hops, ask.min_confidence)
    return {"results": [{"memory": shape(one.memory), "hop": one.hop, "confidence": one.confidence} for one in found]}


class Provenance(ChatRequest):
    id: Name = Field(description="Id of a memory or an observation, or address of a memory.")


class ProvenanceAnswer(TypedDict):
    success: bool
    type: str
    memory: NotRequired[Json]
    observation: NotRequired[Json]
    session: NotRequired[Json | None]
    citations: list[Json]
    citationCount: int
    contentHash: str


def provenance(ctx: CallContext, ask: Provenance) -> ProvenanceAnswer:
    """Show where a memory or an observation comes from: its sources and their sessions, and a hash of all that it says.

    A record whose row does not fit its checksum is not shown: the answer is that the memory is damaged.
    """
    reader = ctx.store.read()
    seen = reader.get(OBSERVATIONS, ctx.tenant, ask.id)
    if seen is not None:
        if not ctx.may_see(seen):
            raise NotFound("memory: no memory or observation has that id")
        return _of_observation(ctx, seen)
    memory = memory_named(ctx, reader, ask.id, ask.agent_id)
    cited = citations(ctx, memory)
    return {
        "success": True,
        "type": "memory",
        "memory": _memory(memory),
        "citations": [_citation(one) for one in cited],
        "citationCount": len(cited),
        "contentHash": shape_of(MEMORIES).content_hash(memory),
    }


def _of_observation(ctx: CallContext, seen: Observation) -> ProvenanceAnswer:
    reader = ctx.store.read()
    session = session_of(ctx, reader, seen)
    about = None if session is None else shape(session)
    return {
        "success": True,
        "type": "observation",
        "observation": {**_cited(seen), "id": seen.id, "importance": seen.importance},
        "session": about and {name: about[name] for name in ("id", "project", "status", "startedAt")},
        "citations": [],
        "citationCount": 0,
        "contentHash": shape_of(OBSERVATIONS).content_hash(seen),
    }


_SHOWN = (
    "id", "title", "type", "version", "strength", "isLatest", "createdAt", "updatedAt", "supersedes", "parentId",
)  # fmt: skip


def _memory(memory: Memory) -> Json:
    whole = shape(memory)
    return {name: whole[name] for name in _SHOWN}


def _citation(one: Citation) -> Json:
    session = one.session
    of_session = {"sessionProject": session.project, "sessionStatus": session.status} if session else {}
    return {"observationId": one.observation.id, **_cited(one.observation), **of_session}


def _cited(seen: Observation) -> Json:
    return {
        "title": seen.title,
        "type": seen.type,
        "confidence": seen.confidence,
        "timestamp": iso(seen.at),
        "sessionId": session_name(seen.session_id),
    }


PROVENANCE = (
    Operation(
        related,
        "GET",
        "/relations/related",
        tool="memory_relations",
        cli="related",
        positional=("memoryId",),
    ),
    Operation(provenance, "GET", "/provenance", tool="memory_verify", cli="provenance", positional=("id",)),
)
