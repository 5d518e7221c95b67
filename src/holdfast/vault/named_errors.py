"""A vault whose faults name it: a copy from one vault to another has two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from holdfast.core.errors import UpstreamFailed, VaultFull
from holdfast.core.ports import Protection, Upload, VaultObject, VaultState
from holdfast.vault.wrapper import VaultWrapper


class NamedErrors(VaultWrapper):
    """The inner vault, named in what goes wrong with it."""

    def put(self, name: str, data: BinaryIO) -> None:
        with self._named():
            self._vault.put(name, data)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        with self._named():
            self._vault.put_all(parcels)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        with self._named():
            self._vault.replace(name, data, tag)

    def open(self, name: str) -> BinaryIO:
        with self._named():
            return self._vault.open(name)

    def stat(self, name: str) -> VaultObject:
        with self._named():
            return self._vault.stat(name)

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        with self._named():
            yield from self._vault.list(prefix, after)

    def delete(self, name: str) -> None:
        with self._named():
            self._vault.delete(name)

    def state(self) -> VaultState:
        with self._named():
            return self._vault.state()

    def protection(self, name: str) -> Protection:
        with self._named():
            return self._vault.protection(name)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """The fault with the place in it, once: what is put may come from another vault that named its own."""
        try:
            yield
        except (UpstreamFailed, VaultFull) as fault:
            if "vault" not in fault.details:
                fault.details = {**fault.details, "vault": self.place}
                fault.message = f"{fault.message} ({self.place})"
            raise
