"""Reading whole snapshots in idle time, so that the list shows truly which are good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from holdfast.context import HOUR_MS
from holdfast.core.errors import NotFound, SnapshotDamaged
from holdfast.snapshot.repo.check_results import CheckResult, FileStamp, read_record, stamp_of_bundle
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import ids_on, newest_first
from holdfast.snapshot.resolve import LOCAL_REPOSITORY, ResolvedSnapshot, SnapshotSelector, examine

AGAIN_MS = 30 * 24 * HOUR_MS  # disks rot without any sign in a file's times


def check_next(context: SnapshotContext, passed: set[str]) -> str | None:
    """Read the newest snapshot that was not read for long, or never; its id, or None if there is none.

    One of which no note could be taken, as on a disk that is read-only, is added to those that are passed over.
    """
    for id in _due(context, newest_first(ids_on(context.repo.root))):
        if id not in passed:
            check(context, id)
            if next(_due(context, [id]), None):
                passed.add(id)
            return id
    return None


def check_these(context: SnapshotContext, ids: Iterable[str]) -> None:
    """Read those of them that were not, and those that were damaged: they may have been put back."""
    record = read_record(context.repo.root)
    for id in list(ids):
        known = record.get(id)
        if known is None or known.damaged or known.looks != stamp_of_bundle(context.repo.root, id):
            check(context, id)


def check(context: SnapshotContext, id: str) -> None:
    """Read the bytes of one; what is found is remembered. One that is gone meanwhile is passed over."""
    with suppress(NotFound, SnapshotDamaged), context.repo.hold(id):
        examine(
            context,
            SnapshotSelector(id, reading=True),
            ResolvedSnapshot(context.repo.root, id, True, LOCAL_REPOSITORY),
            members=False,
        )


def _due(context: SnapshotContext, ids: Iterable[str]) -> Iterator[str]:
    record, now = read_record(context.repo.root), context.clock.now_ms()
    for id in ids:
        looks = stamp_of_bundle(context.repo.root, id)
        if looks is not None and not _is_fresh(record.get(id), looks, now):
            yield id


def _is_fresh(known: CheckResult | None, looks: FileStamp, now: int) -> bool:
    return known is not None and known.looks == looks and 0 <= now - known.at < AGAIN_MS
