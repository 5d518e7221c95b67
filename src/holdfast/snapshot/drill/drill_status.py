"""How long ago a restore was proven, whether the last drill failed, and when the next is due."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.snapshot.drill.drill_records import DrillRecord, list_records
from holdfast.snapshot.repo.context import SnapshotContext


@dataclass(frozen=True, slots=True)
class DrillStatus:
    """The state of the drills of a memory."""

    every_s: int  # 0: none is made by itself
    proven: DrillRecord | None  # the newest receipt that counts
    last: DrillRecord | None  # of the newest drill, whatever came of it
    signed: bool  # whether that receipt is
    proven_ms: int | None  # since it; None if there is none
    last_ms: int | None

    @property
    def failed(self) -> DrillRecord | None:
        """The newest drill, if it failed: until one succeeds it counts."""
        return self.last if self.last is not None and self.last.outcome == "failed" else None

    @property
    def locked(self) -> DrillRecord | None:
        return self.last if self.last is not None and self.last.outcome == "locked" else None


def drill_status(context: SnapshotContext) -> DrillStatus:
    """From the records; the vault is not read."""
    found = list_records(context)
    proven = next((one for one in found if one.proves), None)
    last = next((one.record for one in found if one.record is not None and one.counts), None)
    signed, record = proven is not None and proven.standing == "signed", proven.record if proven else None
    return DrillStatus(
        context.settings.drill_every, record, last, signed, _since(context, record), _since(context, last)
    )


def _since(context: SnapshotContext, record: DrillRecord | None) -> int | None:
    """Milliseconds; negative if the clock was set back."""
    return None if record is None else context.clock.now_ms() - record.began - record.took_ms
