"""Snapshots that nobody asked for: on a schedule, and before work that changes much."""

from __future__ import annotations

from typing import Literal

from holdfast.desk import Desk
from holdfast.snapshot.archive import Archive, archive_of
from holdfast.snapshot.changes import is_changed
from holdfast.snapshot.depots import depot_of
from holdfast.snapshot.flow import Wish, create_locked, put_in_vault
from holdfast.snapshot.keeping import policy_of, prune
from holdfast.snapshot.shelved import Shelved
from holdfast.snapshot.values import Maker

# Forgetting so many records at once is worth a snapshot; forgetting a few is everyday.
BULK = 10

Work = Literal["consolidate", "import", "forget"]
_MAKERS: dict[Work, Maker] = {
    "consolidate": "before-consolidate",
    "import": "before-import",
    "forget": "before-forget",
}


def before(desk: Desk, work: Work) -> None:
    """Keep the memory as it is before the work changes it, if the settings say so and something is new.

    Raises:
        Fault: no snapshot could be made; the work must not begin.
    """
    if desk.home is None or work not in desk.settings.snapshot_before or not desk.store.last_seq():
        return
    archive = archive_of(desk)
    made = make_if_changed(archive, Wish(label=f"before {work}", made_by=_MAKERS[work]))
    if made is not None:
        put_in_vault(archive, made.id, None)


def catch_up(archive: Archive) -> None:
    """Copy the newest snapshot to the vault if it could not be reached when that one was made.

    Raises:
        StorageFull, StorageFailed, UpstreamFailed: it cannot be reached now either.
    """
    place = archive.settings.vault
    newest = next((one for one in archive.shelf.each() if not one.damaged), None)
    if not place or newest is None:
        return
    if newest.id in depot_of(archive, place).standing().missing:
        put_in_vault(archive, newest.id, place)


def make_if_changed(archive: Archive, wish: Wish) -> Shelved | None:
    """A snapshot on the shelf if the newest one does not hold what is there; older automatic ones leave as the settings
    say. The vault comes after that: while it is away, the shelf must not fill the disk."""
    if not is_changed(archive):
        return None
    with archive.locked("create"):
        made = create_locked(archive, wish)
    prune(archive, policy_of(archive.settings), automatic_only=True)
    return made
