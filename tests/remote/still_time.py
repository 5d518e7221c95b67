"""Time and chance that a test holds in its hand."""

from __future__ import annotations


class StillClock:
    """Time passes only when a test, or a pause, says so."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now_ms(self) -> int:
        return 1_790_000_000_000

    def steady(self) -> float:
        return self.at


class NoChance:
    """The middle of every range of jitter."""

    def hex(self, chars: int) -> str:
        return "7" + "f" * (chars - 1)


class Pauses(list[float]):
    """Notes each wait and lets the clock run on instead."""

    def __init__(self, clock: StillClock):
        super().__init__()
        self._clock = clock

    def __call__(self, seconds: float) -> None:
        self.append(seconds)
        self._clock.at += seconds
