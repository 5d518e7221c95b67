"""Events for the broker as text, small enough for every broker."""

from __future__ import annotations

import orjson

from holdfast.core.model import Json
from holdfast.core.times import iso

# Brokers refuse messages over 1 MB, or less if they are told to; one that is refused would hold up all behind it. An
# event of this size says only that it happened.
MOST_BYTES = 60_000


def envelope(kind: str, tenant: str, agent: str | None, at: int, body: Json) -> str:
    """The event's JSON text: what every event says of itself, and its own words if they are not too many."""
    known = {"kind": kind, "tenant": tenant, "agent": agent, "ts": iso(at)}
    text = orjson.dumps({**body, **known})
    if len(text) > MOST_BYTES:
        text = orjson.dumps({**known, "cut": True})
    return text.decode()
