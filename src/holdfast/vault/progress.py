"""A vault whose traffic is told as it passes, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import BinaryIO

from holdfast.ports import Parcel, Vault
from holdfast.vault.around import Around
from holdfast.vault.streams import watched

Passed = Callable[[str, int], None]  # a name, and how many more of its bytes passed


class Watched(Around):
    """The inner vault; every piece that is put or read is told."""

    def __init__(self, vault: Vault, passed: Passed):
        super().__init__(vault)
        self._passed = passed

    def put(self, name: str, data: BinaryIO) -> None:
        self._vault.put(name, self._watch(name, data))

    def put_all(self, parcels: Sequence[Parcel]) -> None:
        self._vault.put_all([replace(one, open=partial(self._open_parcel, one)) for one in parcels])

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        self._vault.replace(name, self._watch(name, data), tag)

    def open(self, name: str) -> BinaryIO:
        return self._watch(name, self._vault.open(name))

    def _open_parcel(self, parcel: Parcel) -> BinaryIO:
        return self._watch(parcel.name, parcel.open())

    def _watch(self, name: str, data: BinaryIO) -> BinaryIO:
        return watched(data, partial(self._passed, name))
