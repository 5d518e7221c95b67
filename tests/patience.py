"""How long tests wait for what always comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Only something broken takes as long, also where twenty other programs share the machine. Nothing is concluded from how
# long something takes.
WAIT_SECONDS = 120


def until(met: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS) -> None:
    """Wait until something is so, and fail if it never is."""
    ends = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < ends, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)
