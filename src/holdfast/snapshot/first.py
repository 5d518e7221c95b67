"""The first start of an empty data folder: what lies in the vault is brought back before anything is written."""

from __future__ import annotations

from holdfast.errors import SnapshotDamaged, VaultRefused
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.compacts import Compacts, is_colony
from holdfast.snapshot.finding import LATEST, Named
from holdfast.snapshot.restore import plant
from holdfast.snapshot.vaulting import is_missing, list_vault
from holdfast.store.folder import DataFolder


def begin_from_vault(archive: Archive, folder: DataFolder) -> str | None:
    """Restore the newest snapshot of this memory from the vault; its id, or None if the vault holds none.

    A vault that cannot be reached, or whose newest snapshot may not be used, keeps the memory from starting: an empty
    memory in its place would soon look like the newest.

    Raises:
        Fault: it could not be restored.
    """
    place = archive.settings.vault
    if is_colony(place):
        return _begin_from_colony(archive, folder, place)
    vault = archive.vault(place)
    if is_missing(vault):
        raise VaultRefused(
            f"vault: {vault.place} is not there, and a memory that might be in it must not begin empty",
            hint="Mount the disk or correct HOLDFAST_VAULT; make the folder if it is a new vault.",
        )
    if not list_vault(vault, archive.tenant, archive.agent):
        return None
    try:
        return plant(archive, Named(LATEST, vault=place), folder).manifest.identity.id
    except SnapshotDamaged as fault:
        fault.hint = (
            "An empty memory begins with the newest in the vault, and that is damaged. holdfast vault list shows older "
            f"ones; begin with one of them: holdfast snapshot restore ID --from {place} --yes."
        )
        raise


def _begin_from_colony(archive: Archive, folder: DataFolder, place: str) -> str | None:
    if Compacts(archive, place).newest() is None:  # it answered, and has none
        return None
    return plant(archive, Named(LATEST, vault=place), folder).manifest.identity.id
