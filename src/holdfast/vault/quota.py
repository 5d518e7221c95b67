"""A vault with limits of its own: so many bytes, so many requests an hour. Both are checked in advance."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import BinaryIO

from holdfast.core.errors import VaultBusy, VaultFull
from holdfast.core.ports import Clock, Protection, Upload, Vault, VaultObject, VaultState
from holdfast.vault.streams import counted_stream
from holdfast.vault.wrapper import VaultWrapper

HOUR = 3_600.0
PAGE = 1_000  # names in one answer of a list, as S3 and the others give them


class Quota(VaultWrapper):
    """The inner vault, kept below so many bytes. What does not fit is refused before anything of it is sent, if its
    size is known, and otherwise where it passes the limit, with nothing stored.

    Others may write to the same vault, so what is used is counted anew for each put.
    """

    def __init__(self, vault: Vault, most_bytes: int):
        super().__init__(vault)
        self._most = most_bytes

    def put(self, name: str, data: BinaryIO) -> None:
        self._vault.put(name, self._limited(data, self._free()))

    def put_all(self, parcels: Sequence[Upload]) -> None:
        free = self._free()
        if sum(one.size for one in parcels) > free:
            raise self._full()
        self._vault.put_all(parcels)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        old = next((one.size for one in self._vault.list(name) if one.name == name), 0)
        self._vault.replace(name, self._limited(data, self._free() + old), tag)

    def state(self) -> VaultState:
        inner, used = self._vault.state(), self._used()
        free = max(self._most - used, 0)
        return replace(inner, used=used, free=free if inner.free is None else min(free, inner.free))

    def _used(self) -> int:
        return sum(one.size for one in self._vault.list())

    def _free(self) -> int:
        return max(self._most - self._used(), 0)

    def _limited(self, data: BinaryIO, free: int) -> BinaryIO:
        left = free

        def passed(count: int) -> None:
            nonlocal left
            left -= count
            if left < 0:
                raise self._full()

        return counted_stream(data, passed)

    def _full(self) -> VaultFull:
        return VaultFull(f"vault: its quota of {self._most} bytes is exceeded")


class RequestRate:
    """So many requests in any hour, shared by all callers of the same vault in this process.

    Requests of one call are reserved together before the first of them is made: a snapshot is not left half sent
    because the hour is used up. A wait longer than `patience` is refused at once, with how long it would be.
    """

    def __init__(self, calls: int, clock: Clock, patience: float = 60.0, sleep: Callable[[float], None] = time.sleep):
        self._calls, self._clock = calls, clock
        self._patience, self._sleep = patience, sleep
        self._made: deque[float] = deque()  # when each of the last hour was made, or will be
        self._lock = Lock()

    def wait_for(self, calls: int) -> None:
        """Return when so many more requests may be made.

        Raises:
            VaultBusy: that would take too long.
        """
        with self._lock:
            wait = self._reserve(calls, self._clock.steady())
        if wait > 0:
            self._sleep(wait)

    def _reserve(self, calls: int, now: float) -> float:
        """Note the calls and return how long to wait until they may be made."""
        while self._made and self._made[0] <= now - HOUR:
            self._made.popleft()
        over = len(self._made) + calls - self._calls
        if over > len(self._made):
            raise VaultBusy(
                f"vault: {calls} requests exceed the hourly limit of {self._calls}",
                hint="Raise HOLDFAST_VAULT_CALLS_PER_HOUR.",
            )
        wait = self._made[over - 1] + HOUR - now if over > 0 else 0.0
        if wait > self._patience:
            raise VaultBusy("vault: the hourly request limit is reached", details={"retryAfter": math.ceil(wait)})
        self._made.extend([now + wait] * calls)
        return wait


class RateLimitedVault(VaultWrapper):
    """The inner vault, called no faster than its pace."""

    def __init__(self, vault: Vault, pace: RequestRate):
        super().__init__(vault)
        self._pace = pace

    def put(self, name: str, data: BinaryIO) -> None:
        self._pace.wait_for(1)
        super().put(name, data)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        self._pace.wait_for(len(parcels))
        super().put_all(parcels)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        self._pace.wait_for(1)
        super().replace(name, data, tag)

    def open(self, name: str) -> BinaryIO:
        self._pace.wait_for(1)
        return super().open(name)

    def stat(self, name: str) -> VaultObject:
        self._pace.wait_for(1)
        return super().stat(name)

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        self._pace.wait_for(1)
        for number, one in enumerate(super().list(prefix, after), 1):
            yield one
            if number % PAGE == 0:
                self._pace.wait_for(1)

    def delete(self, name: str) -> None:
        self._pace.wait_for(1)
        super().delete(name)

    def state(self) -> VaultState:
        self._pace.wait_for(1)
        return super().state()

    def protection(self, name: str) -> Protection:
        self._pace.wait_for(1)
        return super().protection(name)
