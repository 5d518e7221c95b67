"""Operations that learn from sessions: summarize, consolidate, reflect, and the insights they produce."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.crystal import crystallize_actions
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json, Statement
from holdfast.core.session_keys import session_name
from holdfast.core.wire import shape
from holdfast.learn.consolidation import consolidate as consolidate_records
from holdfast.learn.sessions.backlog import unsummarized
from holdfast.learn.sessions.summarize import summarize as summarize_one
from holdfast.learn.slot_lines import reflect_session
from holdfast.learn.statements.still_true import still_true as mark_still_true
from holdfast.ops.framework.answers import InsightShape, RelationShape, SlotShape, SummaryShape
from holdfast.ops.framework.fields import CleanName, Name, Names, Offset, Share, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.projects import of_project, project_names
from holdfast.recall.context.current_statements import standing
from holdfast.snapshot.triggers import before
from holdfast.store.port import Condition, where
from holdfast.store.tables import INSIGHTS

AUTO_SESSIONS = 50


class Summarize(Request):
    session_id: Name | None = None
    action_ids: Names = Field(default=(), description="Ids of actions that are done, instead of a session.")
    project: CleanName | None = None


class SummarizeAnswer(TypedDict):
    success: bool
    summary: NotRequired[SummaryShape]
    crystal: InsightShape


def summarize(ctx: CallContext, ask: Summarize) -> SummarizeAnswer:
    """Condense a session into a summary: what was asked, changed and decided, and how it ended.

    Works without a language model; with an API key, the model writes the summary. Call it when a session is over. With
    actionIds it condenses a chain of actions that are done into one note.
    """
    if ask.action_ids:
        return {"success": True, "crystal": shape(crystallize_actions(ctx, ask.action_ids, ask.project))}
    if ask.session_id is None:
        raise InvalidRequest("sessionId: name a session, or actions in actionIds")
    summary, crystal = summarize_one(ctx, ask.session_id)
    return {"success": True, "summary": shape(summary), "crystal": shape(crystal)}


class Consolidate(Request):
    project: Name | None = None
    min_observations: int = Field(default=1, ge=1, le=1_000_000)


class SemanticCounts(TypedDict):
    newFacts: int
    totalSummaries: int


class ProceduralCounts(TypedDict):
    newProcedures: int
    patternsAnalyzed: int


class ConsolidateAnswer(TypedDict):
    success: bool
    consolidated: int
    summarized: int
    totalObservations: int
    semantic: SemanticCounts
    procedural: ProceduralCounts


def consolidate(ctx: CallContext, ask: Consolidate) -> ConsolidateAnswer:
    """Extract lasting knowledge from sessions: summaries, recurring facts, repeated procedures.

    Repeating it makes no duplicates. Call it now and then, not after every session.
    """
    before(ctx, "consolidate")
    done = consolidate_records(ctx, ask.project, ask.min_observations)
    return {
        "success": True,
        "consolidated": done.facts + done.procedures,
        "summarized": done.summarized,
        "totalObservations": done.observations,
        "semantic": {"newFacts": done.facts, "totalSummaries": done.summaries},
        "procedural": {"newProcedures": done.procedures, "patternsAnalyzed": done.observations},
    }


class Reflect(Request):
    session_id: Name | None = Field(default=None, description="Default: all sessions of the project.")
    max_observations: int = Field(default=50, ge=1, le=2_000)
    project: Name | None = None
    max_clusters: int = Field(default=10, ge=1, le=100, description="Insights to return, where no session is named.")


class ReflectAnswer(TypedDict):
    success: bool
    applied: int
    observationsReviewed: int
    slots: list[SlotShape]
    insights: NotRequired[list[InsightShape]]


def reflect(ctx: CallContext, ask: Reflect) -> ReflectAnswer:
    """Write the findings of a session into the slots of its project: preferences, unfinished work, habits.

    The context includes the user's wishes and open work without this. Call it to have them in slots that you can edit.
    Without a session, it draws insights from all sessions of the project.
    """
    if ask.session_id is None:
        return _reflect_all(ctx, ask)

    def holding(project: str) -> list[Statement]:
        return [one.statement for one in standing(ctx, project_names(ctx, project), None)]

    done = reflect_session(ctx, ask.session_id, ask.max_observations, holding)
    return {
        "success": True,
        "applied": len(done.applied),
        "observationsReviewed": done.reviewed,
        "slots": [shape(one) for one in done.applied],
    }


def _reflect_all(ctx: CallContext, ask: Reflect) -> ReflectAnswer:
    done = consolidate(ctx, Consolidate(project=ask.project))
    found, _ = _insights(ctx, Insights(project=ask.project, limit=ask.max_clusters), None)
    return {
        "success": True,
        "applied": done["consolidated"],
        "observationsReviewed": done["totalObservations"],
        "slots": [],
        "insights": found,
    }


class CrystalsAuto(Request):
    project: Name | None = None


class CrystalsAutoAnswer(TypedDict):
    success: bool
    crystallized: int
    sessionIds: list[str]


def crystals_auto(ctx: CallContext, ask: CrystalsAuto) -> CrystalsAutoAnswer:
    """Summarize the latest ended sessions that have no summary yet."""
    done = []
    for session in unsummarized(ctx, ask.project, AUTO_SESSIONS):
        name = session_name(session.id)
        summarize_one(ctx, name)
        done.append(name)
    return {"success": True, "crystallized": len(done), "sessionIds": done}


class Insights(Request):
    project: Name | None = None
    min_confidence: Share = 0.0
    limit: int = limit(100, 500)
    offset: Offset = 0


class ItemsAnswer(TypedDict):
    items: list[InsightShape]
    total: int


class CrystalsAnswer(TypedDict):
    crystals: list[InsightShape]
    total: int


class InsightsAnswer(TypedDict):
    success: bool
    insights: list[InsightShape]
    total: int


def _insights(ctx: CallContext, ask: Insights, kind: str | None) -> tuple[list[Json], int]:
    reader = ctx.store.read()
    bounds = (*ctx.sees(), *of_project(ctx, ask.project), *where(kind=kind))
    bounds = (*bounds, Condition("strength", ">=", ask.min_confidence))
    found = reader.find(INSIGHTS, ctx.tenant, *bounds, order="-updated_at", limit=ask.limit, offset=ask.offset)
    return [shape(one) for one in found], reader.count(INSIGHTS, ctx.tenant, *bounds)


def semantic(ctx: CallContext, ask: Insights) -> ItemsAnswer:
    """List the facts extracted from sessions."""
    found, total = _insights(ctx, ask, "semantic")
    return {"items": found, "total": total}


def procedural(ctx: CallContext, ask: Insights) -> ItemsAnswer:
    """List the procedures extracted from sessions."""
    found, total = _insights(ctx, ask, "procedural")
    return {"items": found, "total": total}


def crystals(ctx: CallContext, ask: Insights) -> CrystalsAnswer:
    """List the crystals: one short note per summarized session."""
    found, total = _insights(ctx, ask, "crystal")
    return {"crystals": found, "total": total}


def insights(ctx: CallContext, ask: Insights) -> InsightsAnswer:
    """List everything extracted from sessions, newest first."""
    found, total = _insights(ctx, ask, None)
    return {"success": True, "insights": found, "total": total}


class StillTrue(Request):
    id: Name = Field(description="Id of a memory, observation or statement that is marked as outdated.")


class StillTrueAnswer(TypedDict):
    success: bool
    restored: list[RelationShape]


def still_true(ctx: CallContext, ask: StillTrue) -> StillTrueAnswer:
    """Confirm that something marked as outdated still holds. The mark is removed permanently.

    The id is what recall shows as `marked`: one statement or memory. The id of a hit removes all marks of its turn.

    A newer statement supersedes an older one automatically where a subject clearly has a new value. This undoes that.
    """
    return {"success": True, "restored": [shape(one) for one in mark_still_true(ctx, ask.id)]}


LEARNING = (
    Operation(still_true, "POST", "/still-true", effect="write", cli="still-true", positional=("id",)),
    Operation(
        summarize,
        "POST",
        "/summarize",
        effect="write",
        also=(("POST", "/crystals/create"),),
        tool="memory_crystallize",
        tool_required=("sessionId",),
        cli="summarize",
        positional=("sessionId",),
    ),
    Operation(
        consolidate,
        "POST",
        "/consolidate",
        effect="write",
        also=(("POST", "/consolidate-pipeline"),),
        tool="memory_consolidate",
        cli="consolidate",
    ),
    Operation(
        reflect,
        "POST",
        "/reflect",
        effect="write",
        also=(("POST", "/slot/reflect"),),
        tool="memory_reflect",
        tool_required=("sessionId",),
        cli="reflect",
        positional=("sessionId",),
    ),
    Operation(crystals_auto, "POST", "/crystals/auto", effect="write", cli="crystals auto"),
    Operation(crystals, "GET", "/crystals", cli="crystals list"),
    Operation(semantic, "GET", "/semantic", cli="semantic"),
    Operation(procedural, "GET", "/procedural", cli="procedural"),
    Operation(insights, "GET", "/insights", tool="memory_insight_list", cli="insights"),
)
