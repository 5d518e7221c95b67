"""Records of the earlier chat plugin: content or stored text, and the thirty fields of metadata."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.core.errors import InvalidRequest, LimitReached
from holdfast.protocol.access import MemoryFacts, check_writable
from holdfast.protocol.importers.documents import document, listed, objects
from holdfast.protocol.importers.import_types import (
    ImportedMemory,
    ImportReader,
    ImportResult,
    metadata_of,
    text_of,
    time_of,
)
from holdfast.protocol.metadata import MemoryMetadata
from holdfast.protocol.ownership import facts_of
from holdfast.protocol.terms import MemoryScope, MemoryVisibility, normalize_domain
from holdfast.protocol.text import display_text

_LISTS = ("memories", "records", "documents", "data", "items", "results")
_KNOWN = frozenset(MemoryMetadata.__dataclass_fields__)


def read_plugin(data: bytes) -> ImportResult:
    """The memories of an export: a list of records, an object with such a list, or records by address.

    Raises:
        InvalidRequest: it is no JSON, or holds no records.
        TooLarge: it is larger than one import may be.
    """
    reader = ImportReader("plugin")
    for ref, record in objects(_records(document(data))):
        if record is None:
            reader.refuse(ref, "it is not an object")
        else:
            _read(reader, ref, record)
    return reader.reading()


def _records(value: Any) -> list[Any]:
    found = listed(value, *_LISTS)
    if found is None and isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()):
        found = [{"id": key, **one} for key, one in value.items()]
    if found is None:
        raise InvalidRequest("the export contains no list of records")
    return found


def _read(reader: ImportReader, place: str, record: dict[str, Any]) -> None:
    about = MemoryMetadata.from_dict(record.get("metadata") if "metadata" in record else record)
    ref = about.uri or text_of(record.get("id")) or place
    if about.deprecated:
        reader.pass_over("deprecated")
        return
    try:
        facts = check_writable(_fitting(facts_of(about)))
    except (InvalidRequest, LimitReached) as fault:
        reader.refuse(ref, fault.message)
        return
    reader.take(
        ImportedMemory(
            reader.system,
            ref,
            content=display_text(record, about),
            domain=normalize_domain(about.domain),
            uri=about.uri,
            created_at=time_of(about.created_at),
            last_recalled_at=time_of(about.last_recalled_at),
            recall_count=about.recall_count,
            importance=about.importance,
            memory_type=about.memory_type,
            disclosure=about.disclosure,
            subject=about.subject,
            entities=tuple(about.entities),
            topics=tuple(about.topics),
            owner=facts.owner,
            links=tuple(("migrated_from", one) for one in (about.migrated_from,) if one),
            facts=facts,
            metadata=_extra(record),
        )
    )


def _fitting(facts: MemoryFacts) -> MemoryFacts:
    """As the plugin meant it: a group's memory was the group's, and a private one its first owner's alone."""
    if facts.scope == MemoryScope.GROUP:
        return replace(facts, visibility=MemoryVisibility.GROUP)
    if facts.visibility == MemoryVisibility.PRIVATE:
        return replace(facts, co_owners=())
    return facts


def _extra(record: dict[str, Any]) -> dict[str, Any]:
    """What the metadata holds beyond the protocol."""
    given = metadata_of(record.get("metadata"))
    return {name: value for name, value in given.items() if name not in _KNOWN}
