"""Times at the edge: milliseconds as ISO text and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from holdfast.core.errors import InvalidRequest

_EPOCH_MS = re.compile(r"-?\d{10,15}")

DAY_MS = 86_400_000

# Year 1970 to year 9999: what ISO text with four digits can express.
_LOWEST, _HIGHEST = 0, 253_402_300_799_999


def iso(ms: int) -> str:
    """2026-11-15T20:41:34.459Z"""
    seconds, rest = divmod(ms, 1000)
    return f"{_second(seconds)}.{rest:03}Z"


# The times of one record, and of records listed together, are often of one second: without it a list of 200 memories
# takes 1.28 times as long (bench/mechanisms.py).
@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def parse_time(text: str, name: str) -> int:
    """Milliseconds of an ISO time, a date, or a count of milliseconds; no zone means UTC.

    Raises:
        InvalidRequest: it is none of these.
    """
    text = text.strip()
    if _EPOCH_MS.fullmatch(text):
        ms = int(text)
    else:
        try:
            when = datetime.fromisoformat(text)
        except ValueError as error:
            raise InvalidRequest(f"{name} is not a time such as 2026-11-15T20:41:34Z") from error
        ms = int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
    if not _LOWEST <= ms <= _HIGHEST:
        raise InvalidRequest(f"{name} lies outside the years 1970 to 9999")
    return ms
