"""Operations that forget: memories, observations and sessions by name, and what has outlived its time."""

from __future__ import annotations

from pydantic import field_validator
from typing_extensions import TypedDict

from holdfast.desk import Desk
from holdfast.errors import InvalidRequest, NotFound
from holdfast.intake.drawn import Tally
from holdfast.intake.forget import forget_memories, forget_observations, forget_session, plan_sweep, sweep
from holdfast.learn.flow import summarize
from holdfast.model import CleanText
from holdfast.ops.declare import ChatRequest, Operation, Request
from holdfast.ops.fields import CleanLine, Name, Names
from holdfast.snapshot.automatic import BULK, before
from holdfast.store.port import where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS


class Forget(ChatRequest):
    memory_id: Name | None = None
    session_id: Name | None = None
    observation_ids: Names = ()


class ForgetAnswer(TypedDict):
    success: bool
    deleted: int
    counts: dict[str, int]


def forget(desk: Desk, ask: Forget) -> ForgetAnswer:
    """Remove a memory, a session, or some observations of a session for good.

    `deleted` is how many records are gone, with what was drawn from them. If nothing of that id is there, that is an
    error. This cannot be undone.
    """
    if ask.memory_id:
        tally, kind = forget_memories(desk, [ask.memory_id], agent=ask.agent_id), "memory"
    elif ask.session_id:
        tally, kind = _forget_of_session(desk, ask, ask.session_id), "observation" if ask.observation_ids else "session"
    else:
        raise InvalidRequest("forget: memoryId or sessionId is required")
    if not tally.total:
        raise NotFound(f"forget: no {kind} of that id", hint=_LISTS[kind])
    return {"success": True, "deleted": tally.total, "counts": tally.counts}


_LISTS = {
    "memory": "Find its id with holdfast recall, or list all with holdfast memories.",
    "session": "List sessions with holdfast sessions.",
    "observation": "List the session's observations with holdfast observations SESSION.",
}


def _forget_of_session(desk: Desk, ask: Forget, session_id: str) -> Tally:
    if desk.in_chat:  # where there are no sessions
        return Tally()
    if ask.observation_ids:
        if len(ask.observation_ids) >= BULK:
            before(desk, "forget")
        return _forget_observations(desk, session_id, ask)
    reader = desk.store.read()
    if reader.get(SESSIONS, desk.tenant, desk.session_key(reader, session_id)) is None:
        return Tally()
    before(desk, "forget")
    return forget_session(desk, session_id, agent=ask.agent_id)


def _forget_observations(desk: Desk, session_id: str, ask: Forget) -> Tally:
    """Forget some observations of a session; its summary is made anew from what is left."""
    tally = forget_observations(desk, session_id, ask.observation_ids, agent=ask.agent_id)
    reader = desk.store.read()
    left = where(session_id=desk.session_key(reader, session_id))
    if tally.counts.get("summaries") and reader.find(OBSERVATIONS, desk.tenant, *left, limit=1):
        summarize(desk, session_id, extractive=True)  # at once: a language model may take long
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


def governance_delete(desk: Desk, ask: GovernanceDelete) -> GovernanceAnswer:
    """Remove several memories for good, with a reason that the audit log keeps."""
    if len(ask.memory_ids) >= BULK:
        before(desk, "forget")
    tally = forget_memories(desk, ask.memory_ids, agent=ask.agent_id, reason=ask.reason, operation="governance_delete")
    left = desk.store.read().count(MEMORIES, desk.tenant, *desk.sees_memories(ask.agent_id), *where(latest=True))
    return {"success": True, "deleted": tally.total, "requested": len(ask.memory_ids), "total": left}


class AutoForget(Request):
    dry_run: bool = False


class AutoForgetAnswer(TypedDict):
    success: bool
    evictedMemories: list[str]
    evictedObservations: list[str]
    evicted: int
    dryRun: bool


def auto_forget(desk: Desk, ask: AutoForget) -> AutoForgetAnswer:
    """Remove what is past its time now: memories past their time to live, old unimportant observations."""
    plan = plan_sweep(desk)
    if not ask.dry_run:
        if len(plan.memories) + len(plan.observations) >= BULK:
            before(desk, "forget")
        sweep(desk, plan)
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
