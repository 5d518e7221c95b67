"""How much each tenant's memory holds, kept by the one process that writes to it: counted once, then added to.

To count at each write takes 1.9 times as long with 500 memories, and more with each (bench/mechanisms.py).
Nothing of it is stored: a memory that was replaced or restored is counted anew, and without quotas none ever is.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.store.port import Usage
from holdfast.store.quota.usage_change import Growth


class RunningUsage:
    """What tenants' memories hold, and how the open transaction changes it; used by the thread that writes."""

    def __init__(self) -> None:
        self.growth = Growth()
        self._stored: dict[str, Usage] = {}  # of tenants that were asked for, without the open transaction
        self._full_at: dict[str, float] = {}

    def begin(self) -> None:
        self.growth = Growth()

    def committed(self) -> None:
        for tenant, have in self._stored.items():
            self._stored[tenant] = self.growth.added(tenant, have)
        self.growth = Growth()

    def known(self, tenant: str) -> Usage | None:
        """What is stored, if it was counted."""
        return self._stored.get(tenant)

    def of(self, tenant: str, count: Callable[[str], Usage]) -> Usage:
        """What is there inside the open transaction, in which `count` reads it."""
        if tenant not in self._stored:
            self._stored[tenant] = self.growth.removed(tenant, count(tenant))
        return self.growth.added(tenant, self._stored[tenant])

    def take(self, payer: str, rate: float, burst: float, now: float) -> float:
        """See `Fleet.take_request`: the moment is kept at which the allowance is full again."""
        full_at = max(self._full_at.get(payer, now), now) + 1 / rate
        wait = full_at - now - burst / rate
        if wait > 0:
            return wait
        self._full_at[payer] = full_at
        return 0.0
