"""Memories of another system as a document that `import_memory` takes: the same ids each time, so that it can be
repeated; whose each is decided here, and what cannot be placed is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from holdfast.core.errors import InvalidRequest, LimitReached
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.intake.addresses import MOVED, OWN
from holdfast.protocol.access import MemoryFacts
from holdfast.protocol.importers import ImportedMemory, ImportResult, placed

REFUSALS_SHOWN = 50
MIGRATED = "migrated_from"


@dataclass
class ForeignRecords:
    """The lists of a document, and what was not taken."""

    memories: list[Json] = field(default_factory=list)
    addresses: list[Json] = field(default_factory=list)
    relations: list[Json] = field(default_factory=list)
    refusals: list[Json] = field(default_factory=list)
    refused: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)

    def refuse(self, ref: str, reason: str) -> None:
        self.refused += 1
        if len(self.refusals) < REFUSALS_SHOWN:
            self.refusals.append({"ref": ref, "reason": reason})


def adopt(reading: ImportResult, *, platform: str = "", owner: str = "", agent: str | None = None) -> ForeignRecords:
    """Everything that was read and has a place here.

    Args:
        reading: what an importer made of an export.
        platform: where the names of owners are sender ids.
        owner: the owner of memories that name none; without it they are the agent's own.
        agent: the agent that gets memories of no other one.
    """
    made = ForeignRecords(
        refusals=[{"ref": one.ref, "reason": one.reason} for one in reading.refused],
        refused=reading.refusals,
        passed_over=Counter(reading.passed_over),
    )
    seen: Counter[str] = Counter()
    kept: list[tuple[str, ImportedMemory]] = []
    for taken in reading.taken:
        seen[taken.ref] += 1
        id = _id("mem", taken.system, taken.ref, str(seen[taken.ref]))
        try:
            facts = placed(taken, platform, owner)
        except (InvalidRequest, LimitReached) as fault:
            made.refuse(taken.ref, fault.message)
            continue
        made.memories.append(_memory(id, taken, facts, agent))
        kept.append((id, taken))
    _name(made, kept)
    _link(made, kept)
    return made


def _id(kind: str, *parts: str) -> str:
    return f"{kind}_{sha256(chr(31).join(parts).encode()).hexdigest()[:24]}"


def _memory(id: str, taken: ImportedMemory, facts: MemoryFacts, agent: str | None) -> Json:
    created = taken.created_at if taken.created_at is not None else taken.updated_at
    source = {"system": taken.system, "ref": taken.ref, "recallCount": taken.recall_count}
    memory: Json = {
        "id": id,
        "content": taken.content,
        "title": taken.title or None,
        "agentId": taken.agent or agent,
        "sessionIds": [taken.session] if taken.session else [],
        "importance": taken.importance,
        "createdAt": None if created is None else iso(created),
        "dated": created is not None,
        "metadata": {**taken.metadata, "importedFrom": source},
        "scope": facts.scope,
        "visibility": facts.visibility,
        "umo": facts.origin.to_umo() if facts.origin.is_valid else None,
        "owners": [facts.owner, *facts.co_owners] if facts.owner else [],
        "shareIntoGroups": facts.share_into_groups,
        "uri": taken.uri,
        "domain": taken.domain,
        "memoryType": taken.memory_type,
        "disclosure": taken.disclosure,
        "subject": taken.subject,
        "entities": list(taken.entities),
        "topics": list(taken.topics),
    }
    used = max((at for at in (taken.updated_at, taken.last_recalled_at) if at is not None), default=None)
    if used is not None:  # age counts from the last use, there as here
        memory["updatedAt"] = iso(max(used, created or 0))
    return {name: value for name, value in memory.items() if value is not None}


def _name(made: ForeignRecords, kept: Iterable[tuple[str, ImportedMemory]]) -> None:
    """The addresses, and those where memories lay before."""
    for id, taken in kept:
        if not taken.uri:
            continue
        before = next((target for kind, target in taken.links if kind == MIGRATED), "")
        made.addresses.append({"id": taken.uri, "rootId": id, "kind": OWN, "movedFrom": before})
        if before:
            made.addresses.append({"id": before, "rootId": id, "kind": MOVED, "movedTo": taken.uri})


def _link(made: ForeignRecords, kept: Iterable[tuple[str, ImportedMemory]]) -> None:
    """Links to what was taken too; others lead nowhere here."""
    kept = list(kept)
    named: dict[str, str] = {}
    for id, taken in kept:
        for name in (taken.ref, taken.uri, taken.title):
            if name:
                named.setdefault(name, id)
    for id, taken in kept:
        for kind, target in taken.links:
            end = named.get(target)
            if kind == MIGRATED or end == id:
                continue
            if end is None:
                made.passed_over["links"] += 1
            else:
                relation = {"id": _id("rel", id, end, kind), "sourceId": id, "targetId": end, "type": kind}
                made.relations.append(relation)
