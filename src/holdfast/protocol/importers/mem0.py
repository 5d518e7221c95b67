"""Exports of mem0: what get_all and its REST interface return, and lines of its vector store."""

from __future__ import annotations

from typing import Any

from holdfast.core.errors import InvalidRequest
from holdfast.protocol.importers.documents import document, listed, objects
from holdfast.protocol.importers.import_types import (
    ImportedMemory,
    ImportReader,
    ImportResult,
    metadata_of,
    name_of,
    names_of,
    text_of,
    time_of,
)
from holdfast.protocol.terms import MemoryDomain

_LISTS = ("results", "memories", "data", "items")
_TEXTS = ("memory", "data", "content", "text")
_DOMAINS = {
    "personal_details": MemoryDomain.USER_PROFILE,
    "user_preferences": MemoryDomain.PREFERENCES,
    "preference": MemoryDomain.PREFERENCES,
    "preferences": MemoryDomain.PREFERENCES,
    "events": MemoryDomain.EVENTS,
    "milestones": MemoryDomain.EVENTS,
}


def read_mem0(data: bytes) -> ImportResult:
    """The memories of an export. Relations of its graph are counted, not taken: they name no memories.

    Raises:
        InvalidRequest: it is no JSON, or holds no list of memories.
        TooLarge: it is larger than one import may be.
    """
    value = document(data)
    found = listed(value, *_LISTS)
    if found is None:
        raise InvalidRequest("the export contains no list of memories")
    reader = ImportReader("mem0")
    if isinstance(value, dict) and isinstance(value.get("relations"), list):
        reader.pass_over("relations", len(value["relations"]))
    for ref, record in objects(found):
        if record is None:
            reader.refuse(ref, "it is not an object")
        else:
            _read(reader, ref, record)
    return reader.reading()


def _read(reader: ImportReader, place: str, record: dict[str, Any]) -> None:
    inner = record.get("payload")
    fields = {**record, **inner} if isinstance(inner, dict) else record
    categories = names_of(fields.get("categories"))
    reader.take(
        ImportedMemory(
            reader.system,
            text_of(fields.get("id")) or place,
            content=next((found for name in _TEXTS if (found := text_of(fields.get(name)))), ""),
            domain=next((_DOMAINS[one.lower()] for one in categories if one.lower() in _DOMAINS), MemoryDomain.FACTS),
            created_at=time_of(fields.get("created_at")),
            updated_at=time_of(fields.get("updated_at")),
            topics=categories,
            owner=name_of(fields.get("user_id")),
            agent=name_of(fields.get("agent_id")),
            session=name_of(fields.get("run_id")),
            metadata=metadata_of(fields.get("metadata")),
        )
    )
