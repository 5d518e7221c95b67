"""Exports of Letta: agent files, old and new, and lists of archival passages or blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holdfast.core.errors import InvalidRequest
from holdfast.protocol.importers.documents import document, objects
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
from holdfast.protocol.terms import MOST_IMPORTANT, USUAL_IMPORTANCE, MemoryDomain, MemoryType

_BLOCKS = ("blocks", "core_memory", "memory_blocks")
_PASSAGES = ("passages", "archival_memory", "archival_passages")
# What an agent file holds besides its memory.
_OTHERS = ("messages", "tools", "sources", "files", "groups", "mcp_servers")
_ABOUT_PEOPLE = ("human", "user")


def read_letta(data: bytes) -> ImportResult:
    """Memory blocks, which were always in the agent's context, as permanent; archival passages as normal.

    Messages, tools and sources of an agent file are counted, not taken.

    Raises:
        InvalidRequest: it is no JSON, or holds neither blocks nor passages.
        TooLarge: it is larger than one import may be.
    """
    value = document(data)
    reader = ImportReader("letta")
    if isinstance(value, list):
        _parts(reader, value, "")
    elif isinstance(value, dict):
        _agent_file(reader, value)
    else:
        raise InvalidRequest("the export contains neither blocks nor passages")
    return reader.reading()


def _agent_file(reader: ImportReader, value: dict[str, Any]) -> None:
    agents = [one for one in value["agents"] if isinstance(one, dict)] if _is_list(value, "agents") else []
    # What stands beside the agents belongs to all of them; only a single agent gives it a name.
    shared = name_of(agents[0].get("name")) if len(agents) == 1 else name_of(value.get("name"))
    holders = [(value, shared), *((agent, name_of(agent.get("name"))) for agent in agents)]
    found = False
    for holder, agent in holders:
        for name in _lists(holder, (*_BLOCKS, *_PASSAGES)):
            _parts(reader, holder[name], agent)
            found = True
        for name in _lists(holder, _OTHERS):
            reader.pass_over(name, len(holder[name]))
    if not found:
        raise InvalidRequest("the export contains neither blocks nor passages")


def _lists(holder: dict[str, Any], names: Iterable[str]) -> list[str]:
    return [name for name in names if _is_list(holder, name)]


def _is_list(holder: dict[str, Any], name: str) -> bool:
    return isinstance(holder.get(name), list)


def _parts(reader: ImportReader, parts: list[Any], agent: str) -> None:
    for place, part in objects(parts):
        # A search gives each passage beside its score.
        inner = part.get("passage") if part else None
        part = inner if isinstance(inner, dict) else part
        if part is None:
            reader.refuse(place, "it is not an object")
        elif "value" in part:
            _block(reader, place, part, agent)
        elif "text" in part:
            _passage(reader, place, part, agent)
        else:
            reader.refuse(place, "it is neither a block nor a passage")


def _block(reader: ImportReader, place: str, block: dict[str, Any], agent: str) -> None:
    label = name_of(block.get("label"))
    about_user = label.lower() in _ABOUT_PEOPLE
    reader.take(
        ImportedMemory(
            reader.system,
            text_of(block.get("id")) or label or place,
            content=text_of(block.get("value")),
            title=label,
            domain=MemoryDomain.USER_PROFILE if about_user else MemoryDomain.CONTEXT,
            created_at=time_of(block.get("created_at")),
            updated_at=time_of(block.get("updated_at")),
            memory_type=MemoryType.PERMANENT,
            importance=MOST_IMPORTANT if about_user else USUAL_IMPORTANCE + 1,
            disclosure=name_of(block.get("description")),
            agent=agent,
            metadata=metadata_of(block.get("metadata") or block.get("metadata_")),
        )
    )


def _passage(reader: ImportReader, place: str, passage: dict[str, Any], agent: str) -> None:
    if passage.get("is_deleted") is True:
        reader.pass_over("deleted")
        return
    reader.take(
        ImportedMemory(
            reader.system,
            text_of(passage.get("id")) or place,
            content=text_of(passage.get("text")),
            created_at=time_of(passage.get("created_at") or passage.get("timestamp")),
            updated_at=time_of(passage.get("updated_at")),
            topics=names_of(passage.get("tags")),
            agent=agent or name_of(passage.get("agent_id")),
            metadata=metadata_of(passage.get("metadata") or passage.get("metadata_")),
        )
    )
