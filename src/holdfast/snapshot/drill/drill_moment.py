"""Which moment a drill restores, where the vault has a journal: any between the first and the last that it promises."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.ports import Vault
from holdfast.snapshot.journal.journal_lines import (
    JournalLine,
    PlacedSnapshot,
    last_written,
    placed_snapshots,
    read_lines,
)
from holdfast.snapshot.remote.transfer import list_vault
from holdfast.snapshot.repo.context import SnapshotContext

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PickedMoment:
    """A moment, and the snapshot that it begins with; "" if its line begins with nothing."""

    at: int
    snapshot: str
    size: int


def pick_moment(context: SnapshotContext, vault: Vault) -> PickedMoment | None:
    """A random moment of the kept time in half the cases, else None: then a snapshot is drilled. None as well where
    there is no journal, or the snapshot before the moment is larger than a drill may restore."""
    lines = read_lines(vault, context.tenant, context.agent)
    if not lines:
        return None
    snapshots = placed_snapshots(vault, context.tenant, context.agent)
    span = _span(context, vault, lines, snapshots)
    if span is None or (snapshots and int(context.entropy.hex(_DIGITS), 16) % 2):
        return None
    first, last = span
    at = first + int(context.entropy.hex(_DIGITS), 16) % (last - first + 1)
    picked = _begun(context, vault, snapshots, at)
    return picked if picked.size <= context.settings.drill_bytes else None


def moment_named(context: SnapshotContext, vault: Vault, at: int) -> PickedMoment:
    """The moment that a caller named, whatever the size."""
    return _begun(context, vault, placed_snapshots(vault, context.tenant, context.agent), at)


def _span(
    context: SnapshotContext, vault: Vault, lines: dict[str, JournalLine], snapshots: list[PlacedSnapshot]
) -> tuple[int, int] | None:
    """The first and the last moment that can be restored and are kept."""
    last = last_written(vault, lines[max(lines)])
    starts = [one.identity.created_at for one in snapshots if one.line]
    starts += [one.header.at for one in lines.values() if one.is_from_nothing and one.header is not None]
    if not starts:
        return None
    first = max(min(starts), last - context.settings.journal_keep * 1000)
    return (first, last) if first < last else None


def _begun(context: SnapshotContext, vault: Vault, snapshots: list[PlacedSnapshot], at: int) -> PickedMoment:
    base = next((one.identity.id for one in snapshots if one.identity.created_at <= at), "")
    sizes = {one.id: one.size for one in list_vault(vault, context.tenant, context.agent)}
    return PickedMoment(at, base, sizes.get(base, 0))
