"""A limit on how often something may be done within any one hour."""

from __future__ import annotations

import math
from collections import deque
from threading import Lock

from holdfast.core.ports import Clock

HOUR = 3600.0


class HourlyBudget:
    """Counts uses over the last hour by the monotonic clock. Safe to use from many threads."""

    def __init__(self, limit: int, clock: Clock):
        self.limit = limit
        self._clock = clock
        self._taken: deque[float] = deque()
        self._lock = Lock()

    def take(self) -> float:
        """Seconds until one more is free: 0.0 when it was taken now, infinity when none ever will be."""
        with self._lock:
            now = self._clock.steady()
            while self._taken and now - self._taken[0] >= HOUR:
                self._taken.popleft()
            if len(self._taken) < self.limit:
                self._taken.append(now)
                return 0.0
            return self._taken[0] + HOUR - now if self._taken else math.inf
