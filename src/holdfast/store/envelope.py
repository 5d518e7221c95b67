"""Events for the broker as text, small enough for every broker."""

from __future__ import annotations

from typing import Any

import orjson

from holdfast.core.model import EVERYBODY, Json
from holdfast.core.times import iso
from holdfast.store.port import R, Table
from holdfast.store.rows import shape_of

# Brokers refuse messages over 1 MB, or less if configured so; one that is refused would hold up all behind it. An
# event of this size reports only that it happened.
MOST_BYTES = 60_000


def envelope(kind: str, tenant: str, agent: str | None, at: int, body: Json) -> str:
    """The event's JSON text: the fields that every event has, and its own content if that is not too large."""
    known = {"kind": kind, "tenant": tenant, "agent": agent, "ts": iso(at)}
    text = orjson.dumps({**body, **known})
    if len(text) > MOST_BYTES:
        text = orjson.dumps({**known, "cut": True})
    return text.decode()


def mutation(table: Table[R], old: R | None, new: R | None, seq: int) -> Json:
    """That a record changed, never what stands in it."""
    record: Any = old if new is None else new
    body: Json = {
        "scope": table.name,
        "op": "insert" if old is None else "delete" if new is None else "update",
        "key": record.id,
        "seq": seq,
    }
    if all(_is_open(one) for one in (old, new) if one is not None):
        before, after = (None if one is None else shape_of(table).content_hash(one) for one in (old, new))
        body |= {"oldHash": before, "newHash": after}
    return body


def _is_open(record: Any) -> bool:
    """Whether everybody may see it; of anything else no hash is published, from which a short text could be guessed."""
    return EVERYBODY in getattr(record, "audience", (EVERYBODY,))
