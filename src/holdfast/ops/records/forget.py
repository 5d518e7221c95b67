"""Operations that remove memories, observations and sessions: by id, or when they expire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import CleanText
from holdfast.core.session_keys import session_name
from holdfast.intake.dependents import RemovalCounts
from holdfast.intake.forget import forget_memories, forget_observations, forget_session, plan_sweep, sweep
from holdfast.learn.sessions.summarize import summarize
from holdfast.ops.framework.fields import CleanLine, Name, Names
from holdfast.ops.framework.operation import ChatRequest, Operation, Request
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.triggers import BULK, before
from holdfast.store.port import where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS


class Forget(ChatRequest):
    memory_id: Name | None = Field(default=None, description="Id of a memory or an observation.")
    session_id: Name | None = None
    observation_ids: Names = ()


class ForgetAnswer(TypedDict):
    success: bool
    deleted: int
    counts: dict[str, int]
    snapshots: NotRequired[list[str]]  # that may still hold it
    hint: NotRequired[str]


def forget(ctx: CallContext, ask: Forget) -> ForgetAnswer:
    """Remove a memory, an observation or a session. Snapshots may still contain it.

    `deleted` counts the removed records, including those derived from them. An unknown id is an error. `snapshots`
    lists the snapshots made since the record exists; remove one with: holdfast snapshot delete ID. Before a session of
    ten or more observations is removed, a snapshot is made if the settings require one.
    """
    since = _known_since(ctx, ask)
    if ask.memory_id:
        tally, kind = _forget_named(ctx, ask, ask.memory_id), "memory" if ctx.in_chat else "memory or observation"
    elif ask.session_id:
        tally, kind = _forget_of_session(ctx, ask, ask.session_id), "observation" if ask.observation_ids else "session"
    else:
        raise InvalidRequest("forget: memoryId or sessionId is required")
    if not tally.total:
        raise NotFound(f"forget: no {kind} has that id", hint=_LISTS[kind])
    answer: ForgetAnswer = {"success": True, "deleted": tally.total, "counts": tally.counts}
    hints = [_JOURNALED] if _is_journaled(ctx) else []
    if held := _snapshots_since(ctx, since):
        answer["snapshots"] = held
        hints.insert(0, _how_to_remove(ctx, held))
    if hints:
        answer["hint"] = " ".join(hints)
    return answer


_JOURNALED = (
    "The journal in the vault may contain it until a snapshot made from now on is older than HOLDFAST_JOURNAL_KEEP."
)


_LISTS = {
    "memory": "List them with holdfast memories.",
    "memory or observation": "Find its id with holdfast recall, or list all memories with holdfast memories.",
    "session": "List sessions with holdfast sessions.",
    "observation": "List the session's observations with holdfast observations SESSION.",
}


def _known_since(ctx: CallContext, ask: Forget) -> int:
    """When the record was made, or claims it was: no snapshot before that holds it."""
    reader = ctx.store.read()
    if ask.session_id and not ask.memory_id:
        session = reader.get(SESSIONS, ctx.tenant, ctx.session_key(reader, ask.session_id))
        return session.started_at if session else 0
    named = ask.memory_id or ""
    seen = reader.get(OBSERVATIONS, ctx.tenant, named)
    memory = reader.get(MEMORIES, ctx.tenant, named)
    first = memory and reader.get(MEMORIES, ctx.tenant, memory.root)
    return seen.at if seen else first.created_at if first else 0


def _snapshots_since(ctx: CallContext, since: int) -> list[str]:
    """Snapshots of this machine from that time on, newest first. Chats do not see them."""
    if ctx.live is None or ctx.in_chat:
        return []
    made = (one.manifest.identity for one in snapshot_context(ctx).repo.each() if one.manifest)
    return [one.id for one in made if one.created_at >= since]


def _is_journaled(ctx: CallContext) -> bool:
    """Whether the vault has a journal of this memory. Chats do not see it."""
    changes = None if ctx.live is None or ctx.in_chat else ctx.store.change_log()
    return changes is not None and changes.place(ctx.tenant) is not None


def _how_to_remove(ctx: CallContext, held: list[str]) -> str:
    others = any(one.id not in held and not one.damaged for one in snapshot_context(ctx).repo.each())
    first = (
        "" if others else " The only snapshot cannot be deleted: create a new one first with holdfast snapshot create."
    )
    vault = " Remove copies in the vault with holdfast vault prune." if ctx.settings.vault else ""
    return f"These snapshots may still contain it.{first}{vault} Remove one with: holdfast snapshot delete {held[0]}"


def _forget_named(ctx: CallContext, ask: Forget, id: str) -> RemovalCounts:
    """Forget a memory, or the observation that has this id."""
    seen = None if ctx.in_chat else ctx.store.read().get(OBSERVATIONS, ctx.tenant, id)
    if seen is None or not ctx.may_see(seen, ask.agent_id):
        return forget_memories(ctx, [id], agent=ask.agent_id)
    return _forget_observations(ctx, session_name(seen.session_id), (id,), ask.agent_id)


def _forget_of_session(ctx: CallContext, ask: Forget, session_id: str) -> RemovalCounts:
    if ctx.in_chat:  # where there are no sessions
        return RemovalCounts()
    if ask.observation_ids:
        if len(ask.observation_ids) >= BULK:
            before(ctx, "forget")
        return _forget_observations(ctx, session_id, ask.observation_ids, ask.agent_id)
    reader = ctx.store.read()
    key = ctx.session_key(reader, session_id)
    if reader.get(SESSIONS, ctx.tenant, key) is None:
        return RemovalCounts()
    if reader.count(OBSERVATIONS, ctx.tenant, *where(session_id=key)) >= BULK:
        before(ctx, "forget")
    return forget_session(ctx, session_id, agent=ask.agent_id)


def _forget_observations(ctx: CallContext, session_id: str, ids: Sequence[str], agent: str | None) -> RemovalCounts:
    """Forget some observations of a session; its summary is made anew from what is left."""
    tally = forget_observations(ctx, session_id, ids, agent=agent)
    reader = ctx.store.read()
    left = where(session_id=ctx.session_key(reader, session_id))
    if tally.counts.get("summaries") and reader.find(OBSERVATIONS, ctx.tenant, *left, limit=1):
        summarize(ctx, session_id, extractive=True)  # at once: a language model may take long
    return tally


class GovernanceDelete(ChatRequest):
    memory_ids: Names
    reason: CleanLine = CleanText("")

    @field_validator("memory_ids")
    @classmethod
    def _some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one memory")
        return value


class GovernanceAnswer(TypedDict):
    success: bool
    deleted: int
    requested: int
    total: int


def governance_delete(ctx: CallContext, ask: GovernanceDelete) -> GovernanceAnswer:
    """Remove several memories permanently. The reason is recorded in the audit log."""
    if len(ask.memory_ids) >= BULK:
        before(ctx, "forget")
    tally = forget_memories(ctx, ask.memory_ids, agent=ask.agent_id, reason=ask.reason, operation="governance_delete")
    left = ctx.store.read().count(MEMORIES, ctx.tenant, *ctx.sees_memories(ask.agent_id), *where(latest=True))
    return {"success": True, "deleted": tally.total, "requested": len(ask.memory_ids), "total": left}


class AutoForget(Request):
    dry_run: bool = False


class AutoForgetAnswer(TypedDict):
    success: bool
    evictedMemories: list[str]
    evictedObservations: list[str]
    evicted: int
    dryRun: bool


def auto_forget(ctx: CallContext, ask: AutoForget) -> AutoForgetAnswer:
    """Remove expired records now: memories past their time to live and old unimportant observations."""
    plan = plan_sweep(ctx)
    if not ask.dry_run:
        if len(plan.memories) + len(plan.observations) >= BULK:
            before(ctx, "forget")
        sweep(ctx, plan)
    return {
        "success": True,
        "evictedMemories": [one.id for one in plan.memories],
        "evictedObservations": [one.id for one in plan.observations],
        "evicted": len(plan.memories) + len(plan.observations),
        "dryRun": ask.dry_run,
    }


FORGETTING = (
    Operation(
        forget,
        "POST",
        "/forget",
        effect="destroy",
        tool="memory_forget",
        cli="forget",
        positional=("memoryId",),
    ),
    Operation(
        governance_delete,
        "DELETE",
        "/governance/memories",
        effect="destroy",
        tool="memory_governance_delete",
        cli="governance delete",
    ),
    Operation(auto_forget, "POST", "/auto-forget", effect="destroy", cli="auto-forget"),
)
