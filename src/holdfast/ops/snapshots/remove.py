"""Operations that remove snapshots: delete, prune."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import DataDamaged, DataTooNew, InvalidRequest, RestorePending
from holdfast.core.model import Json
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.snapshots.selection import SnapshotName, audit_snapshot, shown
from holdfast.snapshot import prune
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.retention import RetentionPolicy


class SnapshotDelete(SnapshotName):
    dry_run: bool = Field(default=False, description="Preview what would be removed. Nothing is removed.")


class SnapshotDeleteAnswer(TypedDict):
    success: bool
    id: str
    dryRun: bool
    remove: list[str]
    snapshot: NotRequired[Json]  # of a dry run: what would be lost


def snapshot_delete(ctx: CallContext, ask: SnapshotDelete) -> SnapshotDeleteAnswer:
    """Remove a snapshot. The last intact snapshot and snapshots in use cannot be removed."""
    _check_live(ctx)
    context = snapshot_context(ctx)
    if ask.dry_run:
        one = context.repo.find(ask.id)
        return {"success": True, "id": one.id, "dryRun": True, "remove": [one.id], "snapshot": shown(ctx, one)}
    id = prune.delete(context, ask.id)
    audit_snapshot(ctx, "snapshot_delete", id)
    return {"success": True, "id": id, "dryRun": False, "remove": [id]}


def _check_live(ctx: CallContext) -> None:
    """Without a sound live memory nothing is removed: the snapshots may be all there is."""
    fault = ctx.store.failure(ctx.tenant)
    if isinstance(fault, DataDamaged | DataTooNew | RestorePending):
        raise fault


class KeepRules(Request):
    """What stays, by any of these; what a repository and a vault are pruned by."""

    keep: int = Field(default=0, ge=0, le=100_000, description="Keep this many of the newest snapshots.")
    keep_days: int = Field(
        default=0, ge=0, le=36_500, description="Keep all snapshots of this many days before the newest."
    )
    keep_daily: int = Field(
        default=0, ge=0, le=100_000, description="Keep the last snapshot of each of this many days."
    )
    keep_weekly: int = Field(
        default=0, ge=0, le=100_000, description="Keep the last snapshot of each of this many weeks."
    )
    keep_monthly: int = Field(
        default=0, ge=0, le=100_000, description="Keep the last snapshot of each of this many months."
    )

    def policy(self, operation: str, *, may_be_empty: bool = False) -> RetentionPolicy:
        """The rules as one value.

        Raises:
            InvalidRequest: there is none, and that would remove all that may go.
        """
        policy = RetentionPolicy(self.keep, self.keep_days, self.keep_daily, self.keep_weekly, self.keep_monthly)
        if policy.empty and not may_be_empty:
            raise InvalidRequest(
                f"{operation}: no retention rule given", hint="Pass a rule, for example --keep 10 --keep-daily 7."
            )
        return policy


class SnapshotPrune(KeepRules):
    dry_run: bool = Field(default=False, description="Preview what would be removed. Nothing is removed.")


class SnapshotPruneAnswer(TypedDict):
    success: bool
    dryRun: bool
    keep: list[Json]
    remove: list[str]
    inUse: list[str]


def snapshot_prune(ctx: CallContext, ask: SnapshotPrune) -> SnapshotPruneAnswer:
    """Remove snapshots that no retention rule keeps; never the last intact one, never one in use."""
    policy = ask.policy("snapshot_prune")
    _check_live(ctx)
    done = prune.prune(snapshot_context(ctx), policy, dry_run=ask.dry_run)
    if done.removed:
        audit_snapshot(ctx, "snapshot_prune", "", removed=list(done.removed))
    return {
        "success": not done.in_use,
        "dryRun": ask.dry_run,
        "keep": [{"id": id, "why": list(reasons)} for id, reasons in done.plan.keep],
        "remove": list(done.plan.remove if ask.dry_run else done.removed),
        "inUse": list(done.in_use),
    }


REMOVING = (
    Operation(
        snapshot_delete,
        "DELETE",
        "/snapshots/{id}",
        effect="destroy",
        scope="admin",
        tool="memory_snapshot_delete",
        cli="snapshot delete",
        positional=("id",),
        asks=True,
    ),
    Operation(
        snapshot_prune,
        "POST",
        "/snapshots/prune",
        effect="destroy",
        scope="admin",
        cli="snapshot prune",
        asks=True,
        long=True,
    ),
)
