"""What is told beside an answer, and not with each: that search goes by words only, that the memory was restored."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from holdfast.context import CallContext
from holdfast.core.model import DEFAULT_TENANT
from holdfast.core.ports import Embedder

WORDS_ONLY = "Search uses keywords only"
AGAIN_SECONDS = 3_600.0

_told: WeakKeyDictionary[Embedder, dict[tuple[str, str], float]] = WeakKeyDictionary()


def news(ctx: CallContext) -> str | None:
    """What happened to the memory while no caller was there; other tenants and people in chats are not told."""
    return ctx.live.news() if ctx.live and ctx.tenant == DEFAULT_TENANT and not ctx.in_chat else None


def words_only(ctx: CallContext) -> str | None:
    """What is missing and what mends it; None if nothing is, or the caller was told within the hour.

    The owner's own commands are told each time: each is a process of its own, which knows what it has shown.
    """
    fault = ctx.embedder.fault() if ctx.embedder is not None else None
    if ctx.embedder is None or fault is None or ctx.in_chat:
        return None
    now, caller = ctx.clock.steady(), (ctx.tenant, ctx.caller.name)
    told = _told.setdefault(ctx.embedder, {})
    if not ctx.caller.owner and now - told.get(caller, -AGAIN_SECONDS) < AGAIN_SECONDS:
        return None
    told[caller] = now
    return f"{WORDS_ONLY}: {fault.message}. {fault.hint}"
