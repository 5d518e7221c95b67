"""An agent's event once it is clean."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import orjson

from holdfast.model import CleanText, Json


@dataclass(frozen=True, slots=True)
class CleanEvent:
    """What a hook, a tool or a transcript reported. `key` is given by imports: the id it must have."""

    session_id: CleanText
    hook: CleanText
    data: Json
    at: int
    project: CleanText
    cwd: CleanText
    agent: CleanText | None = None
    type: CleanText | None = None
    title: CleanText | None = None
    key: str | None = None


def content_hash(event: CleanEvent) -> str:
    """The same for two reports of the same happening, whenever they arrive."""
    parts = [event.session_id, event.hook, event.agent, event.type, event.title, event.data]
    return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
