"""Automatic snapshots: on a schedule, and before work that changes much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from holdfast.context import CallContext
from holdfast.snapshot.bundle.types import Maker
from holdfast.snapshot.create import CreateOptions, making
from holdfast.snapshot.prune import policy_of, prune
from holdfast.snapshot.remote.layout import StagedMemory
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.sources.change_check import is_changed
from holdfast.snapshot.sync.queue import offer_waiting

# Forgetting so many records at once is worth a snapshot; forgetting a few is everyday.
BULK = 10

Work = Literal["consolidate", "import", "forget"]
_MAKERS: dict[Work, Maker] = {
    "consolidate": "before-consolidate",
    "import": "before-import",
    "forget": "before-forget",
}


def before(ctx: CallContext, work: Work) -> None:
    """Keep the memory as it is before the work changes it, if the settings require it and something is new.

    Raises:
        Fault: no snapshot could be made; the work must not begin.
    """
    if ctx.live is None or work not in ctx.settings.snapshot_before or not ctx.store.last_seq():
        return
    context = snapshot_context(ctx)
    with making_if_changed(context, CreateOptions(label=f"before {work}", made_by=_MAKERS[work])) as fresh:
        offer_waiting(context, fresh)  # a vault that is away gets it from the schedule; the work need not wait for that


@contextmanager
def making_if_changed(context: SnapshotContext, options: CreateOptions) -> Iterator[Mapping[str, StagedMemory]]:
    """A snapshot in the repository if the newest one does not hold what is there; older automatic ones leave as the
    settings define. The vault comes after that: while it is away, the repository must not fill the disk."""
    if not is_changed(context):
        yield {}
        return
    with making(context, options) as made:
        prune(context, policy_of(context.settings), automatic_only=True)
        yield {made.stored.id: made.fresh}
