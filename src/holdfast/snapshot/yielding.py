"""Threads of snapshots that let whoever writes to the memory go first."""

from __future__ import annotations

import os
import sys
import threading

_NICE = 10


def yield_to_others() -> None:
    """Let others go before this thread, and before those that it starts."""
    if sys.platform == "linux":  # elsewhere threads have no priority of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
