"""Snapshots that nobody asked for: on a schedule, and before work that changes much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from holdfast.desk import Desk
from holdfast.snapshot.archive import Archive, archive_of
from holdfast.snapshot.changes import is_changed
from holdfast.snapshot.flow import Made, Wish, making, put_in_vault
from holdfast.snapshot.keeping import policy_of, prune
from holdfast.snapshot.layouts import put
from holdfast.snapshot.values import Maker
from holdfast.snapshot.vaulting import list_vault

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
    with making_if_changed(archive, Wish(label=f"before {work}", made_by=_MAKERS[work])) as made:
        if made is not None:
            put_in_vault(archive, made, None)


def catch_up(archive: Archive) -> None:
    """Copy the newest snapshot to the vault if it could not be reached when that one was made.

    Raises:
        StorageFull, StorageFailed, UpstreamFailed: it cannot be reached now either.
    """
    place = archive.settings.vault
    newest = next((one for one in archive.shelf.each() if not one.damaged), None)
    if not place or newest is None:
        return
    if newest.id not in {one.id for one in list_vault(archive.vault(place), archive.tenant, archive.agent)}:
        put(archive, archive.vault(place), newest.id)


@contextmanager
def making_if_changed(archive: Archive, wish: Wish) -> Iterator[Made | None]:
    """A snapshot on the shelf if the newest one does not hold what is there; older automatic ones leave as the settings
    say. The vault comes after that: while it is away, the shelf must not fill the disk."""
    if not is_changed(archive):
        yield None
        return
    with making(archive, wish) as made:
        prune(archive, policy_of(archive.settings), automatic_only=True)
        yield made
