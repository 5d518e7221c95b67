"""A vault that counts the bytes that are put into it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.ports import Upload, Vault
from holdfast.vault.wrapper import VaultWrapper


class ByteCounter(VaultWrapper):
    """The inner vault, and how many bytes of parcels it took: what was tried twice counts once, and what was there
    before not at all. What is put without a parcel are notes of a few bytes."""

    def __init__(self, vault: Vault):
        super().__init__(vault)
        self.taken = 0

    def put_all(self, parcels: Sequence[Upload]) -> None:
        self._vault.put_all(parcels)
        self.taken += sum(one.size for one in parcels)
