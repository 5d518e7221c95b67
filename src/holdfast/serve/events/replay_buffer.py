"""What a live reader may have missed: the last events of one tenant. Kept in memory only while there is a reader."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.model import Event

# A reader that missed more reloads its lists, which is cheaper than receiving every change.
EVENTS = 800
BYTES = 8_000_000
# These remove text: what was published before them must not be published again.
_FORGETTING = frozenset({"forgotten", "snapshot_restored"})


@dataclass(frozen=True, slots=True)
class _BufferedEvent:
    number: int
    event: Event  # without its body; names whom it concerns
    frame: bytes


class ReplayBuffer:
    """Events in their order, each with a place that a reader can resume from.

    A later event about the same record takes the place of the earlier one, so that what was changed or deleted is not
    published again as it was.
    """

    def __init__(self, run: str):
        self._run = run  # places of another run, or of another time of reading, mean nothing here
        self._last = 0
        self._gone = 0  # the largest number that is no longer kept
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], _BufferedEvent] = OrderedDict()
        self.left_at: float | None = None  # when the last reader left

    @property
    def place(self) -> str:
        return f"{self._run}-{self._last}"

    def add(self, event: Event, frame: Callable[[str], bytes]) -> bytes:
        """Keep an event; its frame, made with the place it got."""
        self._last += 1
        body = frame(self.place)
        if event.kind in _FORGETTING:
            self._kept.clear()
            self._bytes, self._gone = 0, self._last - 1
        key = event.kind, _id_of(event) or str(self._last)
        self._drop(key)
        self._kept[key] = _BufferedEvent(self._last, dataclasses.replace(event, body=None), body)
        self._bytes += len(body)
        while len(self._kept) > EVENTS or self._bytes > BYTES:
            oldest = next(iter(self._kept))
            self._gone = self._kept[oldest].number
            self._drop(oldest)
        return body

    def _drop(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.frame)

    def after(self, place: str, reaches: Callable[[Event], bool]) -> list[bytes] | None:
        """Frames of what came after a place and reaches the reader; None if not all of it is kept."""
        run, _, number = place.rpartition("-")
        if run != self._run or not (number.isascii() and number.isdigit() and len(number) < 16):
            return None
        if not self._gone <= int(number) <= self._last:
            return None
        return [one.frame for one in self._kept.values() if one.number > int(number) and reaches(one.event)]


def _id_of(event: Event) -> str | None:
    body = event.body
    return body.get("id") if isinstance(body, dict) else getattr(body, "id", None)
