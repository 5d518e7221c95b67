"""Which versions of guarded files stay: thinned out with age, and more so where a place reaches its limit.

The newest version of a file that is there is never removed, and a removed file only where nothing else makes room:
never by its age alone, as a clock may be wrong.
"""

from __future__ import annotations

from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.retention import RetentionItem, RetentionPolicy, plan
from holdfast.store.guard.guard_history import GuardHistory
from holdfast.store.guard.guard_records import FileVersion, GuardedFile, GuardedPlace

# All of a day, then one a day, a week and a month.
USUAL = RetentionPolicy(last=20, within_days=1, daily=30, weekly=26, monthly=24)
# One after the other, where the place is full.
TIGHTER = (RetentionPolicy(last=10, daily=14, weekly=8), RetentionPolicy(last=3, daily=3), RetentionPolicy(last=1))
_FULL, _GOAL = 0.9, 0.8  # of the limit: where room is made, and until when


def make_room(context: SnapshotContext, history: GuardHistory, place: GuardedPlace) -> int:
    """Remove what the rules do not keep, and more where the place is nearly full; how many versions.

    Raises:
        StorageFull, StorageFailed: the history cannot be written.
        DataDamaged: it is damaged.
    """
    now, limit = context.clock.now_ms(), context.settings.guard_bytes
    gone = _thin(history, place, USUAL, now)
    if gone:
        history.drop_unused()
    if history.stored_bytes(place) < _FULL * limit:
        return gone
    for policy in TIGHTER:
        gone += _thin(history, place, policy, now)
        history.drop_unused()
        if history.stored_bytes(place) < _GOAL * limit:
            return gone
    return gone + _drop_removed(history, place, round(_GOAL * limit))


def _thin(history: GuardHistory, place: GuardedPlace, policy: RetentionPolicy, now: int) -> int:
    drop: list[FileVersion] = []
    for file in history.files_with(place, policy.last):
        drop += superfluous(history.versions(file), policy, now)
    if drop:
        with history.writing():
            history.drop_versions(drop)
    return len(drop)


def superfluous(versions: list[FileVersion], policy: RetentionPolicy, now: int) -> list[FileVersion]:
    """What the policy does not keep of a file's versions, oldest first. The newest stays, and the last content too once
    the file was removed."""
    content = [one for one in versions if not one.gone]
    items = [RetentionItem(str(one.id), one.id, one.taken_at, True, False, True) for one in content]
    removed = set(plan(items, policy, now).remove)
    found: list[FileVersion] = []
    for before, one in zip([None, *versions], versions, strict=False):
        # That a file was removed says nothing once it is not known what was there before.
        alone = one.gone and one is not versions[-1] and (before is None or before.gone or before in found)
        if alone or str(one.id) in removed:
            found.append(one)
    return found


def _drop_removed(history: GuardHistory, place: GuardedPlace, goal: int) -> int:
    """Forget files that were removed, those removed first before others, until there is room."""
    gone: list[tuple[int, GuardedFile]] = sorted(
        ((one.newest.id, one) for one in history.files(place) if one.newest is not None and one.newest.gone),
        key=lambda row: row[0],
    )
    dropped = 0
    while gone and history.stored_bytes(place) >= goal:
        some, gone = gone[: max(1, len(gone) // 8)], gone[max(1, len(gone) // 8) :]
        with history.writing():
            for _, file in some:
                history.drop_file(file)
        history.drop_unused()
        dropped += len(some)
    return dropped
