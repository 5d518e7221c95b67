"""What is guarded, and what is wrong with it, in a few figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.core.background import GuardProgress, GuardWatchState
from holdfast.core.errors import Fault
from holdfast.core.model import DEFAULT_TENANT
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.store.guard.guard_history import GuardHistory, history_path
from holdfast.store.guard.guard_records import GuardedPlace, PlaceTotals


@dataclass(frozen=True, slots=True)
class PlaceStatus:
    """A place, what is kept of it, and how it is watched; None: by no server now."""

    place: GuardedPlace
    totals: PlaceTotals
    watch: GuardWatchState | None


@dataclass(frozen=True, slots=True)
class GuardStatus:
    """All of them."""

    places: tuple[PlaceStatus, ...] = ()
    fault: str = ""  # why nothing is taken

    @property
    def active(self) -> tuple[PlaceStatus, ...]:
        return tuple(one for one in self.places if one.place.active)

    @property
    def taken_at(self) -> int | None:
        """When something was taken last."""
        return max((one.totals.taken_at for one in self.places if one.totals.taken_at is not None), default=None)

    @property
    def left(self) -> int:
        return sum(one.totals.left for one in self.active)

    @property
    def files(self) -> int:
        return sum(one.totals.files for one in self.active)

    @property
    def bytes(self) -> int:
        return sum(one.totals.bytes for one in self.places)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(one.place.name for one in self.active if one.watch is not None and one.watch.way == "missing")

    @property
    def scanned(self) -> str:
        """Why places are looked through instead of watched; "" if none is."""
        return next((one.watch.fault for one in self.active if one.watch and one.watch.way == "scanned"), "")


def guard_report(context: SnapshotContext, progress: GuardProgress) -> GuardStatus:
    """The same for those who report on much else: a damaged history is a fault of the guard, not of the report."""
    try:
        return guard_status(context, progress)
    except Fault as fault:
        return GuardStatus(fault=fault.message)


def guard_status(context: SnapshotContext, progress: GuardProgress) -> GuardStatus:
    """The state of the guarded places, which the operator of the server has.

    Raises:
        DataDamaged: the history is damaged.
    """
    path = history_path(context.home)
    if context.tenant != DEFAULT_TENANT or not path.is_file():
        return GuardStatus()
    with GuardHistory(path) as history:
        places = [PlaceStatus(one, history.totals(one), progress.of(one.name)) for one in history.places()]
    return GuardStatus(tuple(places), progress.fault)


def is_guarding(home: Path) -> bool:
    """Whether a place is watched here."""
    path = history_path(home)
    if not path.is_file():
        return False
    with GuardHistory(path) as history:
        return any(one.active for one in history.places())
