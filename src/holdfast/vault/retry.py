"""A vault that is retried on transient errors: with growing pauses of random length, or those it requests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, TypeVar

from holdfast.core.errors import Conflict, NotFound, VaultBusy, VaultUnreachable
from holdfast.core.ports import Entropy, Protection, Upload, Vault, VaultObject, VaultState
from holdfast.vault.streams import read_whole, start_of, unclosed
from holdfast.vault.wrapper import VaultWrapper

T = TypeVar("T")

PASSING = (VaultBusy, VaultUnreachable)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_STEPS = 0xFFFF
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Reopenable:
    """Bytes under a name that can be read from their start as often as needed."""

    name: str
    open: Callable[[], BinaryIO]


class RetryingVault(VaultWrapper):
    """The inner vault, tried so many times. A requested wait beyond `patience` seconds is left to the caller.

    A stream that cannot be brought back to its start is sent once. An answer that was lost on its way is no conflict:
    if a put finds exactly its own bytes under the name after a failed try, it has succeeded.
    """

    def __init__(
        self,
        vault: Vault,
        entropy: Entropy,
        attempts: int = 5,
        patience: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ):
        super().__init__(vault)
        self._entropy, self._attempts = entropy, attempts
        self._patience, self._sleep = patience, sleep

    def put(self, name: str, data: BinaryIO) -> None:
        start = start_of(data)
        if start is None:
            return self._vault.put(name, data)

        def from_the_start() -> BinaryIO:
            data.seek(start)
            return unclosed(data)

        self._put_opened([Reopenable(name, from_the_start)], lambda: self._put_one(name, from_the_start))

    def put_all(self, parcels: Sequence[Upload]) -> None:
        if self.can.together:
            openings = [Reopenable(one.name, one.open) for one in parcels]
            return self._put_opened(openings, lambda: self._vault.put_all(parcels))
        for one in parcels:  # as parcels: a vault that knows the size beforehand may send it a better way
            self._put_opened([Reopenable(one.name, one.open)], partial(self._vault.put_all, [one]))

    def _put_one(self, name: str, opened: Callable[[], BinaryIO]) -> None:
        with closing(opened()) as data:
            self._vault.put(name, data)

    def _put_opened(self, openings: Sequence[Reopenable], put: Callable[[], None]) -> None:
        tries = itertools.count()

        def once() -> None:
            first = next(tries) == 0
            try:
                put()
            except Conflict:
                if first or not all(map(self._holds, openings)):
                    raise

        self._insist(once)

    def _holds(self, opening: Reopenable) -> bool:
        """Whether the vault has exactly these bytes under the name."""
        try:
            stored = self.open(opening.name)
        except NotFound:
            return False
        with closing(stored), closing(opening.open()) as data:
            while piece := read_whole(data, _CHUNK):
                if read_whole(stored, len(piece)) != piece:
                    return False
            return not stored.read(1)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        """Tried again only if the stream can be; a lost answer shows as a conflict, for which a caller is prepared."""
        start = start_of(data)
        if start is None:
            return self._vault.replace(name, data, tag)

        def once() -> None:
            data.seek(start)
            self._vault.replace(name, unclosed(data), tag)

        self._insist(once)

    def open(self, name: str) -> BinaryIO:
        return self._insist(lambda: self._vault.open(name))

    def stat(self, name: str) -> VaultObject:
        return self._insist(lambda: self._vault.stat(name))

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        """After a failed page it goes on behind the last name it gave; each page has all tries of its own."""
        failed = 0
        while True:
            try:
                for one in self._vault.list(prefix, after):
                    yield one
                    after, failed = one.name, 0
                return
            except PASSING as fault:
                failed += 1
                self._pause(fault, failed)

    def delete(self, name: str) -> None:
        self._insist(lambda: self._vault.delete(name))

    def state(self) -> VaultState:
        return self._insist(self._vault.state)

    def protection(self, name: str) -> Protection:
        return self._insist(lambda: self._vault.protection(name))

    def _insist(self, once: Callable[[], T]) -> T:
        for failed in itertools.count(1):
            try:
                return once()
            except PASSING as fault:
                self._pause(fault, failed)
        raise AssertionError  # a count has no end

    def _pause(self, fault: VaultBusy | VaultUnreachable, failed: int) -> None:
        """Wait before the next try, or raise if there is none. Full jitter, so that many clients do not come back as
        one; never less than the vault requested."""
        asked = fault.details.get("retryAfter")
        least = float(asked) if isinstance(asked, int | float) else 0.0
        if failed >= self._attempts or least > self._patience:
            raise fault
        chance = int(self._entropy.hex(4), 16) / _STEPS
        self._sleep(max(least, chance * min(_FIRST_PAUSE * 2**failed, _LONGEST_PAUSE)))
