"""The real clock and entropy. Nothing else in Holdfast reads time or chance."""

from __future__ import annotations

import secrets
import time


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
