"""How safe a memory is: its newest good snapshot and how old it is, at a glance. Reads manifests, never a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry

# A manifest names every file of a memory: of many only the newest are read.
GLANCES = 20


@dataclass(frozen=True, slots=True)
class RepositoryHealth:
    """The first questions of a user: is there a good snapshot, how old is it, who can read it."""

    count: int
    size: int
    newest: SnapshotEntry | None  # the newest good one
    damaged: tuple[str, ...]  # ids of newer or neighbouring ones that are not whole

    @property
    def manifest(self) -> Manifest | None:
        return self.newest.manifest if self.newest else None


def snapshot_health(context: SnapshotContext) -> RepositoryHealth:
    """The state of the repository: counts of all, a look at the newest."""
    repo = context.repo
    damaged = tuple(one.id for one in islice(repo.each(), GLANCES) if one.damaged)
    return RepositoryHealth(repo.count(), repo.bytes(), repo.newest(), damaged)


def age_of_newest(context: SnapshotContext) -> int | None:
    """Milliseconds since the newest good snapshot; negative if the clock was set back; None if there is none."""
    newest = context.repo.newest()
    if newest is None or newest.manifest is None:
        return None
    return context.clock.now_ms() - newest.manifest.identity.created_at
