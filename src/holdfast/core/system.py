"""The real clock and entropy, and threads of low priority. Nothing else in Holdfast reads time or random numbers."""

from __future__ import annotations

import os
import secrets
import sys
import time
from threading import get_native_id

LOW = 10  # of snapshots: they may take longer on a busy machine, an acknowledged write may not
LOWEST = 19  # of embedding: it works when nothing else wants the processor


class SystemClock:
    """Wall-clock time in milliseconds since 1970, and a steady clock for durations."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def steady(self) -> float:
        return time.monotonic()


class SystemEntropy:
    """Unpredictable hexadecimal text from the operating system."""

    def hex(self, chars: int) -> str:
        return secrets.token_hex((chars + 1) // 2)[:chars]


def lower_priority(nice: int = LOW) -> None:
    """Let other threads of this machine go before the calling one, and before those that it starts.

    Linux counts niceness by thread; elsewhere threads have none of their own. A process that was started with a higher
    niceness keeps it: to lower it takes a privilege.
    """
    if sys.platform == "linux":
        thread = get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(nice, os.getpriority(os.PRIO_PROCESS, thread)))
