"""The first start of an empty data folder: what lies in the vault is brought back before anything is written."""

from __future__ import annotations

from holdfast.snapshot.archive import Archive
from holdfast.snapshot.finding import LATEST, Named
from holdfast.snapshot.restore import plant
from holdfast.snapshot.vaulting import list_vault
from holdfast.store.folder import DataFolder


def begin_from_vault(archive: Archive, folder: DataFolder) -> bool:
    """Restore the newest snapshot of this memory from the vault; False if the vault holds none.

    A vault that cannot be reached, or whose newest snapshot may not be used, keeps the memory from starting: an empty
    memory in its place would soon look like the newest.

    Raises:
        Fault: it could not be restored.
    """
    place = archive.settings.vault
    if not list_vault(archive.vault(place), archive.tenant, archive.agent):
        return False
    plant(archive, Named(LATEST, vault=place), folder)
    return True
