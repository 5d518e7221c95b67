"""Reading whole snapshots in idle time, so that the list shows truly which are good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from holdfast.context import HOUR_MS
from holdfast.core.errors import NotFound, SnapshotDamaged
from holdfast.snapshot.repo.check_results import CheckResult, FileStamp, read_record, stamp_of_bundle
from holdfast.snapshot.repo.context import Archive
from holdfast.snapshot.repo.entries import ids_on, newest_first
from holdfast.snapshot.resolve import LOCAL_REPOSITORY, ResolvedSnapshot, SnapshotSelector, examine

AGAIN_MS = 30 * 24 * HOUR_MS  # disks rot without any sign in a file's times


def check_next(archive: Archive, passed: set[str]) -> str | None:
    """Read the newest snapshot that was not read for long, or never; its id, or None if there is none.

    One of which no note could be taken, as on a disk that is read-only, is added to those that are passed over.
    """
    for id in _due(archive, newest_first(ids_on(archive.repo.root))):
        if id not in passed:
            check(archive, id)
            if next(_due(archive, [id]), None):
                passed.add(id)
            return id
    return None


def check_these(archive: Archive, ids: Iterable[str]) -> None:
    """Read those of them that were not, and those that were damaged: they may have been put back."""
    record = read_record(archive.repo.root)
    for id in list(ids):
        known = record.get(id)
        if known is None or known.damaged or known.looks != stamp_of_bundle(archive.repo.root, id):
            check(archive, id)


def check(archive: Archive, id: str) -> None:
    """Read the bytes of one; what is found is remembered. One that is gone meanwhile is passed over."""
    with suppress(NotFound, SnapshotDamaged), archive.repo.hold(id):
        examine(
            archive,
            SnapshotSelector(id, reading=True),
            ResolvedSnapshot(archive.repo.root, id, True, LOCAL_REPOSITORY),
            members=False,
        )


def _due(archive: Archive, ids: Iterable[str]) -> Iterator[str]:
    record, now = read_record(archive.repo.root), archive.clock.now_ms()
    for id in ids:
        looks = stamp_of_bundle(archive.repo.root, id)
        if looks is not None and not _is_fresh(record.get(id), looks, now):
            yield id


def _is_fresh(known: CheckResult | None, looks: FileStamp, now: int) -> bool:
    return known is not None and known.looks == looks and 0 <= now - known.at < AGAIN_MS
