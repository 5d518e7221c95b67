"""Vaults that are used for less than they can do: only read, or only added to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from holdfast.core.errors import VaultRefused
from holdfast.core.ports import Capabilities, Upload, VaultState
from holdfast.vault.names import check_name
from holdfast.vault.wrapper import VaultWrapper


class ReadOnly(VaultWrapper):
    """The inner vault without putting, replacing and deleting."""

    @property
    def can(self) -> Capabilities:
        return replace(self._vault.can, replace=False, together=False, delete=False, most_bytes=0, increments=False)

    def put(self, name: str, data: BinaryIO) -> None:
        raise _refusal(name)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        for parcel in parcels:
            raise _refusal(parcel.name)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        raise _refusal(name)

    def delete(self, name: str) -> None:
        raise _refusal(name)

    def state(self) -> VaultState:
        return replace(self._vault.state(), free=0)


def _refusal(name: str) -> VaultRefused:
    check_name(name)
    return VaultRefused(f"vault: {name} was not changed: the vault is open read-only", hint="Pass it as the target.")


class AppendOnly(VaultWrapper):
    """The inner vault without replacing and deleting: HOLDFAST_VAULT_APPEND_ONLY."""

    @property
    def can(self) -> Capabilities:
        return replace(self._vault.can, replace=False, delete=False)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        raise _add_only(name)

    def delete(self, name: str) -> None:
        raise _add_only(name)


def _add_only(name: str) -> VaultRefused:
    check_name(name)
    return VaultRefused(
        f"vault: {name} was not removed: this host may only add (HOLDFAST_VAULT_APPEND_ONLY)",
        hint="Prune with keys that may delete: holdfast vault prune --credentials FILE",
    )
