"""A vault that counts the bytes that are put into it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.ports import Parcel, Vault
from holdfast.vault.wrapper import Around


class Counted(Around):
    """The inner vault, and how many bytes of parcels it took: what was tried twice counts once, and what was there
    before not at all. What is put without a parcel are notes of a few bytes."""

    def __init__(self, vault: Vault):
        super().__init__(vault)
        self.taken = 0

    def put_all(self, parcels: Sequence[Parcel]) -> None:
        self._vault.put_all(parcels)
        self.taken += sum(one.size for one in parcels)
