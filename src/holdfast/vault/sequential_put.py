"""Several names put one after the other, for vaults that cannot store them in one step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from holdfast.core.ports import Upload, Vault


def put_each(vault: Vault, parcels: Sequence[Upload]) -> None:
    """Put them in their order; those before one that fails stay."""
    for parcel in parcels:
        with closing(parcel.open()) as data:
            vault.put(parcel.name, data)
