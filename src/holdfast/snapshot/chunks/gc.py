"""Remove packs that no snapshot needs any more, while others may be writing; `leases.py` explains why that is safe.

Nothing is removed unless it is known of every snapshot what it needs: one that cannot be read may need anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.ports import Clock, Entropy, Vault
from holdfast.snapshot.chunks.leases import condemning, leases, remove_dead
from holdfast.snapshot.chunks.reader import PACKS

Needed = Callable[[], set[str]]
"""The packs that the snapshots in the vault need, as they are at the moment of the call."""


@dataclass(frozen=True, slots=True)
class GcResult:
    """What a sweep removed, and what it has to leave to a later one."""

    packs: int = 0
    size: int = 0
    waiting: int = 0  # packs that no snapshot needs, kept while a writer is active


NOTHING = GcResult()


def sweep(
    vault: Vault, prefix: str, needed: Needed, clock: Clock, entropy: Entropy, *, alone: bool = False
) -> GcResult:
    """Remove the packs that no snapshot needs. `alone`: no process is writing, whatever the leases.

    Raises:
        SnapshotDamaged, SnapshotTooNew: what a snapshot needs is unknown, so nothing is removed.
    """
    remove_dead(vault, prefix, clock, alone=alone)
    sizes = unneeded(vault, prefix, needed())
    if not sizes:
        return GcResult()
    if leases(vault, prefix):
        return GcResult(waiting=len(sizes))
    with condemning(vault, prefix, sizes, clock, entropy):
        if leases(vault, prefix):
            return GcResult(waiting=len(sizes))
        # A writer that had not seen what is condemned has put its manifest by now.
        still = set(sizes) - needed()
        for name in sorted(still):
            vault.delete(f"{prefix}{PACKS}/{name}")
    return GcResult(len(still), sum(sizes[name] for name in still))


def unneeded(vault: Vault, prefix: str, needed: set[str]) -> dict[str, int]:
    """The packs in the vault that are not needed, with their sizes."""
    folder = f"{prefix}{PACKS}/"
    there = {one.name.removeprefix(folder): one.size for one in vault.list(folder)}
    return {name: size for name, size in there.items() if name not in needed}
