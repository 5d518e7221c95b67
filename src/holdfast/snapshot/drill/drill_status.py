"""How long ago a restore was proven, whether the last drill failed, and when the next is due."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.times import iso, parse_time
from holdfast.snapshot.drill.drill_records import DrillRecord, each_record
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import ids_on, newest_first
from holdfast.snapshot.repo.paths import parse_id


@dataclass(frozen=True, slots=True)
class DrillStatus:
    """The state of the drills of a memory."""

    every_s: int = 0  # 0: none is made by itself
    proven: DrillRecord | None = None  # the newest receipt that counts
    signed: bool = False  # whether that receipt is
    last: DrillRecord | None = None  # of the newest drill, whatever came of it
    unproven_ms: int = 0  # since the restore that was proven last; if there is none, since the first snapshot
    last_ms: int | None = None  # since the newest drill; negative if the clock was set back

    @property
    def failed(self) -> DrillRecord | None:
        """The newest drill, if it failed: it counts until one succeeds."""
        return self.last if self.last is not None and self.last.outcome == "failed" else None

    @property
    def locked(self) -> DrillRecord | None:
        return self.last if self.last is not None and self.last.outcome == "locked" else None

    @property
    def alarm(self) -> str | None:
        """What everyone has to know; None while the last drill did not fail. It names no place."""
        failed = self.failed
        if failed is None:
            return None
        what = f"snapshot {failed.snapshot}" if failed.snapshot else "the vault"
        if failed.moment is not None:
            what = f"the memory of {iso(failed.moment)}"
        return f"The last restore drill failed: {what} ({failed.code})"

    @property
    def remedy(self) -> str:
        return (self.last.hint if self.last else None) or ""


def drill_status(context: SnapshotContext) -> DrillStatus:
    """From the records alone; neither the vault nor a snapshot is read."""
    last: DrillRecord | None = None
    for one in each_record(context):
        if one.record is not None and one.counts:
            last = last or one.record
            if one.proves:
                since = _since(context, one.record)
                signed = one.standing == "signed"
                return DrillStatus(_every(context), one.record, signed, last, max(0, since), _since(context, last))
    since_last = _since(context, last) if last else None
    return DrillStatus(_every(context), last=last, unproven_ms=_since_first(context), last_ms=since_last)


def _every(context: SnapshotContext) -> int:
    return context.settings.drill_every


def _since(context: SnapshotContext, record: DrillRecord) -> int:
    return context.clock.now_ms() - record.began - record.took_ms


def _since_first(context: SnapshotContext) -> int:
    """Milliseconds since the oldest snapshot here was made; 0 if there is none."""
    ids = newest_first(ids_on(context.repo.root))
    return max(0, context.clock.now_ms() - parse_time(parse_id(ids[-1]).time, "id")) if ids else 0
