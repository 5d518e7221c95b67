"""Whether two requests keep the same thing: one hash over all fields."""

from __future__ import annotations

import dataclasses
from hashlib import sha256
from typing import Any

import orjson

from holdfast.core.model import Memory


def with_hash(memory: Memory) -> Memory:
    """The memory with the hash that is the same for two requests to keep the same thing."""
    lasts = memory.forget_after - memory.updated_at if memory.forget_after is not None else None
    said = said_hash(
        what=[memory.content, memory.type, memory.concepts, memory.files, memory.project, memory.agent],
        when=[memory.session_ids, memory.created_at if memory.dated else None],
        how=[memory.title, memory.importance, lasts],
        whose=[memory.scope, memory.visibility, memory.umo, memory.owners, memory.share_into_groups],
        about=[memory.domain, memory.memory_type, memory.disclosure, memory.subject],
        names=[memory.entities, memory.topics],
    )
    return dataclasses.replace(memory, content_hash=said)


def said_hash(**parts: list[Any]) -> str:
    """The hash over the parts, in the given order."""
    return sha256(orjson.dumps(list(parts.values()))).hexdigest()[:32]
