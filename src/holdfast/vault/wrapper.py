"""A vault around another one that changes nothing; a wrapper defines only what it does differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from holdfast.core.ports import Capabilities, Protection, Upload, Vault, VaultObject, VaultState


class VaultWrapper:
    """All that the inner vault does."""

    def __init__(self, vault: Vault):
        self._vault = vault

    @property
    def place(self) -> str:
        return self._vault.place

    @property
    def can(self) -> Capabilities:
        return self._vault.can

    def put(self, name: str, data: BinaryIO) -> None:
        self._vault.put(name, data)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        self._vault.put_all(parcels)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        self._vault.replace(name, data, tag)

    def open(self, name: str) -> BinaryIO:
        return self._vault.open(name)

    def stat(self, name: str) -> VaultObject:
        return self._vault.stat(name)

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        return self._vault.list(prefix, after)

    def delete(self, name: str) -> None:
        self._vault.delete(name)

    def state(self) -> VaultState:
        return self._vault.state()

    def protection(self, name: str) -> Protection:
        return self._vault.protection(name)
