"""That search goes by words only, though it should not: told with an answer to a search, and not with each."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from holdfast.desk import Desk
from holdfast.ports import Embedder

WORDS_ONLY = "Search goes by words only"
AGAIN_SECONDS = 3_600.0

_told: WeakKeyDictionary[Embedder, dict[tuple[str, str], float]] = WeakKeyDictionary()


def words_only(desk: Desk) -> str | None:
    """What is missing and what mends it; None if nothing is, or the caller was told within the hour.

    The owner's own commands are told each time: each is a process of its own, which knows what it has shown.
    """
    fault = desk.embedder.fault() if desk.embedder is not None else None
    if desk.embedder is None or fault is None or desk.in_chat:
        return None
    now, caller = desk.clock.steady(), (desk.tenant, desk.caller.name)
    told = _told.setdefault(desk.embedder, {})
    if not desk.caller.owner and now - told.get(caller, -AGAIN_SECONDS) < AGAIN_SECONDS:
        return None
    told[caller] = now
    return f"{WORDS_ONLY}: {fault.message}. {fault.hint}"
