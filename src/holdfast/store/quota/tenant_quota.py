"""Quotas of a tenant: how much its memory may hold, and how many writes it may make each minute.

They hold for what callers write. What the server does by itself, a restore and whatever makes a memory smaller are
never refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from holdfast.core.errors import Fault, QuotaReached, RateLimited
from holdfast.store.journal.journal_port import ChangeLog
from holdfast.store.port import Finding, Reader, Store, Tx, Usage

T = TypeVar("T")

MINUTE = 60.0
WRITES = "writes"  # the name of the allowance


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may have; 0 is no limit."""

    records: int
    bytes: int
    writes: int  # each minute

    @property
    def is_set(self) -> bool:
        return bool(self.records or self.bytes or self.writes)

    def check(self, before: Usage, after: Usage) -> None:
        """Refuse a write that makes more of what there may not be more of.

        Raises:
            QuotaReached: it does.
        """
        for name, setting, limit, had, has in (
            ("records", "HOLDFAST_QUOTA_RECORDS", self.records, before.records, after.records),
            ("bytes", "HOLDFAST_QUOTA_BYTES", self.bytes, before.bytes, after.bytes),
        ):
            if limit and has > max(had, limit):
                raise QuotaReached(
                    f"quota: this memory may hold {limit} {name}, and has {had}",
                    hint=f"Forget what is no longer needed, or raise {setting}.",
                    details={"quota": name, "limit": limit, "used": had},
                )


class QuotaStore:
    """A store for one request of a tenant, which holds its writes to the quota; fulfils `port.Store`."""

    def __init__(
        self, inner: Store, tenant: str, quota: Quota, steady: Callable[[], float], refused: Callable[[str], None]
    ):
        """`refused` is told which limit refused a write."""
        self._inner = inner
        self._tenant = tenant
        self._quota = quota
        self._steady = steady
        self._refused = refused
        self._charged = False

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        def limited(tx: Tx) -> T:
            before = tx.usage(self._tenant)
            result = job(tx)
            after = tx.usage(self._tenant)
            self._quota.check(before, after)
            if after.records > before.records or after.bytes > before.bytes:
                self._charge(tx)
            return result

        try:
            return self._inner.write(limited, again=again)
        except QuotaReached as fault:
            self._refused(str(fault.details["quota"]))
            raise
        except RateLimited:
            self._refused(WRITES)
            raise

    def _charge(self, tx: Tx) -> None:
        """A request is counted once, however many records it brings: none is refused halfway for that."""
        writes = self._quota.writes
        if not writes or self._charged:
            return
        wait = tx.take_allowance(self._tenant, WRITES, writes / MINUTE, writes, self._steady())
        if wait:
            raise RateLimited(
                f"quota: this memory may be written to {writes} times a minute",
                hint="Wait as long as Retry-After says, or raise HOLDFAST_QUOTA_WRITES.",
                details={"quota": WRITES, "limit": writes, "retryAfter": math.ceil(wait)},
            )
        self._charged = True

    def read(self) -> Reader:
        return self._inner.read()

    def snapshot(self) -> AbstractContextManager[Reader]:
        return self._inner.snapshot()

    def usage(self, tenant: str) -> Usage:
        return self._inner.usage(tenant)

    def last_seq(self, tenant: str | None = None) -> int:
        return self._inner.last_seq(tenant)

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        return self._inner.last_seqs(own=own)

    def compact_words(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        return self._inner.compact_words(least, stop, thorough)

    def change_log(self) -> ChangeLog | None:
        return self._inner.change_log()

    def failure(self, tenant: str | None = None) -> Fault | None:
        return self._inner.failure(tenant)

    def check_pages(self) -> bool:
        return self._inner.check_pages()

    def verify(self) -> list[Finding]:
        return self._inner.verify()

    def repair_index(self) -> int:
        return self._inner.repair_index()

    def close(self) -> None:
        self._inner.close()
