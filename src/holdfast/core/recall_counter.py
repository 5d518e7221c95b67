"""How often searches returned each record: counted in memory, written every few seconds by the background work."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

# Records counted between two writes: adding so many took 15 ms in a store of 20,000. What else is returned meanwhile
# is not counted.
MOST_RECORDS = 2_000


class RecallCounter:
    """Counts by tenant and seq that were not written yet; any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, int]] = Counter()

    def add(self, tenant: str, seqs: Iterable[int]) -> None:
        """A search of the tenant returned these records."""
        with self._lock:
            for seq in seqs:
                key = (tenant, seq)
                if key in self._counts or len(self._counts) < MOST_RECORDS:
                    self._counts[key] += 1

    def take(self) -> dict[tuple[str, int], int]:
        """What was counted since it was last taken."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
        return dict(taken)

    def drop(self, tenant: str) -> None:
        """Forget what was counted of a tenant: its numbers mean other records now."""
        with self._lock:
            self._counts = Counter({key: count for key, count in self._counts.items() if key[0] != tenant})
