"""Operations on the expiry of chat memories: run it, deprecate one memory, restore one."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.wire import shape
from holdfast.intake.expiry import ExpiryResult, age, deprecate, plan_aging, restore, rules_of
from holdfast.ops.framework.answers import MemoryShape
from holdfast.ops.framework.fields import Name
from holdfast.ops.framework.operation import ChatRequest, Operation, SeeingAll
from holdfast.snapshot.triggers import BULK, before

GRACE_DAYS = 7.0


def _days(default: float, description: str) -> float:
    days: float = Field(default=default, gt=0, le=36_500, allow_inf_nan=False, description=description)
    return days


class Lifecycle(SeeingAll):
    dry_run: bool = False
    expire_days: float = _days(30, "Days without use after which a memory of importance 3 is deprecated.")
    fold_days: float = _days(
        14, "Days without use after which memories are merged into a summary. Requires a language model."
    )
    grace_days: float = _days(GRACE_DAYS, "Days during which a deprecated memory can be restored.")


class LifecycleAnswer(TypedDict):
    success: bool
    dryRun: bool
    folded: list[str]
    summaries: list[str]
    deprecated: list[str]
    purged: list[str]
    more: bool


def lifecycle(ctx: CallContext, ask: Lifecycle) -> LifecycleAnswer:
    """Run the expiry of chat memories now: summarize, deprecate and delete what is due, a limited number per run.

    It covers what the caller may see; with allChats, all chats. Global and permanent memories never expire.
    """
    rules = rules_of(ask.expire_days, ask.fold_days, ask.grace_days)
    due = plan_aging(ctx, rules)
    summary_groups = tuple(id for group in due.summarise for id in group.sources)
    if ask.dry_run:
        done = ExpiryResult(due.purge, due.deprecate, summary_groups)
    else:
        if len(due.purge) >= BULK:
            before(ctx, "forget")
        done = age(ctx, due, rules)
    return {
        "success": True,
        "dryRun": ask.dry_run,
        "folded": list(done.summarised),
        "summaries": list(done.summaries),
        "deprecated": list(done.deprecated),
        "purged": list(done.purged),
        "more": due.more,
    }


class MemoryName(ChatRequest):
    id: Name = Field(description="Id or address of the memory.")


class MemoryStateAnswer(TypedDict):
    success: bool
    memory: MemoryShape


def memory_deprecate(ctx: CallContext, ask: MemoryName) -> MemoryStateAnswer:
    """Exclude a memory from search without deleting it. It can be restored until it is purged."""
    return {"success": True, "memory": shape(deprecate(ctx, ask.id, ask.agent_id))}


def memory_restore(ctx: CallContext, ask: MemoryName) -> MemoryStateAnswer:
    """Restore a memory that was deprecated or merged into a summary."""
    return {"success": True, "memory": shape(restore(ctx, ask.id, ask.agent_id))}


AGING = (
    Operation(lifecycle, "POST", "/lifecycle", effect="destroy", scope="admin", cli="lifecycle"),
    Operation(
        memory_deprecate,
        "POST",
        "/memories/deprecate",
        effect="write",
        tool="memory_deprecate",
        cli="deprecate",
        positional=("id",),
    ),
    Operation(
        memory_restore,
        "POST",
        "/memories/restore",
        effect="write",
        tool="memory_restore",
        cli="restore",
        positional=("id",),
    ),
)
