"""Listing, removing and pruning: what leaves the repository, and what never does."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.errors import SnapshotsBusy
from holdfast.settings import Settings
from holdfast.snapshot.bundle.types import ASKED_FOR
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.repo.retention import RetentionItem, RetentionPlan, RetentionPolicy, plan


def policy_of(settings: Settings) -> RetentionPolicy:
    """How long automatic snapshots are kept."""
    return RetentionPolicy(
        last=settings.snapshot_keep_last,
        within_days=settings.snapshot_keep_days,
        daily=settings.snapshot_keep_daily,
        weekly=settings.snapshot_keep_weekly,
        monthly=settings.snapshot_keep_monthly,
    )


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What a policy keeps and why, what it removes, and what could not be removed because it was in use."""

    plan: RetentionPlan
    removed: tuple[str, ...]
    in_use: tuple[str, ...]


def prune(
    context: SnapshotContext,
    policy: RetentionPolicy,
    *,
    automatic_only: bool = False,
    damaged: bool = False,
    dry_run: bool = False,
) -> PruneResult:
    """Remove what the policy does not keep.

    Raises:
        SnapshotsBusy: another process makes, restores or removes snapshots.
    """
    with context.locked("prune"):
        repo, now = context.repo, context.clock.now_ms()
        decided = plan([_item(context, one) for one in repo.each()], policy, now, automatic_only, damaged=damaged)
        if dry_run:
            return PruneResult(decided, (), ())
        repo.sweep()
        removed, in_use = [], []
        for id in decided.remove:
            try:
                repo.delete(id, packs_too=False)
                removed.append(id)
            except SnapshotsBusy:
                in_use.append(id)
        repo.sweep()  # the packs that no snapshot needs any more, once for all of them
    if removed:
        context.publish("pruned", {"ids": removed})
    return PruneResult(decided, tuple(removed), tuple(in_use))


def delete(context: SnapshotContext, id: str) -> str:
    """Remove one snapshot; its id.

    Raises:
        NotFound: there is none.
        Conflict: it is the last whole one.
        SnapshotsBusy: it is in use.
    """
    with context.locked("delete") as result:
        whole = result.about = context.repo.find(id).id
        context.repo.delete(whole)
    context.publish("deleted", {"id": whole})
    return whole


def _item(context: SnapshotContext, one: SnapshotEntry) -> RetentionItem:
    about = one.manifest.identity if one.manifest else None
    return RetentionItem(
        id=one.id,
        sequence=one.sequence,
        created_at=about.created_at if about else 0,
        good=not one.damaged,
        in_use=context.repo.in_use(one.id),
        automatic=about is not None and about.created_by != ASKED_FOR,
        scheduled=about is not None and about.created_by == "schedule",
    )
